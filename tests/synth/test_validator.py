"""CDK's own template validator over every example, once; everything else runs without it, for it is slow."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

from tests.synth.build import REPOSITORY


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, as ``python -m tests.synth.validate`` is."""
    env = os.environ | {"PYTHONPATH": f"{REPOSITORY}{os.pathsep}{REPOSITORY / 'lifecycle_assets'}"}
    env.pop("CDK_VALIDATION", None)
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=REPOSITORY, env=env, capture_output=True, text=True, timeout=300)


def test_it_finds_nothing() -> None:
    done = run("-m", "tests.synth.validate")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


PLANT = """
    import os
    os.environ["CDK_VALIDATION"] = "true"
    from stacks.node_runtime import use_packaged_node
    use_packaged_node(os.environ)
    from aws_cdk import CfnResource
    from stacks import app
    from tests.synth import validate

    class Odd(app.NetworkStack):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            group = {"InstanceGroupName": "a", "InstanceCount": -1, "InstanceTyp": "ml.m5.large"}
            CfnResource(self, "Odd", type="AWS::SageMaker::Cluster", properties={"InstanceGroups": [group]})

    app.NetworkStack = Odd
    validate.EXAMPLES = {"small": validate.EXAMPLES["small"]}
    raise SystemExit(validate.main())
"""


def test_it_would_find_a_wrong_property() -> None:
    done = run("-c", textwrap.dedent(PLANT))
    assert done.returncode == 1, done.stderr[-2000:]
    assert "small: error" in done.stdout
    assert "Did you mean 'InstanceType'" in done.stdout
