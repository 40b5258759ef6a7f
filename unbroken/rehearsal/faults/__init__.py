"""The faults a rehearsal can inject: each a small function with a name and a description."""
