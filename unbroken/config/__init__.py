"""The cluster file: typed, frozen models with every default, and the loader that reports errors by line.

Reads one YAML file; knows nothing of AWS accounts, CDK or the rehearsal.
"""

from __future__ import annotations

from unbroken.config.budget import BudgetConfig
from unbroken.config.cluster import ClusterConfig
from unbroken.config.encryption import EncryptionConfig
from unbroken.config.groups import ControllerGroup, InstanceGroup, LoginGroup, TrainingPlan, WorkerGroup
from unbroken.config.home import ExistingHome, HomeConfig
from unbroken.config.identity import IdentityConfig
from unbroken.config.load import find, load, loads
from unbroken.config.logs import LogsConfig
from unbroken.config.network import ExistingNetwork, NetworkConfig, SubnetConfig
from unbroken.config.observability import ObservabilityConfig
from unbroken.config.problems import ConfigError, Problem
from unbroken.config.sections import CLUSTER_TAG
from unbroken.config.slurm import AccountingDatabase, SlurmConfig
from unbroken.config.storage import (
    DataRepository,
    ExistingFileSystem,
    LustreMetadata,
    ReadCache,
    StorageConfig,
)
from unbroken.config.tiered_storage import TieredStorageConfig
from unbroken.config.training import TrainingConfig
from unbroken.config.updates import AutoPatch, RollingUpdate, ScheduledUpdate
from unbroken.config.user import UserConfig

__all__ = [
    "CLUSTER_TAG",
    "AccountingDatabase",
    "AutoPatch",
    "BudgetConfig",
    "ClusterConfig",
    "ConfigError",
    "ControllerGroup",
    "DataRepository",
    "EncryptionConfig",
    "ExistingFileSystem",
    "ExistingHome",
    "ExistingNetwork",
    "HomeConfig",
    "IdentityConfig",
    "InstanceGroup",
    "LoginGroup",
    "LogsConfig",
    "LustreMetadata",
    "NetworkConfig",
    "ObservabilityConfig",
    "Problem",
    "ReadCache",
    "RollingUpdate",
    "ScheduledUpdate",
    "SlurmConfig",
    "StorageConfig",
    "SubnetConfig",
    "TieredStorageConfig",
    "TrainingConfig",
    "TrainingPlan",
    "UserConfig",
    "WorkerGroup",
    "find",
    "load",
    "loads",
]
