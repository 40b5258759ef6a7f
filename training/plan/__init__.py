"""What a job will take, before a GPU is paid for: `python -m training.plan`."""
