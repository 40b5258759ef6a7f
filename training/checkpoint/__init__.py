"""Checkpoints: what is saved, and when one exists and is whole."""
