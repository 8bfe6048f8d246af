"""Writers: how a document is shown in each format, whatever its kind."""
