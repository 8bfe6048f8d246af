"""Benchmark of verdict quality, for every decider, dispatcher and baseline.

`python -m benchmarks.quality` runs it.
"""
