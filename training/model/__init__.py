"""The model: its shape, its shards and its values. Imports torch only in the modules that need it."""
