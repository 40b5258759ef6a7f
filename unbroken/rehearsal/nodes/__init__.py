"""Nodes of a rehearsed cluster: a root file system, a network, and a machine in namespaces for each.

Real here: systemd, Slurm, MariaDB, munge, the AWS CLI, Python. Emulated or replayed: ``image/``.
The HyperPod service that orders machines is in ``unbroken.rehearsal.hyperpod``.
"""
