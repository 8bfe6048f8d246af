"""Remarks of the pipeline: reasons of a choice, gates of a check, stages of a run."""
