"""Commands: one pipeline each, callable without a terminal."""
