"""The job's settings of the loop: batches, logging, validation, waiting."""

from __future__ import annotations

from unbroken.config.section import Section
from unbroken.config.training.kinds import Count, Whole


class RunSettings(Section):
    """How a run goes."""

    train_batch_size: Count = 1
    """Samples per rank and batch."""
    gradient_accumulation: Count = 1
    """Batches per rank and step; their gradients are added up before the optimizer's step."""
    val_batch_size: Count = 1
    """Samples per rank and validation batch."""
    seed: Whole = 42
    """Orders the samples and starts weights and dropout."""
    same_seed: bool = False
    """Start the random state of all ranks alike, so that they drop the same elements."""
    log_every: Count = 1
    """Steps between two lines in the log; the metrics file has every step."""
    validate_every: Whole = 500
    """Steps between two validations; 0 turns validation off."""
    validate_batches: Count = 10
    """Batches per rank and validation, as far as there are samples: each is read once."""
    init_timeout_seconds: Count = 1_800
    """How long ranks wait for each other until the first step is done."""
    step_timeout_seconds: Count = 300
    """How long ranks wait for each other afterwards; a rank lost later than that ends the attempt."""
    hang_seconds: Whole = 60
    """A rank that gives no sign of life for so long, or for ten median steps if that is longer, is taken to
    hang: all ranks write their stacks and die, so that the job can go on. 0 turns the watchdog off."""
    compare_every: Whole = 20
    """Steps after which the ranks' speeds are compared and a slow one is named; 0 turns it off."""
    stop_at: str | None = None
    """When the ranks must have saved and left, such as a training plan's end: 2026-01-31T18:00:00+00:00."""
    stop_margin_seconds: Count = 120
    """How long before that, and before the end of the Slurm job, they begin to leave, besides what a step
    and a save have taken so far."""
    prometheus_directory: str | None = None
    """Where the node exporter's textfile collector reads; the environment variable
    UNBROKEN_TEXTFILE_DIRECTORY stands in for it."""
    tensorboard_directory: str | None = None
    """Write TensorBoard's files here; a relative path begins at the job directory."""
    mlflow_tracking_uri: str | None = None
    """Log to MLflow: an address, the ARN of a managed server, or sqlite:///path, which needs the whole mlflow
    package; the environment that the cluster builds has its client only."""
    mlflow_experiment: str | None = None
    """The experiment's name; the preset's where it is not given."""
