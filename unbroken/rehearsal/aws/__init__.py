"""The embedded AWS: ministack on loopback, with typed handlers for what it lacks or gets wrong.

Server side only: everything here but ``environment`` and ``process`` runs in the rehearsal's server
process. The HyperPod service itself is in ``unbroken.rehearsal.hyperpod``; the customer's side of AWS is
``unbroken.aws``.
"""
