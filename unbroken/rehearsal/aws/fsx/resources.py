"""CloudFormation's AWS::FSx::FileSystem and AWS::FSx::DataRepositoryAssociation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from unbroken.rehearsal.aws import shapes
from unbroken.rehearsal.aws.fsx.records import Association, FileSystem, FsxError
from unbroken.rehearsal.aws.fsx.service import Fsx
from unbroken.rehearsal.aws.handlers import Handler, Properties, Resource, ResourceError


def handlers(fsx: Fsx) -> list[Handler]:
    """Both types."""
    return [FileSystemResource(fsx), AssociationResource(fsx)]


@contextmanager
def _told() -> Iterator[None]:
    """What FSx refuses becomes the stack event's reason."""
    try:
        yield
    except FsxError as error:
        raise ResourceError(f"{error} ({error.code})") from error


class FileSystemResource:
    """A file system; ``Ref`` is its id. It is deleted as the API does by default."""

    type_name = "AWS::FSx::FileSystem"

    def __init__(self, fsx: Fsx) -> None:
        self.fsx = fsx

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        with _told():
            return self._resource(self.fsx.create_file_system(_request(properties)))

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        with _told():
            return self._resource(self.fsx.update_file_system(physical_id, _request(new)))

    def delete(self, physical_id: str, properties: Properties) -> None:
        if physical_id in self.fsx.file_systems:
            self.fsx.delete_file_system(physical_id, {})

    @staticmethod
    def _resource(made: FileSystem) -> Resource:
        attributes = {"Id": made.file_system_id, "DNSName": made.dns_name, "ResourceARN": made.arn}
        if made.kind == "LUSTRE":
            attributes["LustreMountName"] = made.mount_name
        else:
            attributes["RootVolumeId"] = made.root_volume_id
        return Resource(made.file_system_id, attributes)


def _request(properties: Properties) -> dict[str, object]:
    """What CloudFormation sends; members that are CloudFormation's alone (Options) are left out."""
    request = shapes.as_request("fsx", "CreateFileSystem", properties)
    zfs = request.get("OpenZFSConfiguration")
    if zfs is not None:
        request["OpenZFSConfiguration"] = {key: item for key, item in zfs.items() if key != "Options"}
    return request


class AssociationResource:
    """A data repository association; ``Ref`` is its id."""

    type_name = "AWS::FSx::DataRepositoryAssociation"

    def __init__(self, fsx: Fsx) -> None:
        self.fsx = fsx

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        request = shapes.as_request("fsx", "CreateDataRepositoryAssociation", properties)
        with _told():
            return self._resource(self.fsx.create_association(request))

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        association = self.fsx.associations.get(physical_id)
        if association is None:
            raise ResourceError(f"Data repository association '{physical_id}' does not exist.")
        association.s3 = dict(new.get("S3", {}))
        association.tags = list(new.get("Tags", []))
        return self._resource(association)

    def delete(self, physical_id: str, properties: Properties) -> None:
        if physical_id in self.fsx.associations:
            self.fsx.delete_association(physical_id)

    def _resource(self, made: Association) -> Resource:
        attributes = {"AssociationId": made.association_id, "ResourceARN": made.arn(self.fsx.region)}
        return Resource(made.association_id, attributes)
