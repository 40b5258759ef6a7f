"""Cluster file in, files out: the node bundle, the training bundle, the job, the report page.

Everything here is a pure function of the configuration and of files in this checkout: same input, same
bytes, on any machine. What runs on a node lives in lifecycle_assets/, what CloudFormation alone knows is
handed in as strings (they may be CDK tokens) by the stacks.
"""

from unbroken.render.bundle import Bundle, bundle, training_bundle
from unbroken.render.deployment import deployed, provisioning_parameters
from unbroken.render.errors import RenderError
from unbroken.render.hyperpod import Surroundings, create_cluster
from unbroken.render.hyperpod_storage import FileSystems
from unbroken.render.job import Overlay, job, job_directory
from unbroken.render.node import node_document, node_json
from unbroken.render.report import report_page

__all__ = [
    "Bundle",
    "FileSystems",
    "Overlay",
    "RenderError",
    "Surroundings",
    "bundle",
    "create_cluster",
    "deployed",
    "job",
    "job_directory",
    "node_document",
    "node_json",
    "provisioning_parameters",
    "report_page",
    "training_bundle",
]
