"""Tests of whole runs: what they all compute alike from public data is computed once."""

from tests.support.remembered import public_preparation

__all__ = ["public_preparation"]
