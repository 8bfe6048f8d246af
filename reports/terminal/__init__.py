"""Terminal renderings of the kinds of reports that have no document yet."""
