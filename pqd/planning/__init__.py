"""Planning: all that is decided on public data before anything is drawn."""
