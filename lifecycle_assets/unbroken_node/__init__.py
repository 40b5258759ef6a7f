"""What a cluster's node runs when it is created: numbered steps, each safe to repeat.

Python 3.10 and the standard library only. The laptop renders node.json, the deployment writes
deployed.json; this package reads both and never the cluster file itself.
"""
