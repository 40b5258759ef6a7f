"""What runs on a cluster's node: Python 3.10, standard library only."""
