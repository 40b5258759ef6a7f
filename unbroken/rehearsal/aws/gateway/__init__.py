"""What a node reaches on its network: the AWS APIs, instance metadata, and the service's own port.

Sockets come from whoever owns the network; nothing here opens one on the host.
"""
