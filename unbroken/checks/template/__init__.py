"""Checks of what synth makes, and the reading of it."""
