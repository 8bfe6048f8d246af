"""Models: the data that each report holds; an import of them imports no renderer."""
