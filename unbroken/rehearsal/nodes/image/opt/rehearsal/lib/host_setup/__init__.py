"""What HyperPod does on a node by itself, before or while OnInitComplete runs: mounts, accounting, Slurm."""
