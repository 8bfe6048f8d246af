"""Terminal renderings, one file per kind of report."""
