"""Amazon FSx: Lustre and OpenZFS file systems, data repository associations, backups.

The files themselves are the nodes' business (``unbroken.rehearsal.nodes``); here is the control plane only.
"""
