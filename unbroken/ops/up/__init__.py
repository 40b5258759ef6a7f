"""The verb `up`: bring what the cluster file describes into being, or up to date."""
