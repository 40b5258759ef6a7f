"""What Slurm runs around the trainer: standard library only, no torch."""
