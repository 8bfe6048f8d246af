"""Reading of files and frames: distinct values, and the code of each cell."""
