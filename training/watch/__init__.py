"""Hangs: each rank says what it does, a process on each node ends ranks that do it for too long."""
