"""Public functions: what a caller states is read here, and handed to a command."""
