"""The rehearsal: an embedded AWS, the HyperPod service it emulates, and nodes in namespaces."""
