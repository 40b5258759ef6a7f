"""The only CDK code: one module a stack, split by lifetime. Takes a ClusterConfig; opens no file or account.

encryption, network and storage outlive a cluster; identity holds its role; cluster can be made again at any
time; observability and budget stand beside it and nothing waits for them.
"""
