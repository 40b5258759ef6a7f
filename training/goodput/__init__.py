"""What became of a run's time: `python -m training.goodput RUN_DIRECTORY`. Standard library only."""
