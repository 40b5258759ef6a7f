"""What a cluster costs, from its file alone; AWS is asked only where the prices are to be refreshed."""
