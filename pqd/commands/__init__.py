"""One file per command: its public function, and its pipeline."""

# Import the sentences of all notes, so that every command can print its notes.
import pqd.reports.text.notes as _notes  # noqa: F401
