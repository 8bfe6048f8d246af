"""One file per command: its public function, and its pipeline."""

# The sentences of all notes: whatever runs a command can spell what it finds.
import pqd.reports.text.notes as _notes  # noqa: F401
