"""Documents: the content, the words and the order of each kind of report, for every format."""
