"""The emulated SageMaker HyperPod service: cluster and node states, boot, recovery, and the API on the wire.

The nodes themselves are made elsewhere (``unbroken.rehearsal.nodes``), and so is everything else of AWS
(``unbroken.rehearsal.aws``); both are reached through the protocols in ``machines.py`` only.
"""
