"""Benchmarks: figures measured in one run and printed with their targets. Never part of the test suite."""
