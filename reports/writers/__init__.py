"""Writers: one for each format, which shows a document of any kind of report."""
