"""The verb `down`: the end of a cluster, in an order that works, and what of it stays."""
