"""A synthesized app put on the embedded AWS by plain API calls: what cdk does, in a tenth of its time.

``bootstrap`` makes the bucket and the parameter that templates look for; ``Assembly`` publishes the assets
and makes, or deletes, the stacks in the order of the manifest.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from tests.rehearsal.aws.support import Deployed, Stacks
from unbroken.rehearsal.aws import environment

REGION = "us-west-2"
ASSETS_BUCKET = f"cdk-hnb659fds-assets-{environment.ACCOUNT}-{REGION}"
VERSION_PARAMETER = "/cdk-bootstrap/hnb659fds/version"
CAPABILITIES = ["CAPABILITY_NAMED_IAM"]

Client = Callable[[str], Any]


def bootstrap(client: Client) -> None:
    """The parts of CDK's bootstrap that templates refer to. Safe to repeat."""
    try:
        client("s3").create_bucket(
            Bucket=ASSETS_BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "BucketAlreadyOwnedByYou":
            raise
    client("ssm").put_parameter(Name=VERSION_PARAMETER, Value="30", Type="String", Overwrite=True)


class Assembly:
    """One folder that ``app.synth()`` wrote."""

    def __init__(self, folder: Path, client: Client) -> None:
        self.folder = folder
        self.client = client
        self.stacks = Stacks(client("cloudformation"))
        artifacts = json.loads((folder / "manifest.json").read_text())["artifacts"]
        self.names = [name for name, part in artifacts.items() if part["type"] == "aws:cloudformation:stack"]
        """The stacks in the order of the manifest, in which each comes after what it depends on."""
        self._properties = {name: artifacts[name]["properties"] for name in self.names}

    def template(self, name: str) -> dict[str, Any]:
        """A stack's template."""
        found: dict[str, Any] = json.loads((self.folder / f"{name}.template.json").read_text())
        return found

    def publish(self) -> None:
        """Put the assets of every stack where the templates expect them."""
        bootstrap(self.client)
        for name in self.names:
            files = json.loads((self.folder / f"{name}.assets.json").read_text())["files"]
            for asset in files.values():
                content = packaged(self.folder / asset["source"]["path"], asset["source"]["packaging"])
                for destination in asset["destinations"].values():
                    self.client("s3").put_object(
                        Bucket=ASSETS_BUCKET, Key=destination["objectKey"], Body=content
                    )

    def deploy(self) -> list[Deployed]:
        """Make the stacks in order, up to and with the first that fails."""
        made: list[Deployed] = []
        for name in self.names:
            made.append(self.create(name))
            if made[-1].status != "CREATE_COMPLETE":
                break
        return made

    def create(self, name: str) -> Deployed:
        """Make one stack, with its tags."""
        tags = [{"Key": key, "Value": value} for key, value in self._properties[name].get("tags", {}).items()]
        self.client("cloudformation").create_stack(
            StackName=name,
            TemplateBody=json.dumps(self.template(name)),
            Capabilities=CAPABILITIES,
            Tags=tags,
            EnableTerminationProtection=self._properties[name].get("terminationProtection", False),
        )
        return self.stacks.settled(name)

    def destroy(self) -> list[Deployed]:
        """Delete the stacks that there are, the last first, whether they end well or not."""
        return [self.stacks.delete(name) for name in reversed(self.names) if self._exists(name)]

    def _exists(self, name: str) -> bool:
        try:
            self.client("cloudformation").describe_stacks(StackName=name)
        except ClientError:
            return False
        return True


def packaged(path: Path, packaging: str) -> bytes:
    """An asset's bytes: the file, or the folder as a zip archive."""
    if packaging == "file":
        return path.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file in sorted(one for one in path.rglob("*") if one.is_file()):
            archive.write(file, file.relative_to(path))
    return buffer.getvalue()
