"""job.yaml as a typed, frozen JobConfig: its fields, the rules for their values, and reading the file.

One module an area (model, optim, data, checkpoint, run) holds that area's fields and, beside them, the rules
that need more than one value. All problems of a file are collected before anything is refused; the trainer
then exits with 2. Torch is not imported: a misspelt key is an error before a GPU is touched.
"""

from training.config.job import JobConfig
from training.config.problems import JobConfigError, Problem
from training.config.reading import load, parse

__all__ = ["JobConfig", "JobConfigError", "Problem", "load", "parse"]
