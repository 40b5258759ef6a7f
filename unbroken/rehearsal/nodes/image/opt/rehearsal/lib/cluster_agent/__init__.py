"""The emulated HyperPod cluster agent: writes Slurm's configuration, watches nodes, owns their recovery."""
