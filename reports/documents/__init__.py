"""Documents: what a report of each kind says, in which words and order, for every format."""
