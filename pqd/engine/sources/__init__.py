"""Sources of tables: where the rows of a table are, and how they are read from there."""
