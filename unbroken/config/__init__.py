"""The cluster file: typed, frozen models with every default, and the loader that reports errors by line.

Reads one YAML file; knows nothing of AWS accounts, CDK or the rehearsal.
"""

from __future__ import annotations

from unbroken.config.cluster import ClusterConfig
from unbroken.config.groups import ControllerGroup, InstanceGroup, LoginGroup, WorkerGroup
from unbroken.config.identity import IdentityConfig
from unbroken.config.load import find, load
from unbroken.config.network import NetworkConfig
from unbroken.config.problems import ConfigError, Problem
from unbroken.config.slurm import SlurmConfig
from unbroken.config.storage import StorageConfig
from unbroken.config.training import TrainingConfig
from unbroken.config.user import UserConfig

__all__ = [
    "ClusterConfig",
    "ConfigError",
    "ControllerGroup",
    "IdentityConfig",
    "InstanceGroup",
    "LoginGroup",
    "NetworkConfig",
    "Problem",
    "SlurmConfig",
    "StorageConfig",
    "TrainingConfig",
    "UserConfig",
    "WorkerGroup",
    "find",
    "load",
]
