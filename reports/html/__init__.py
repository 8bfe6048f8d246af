"""Pages of the kinds of reports that have no document yet."""

# A page of more verdicts shows them in pages, without pictures.
MOST_ROWS = 300
