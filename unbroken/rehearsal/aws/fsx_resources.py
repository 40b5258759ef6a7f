"""CloudFormation's AWS::FSx::FileSystem and AWS::FSx::DataRepositoryAssociation."""

from __future__ import annotations

from unbroken.rehearsal.aws.fsx import Association, FileSystem, Fsx, FsxError, check_file_system
from unbroken.rehearsal.aws.handlers import Handler, Properties, Resource, ResourceError


def handlers(fsx: Fsx) -> list[Handler]:
    """Both types."""
    return [FileSystemResource(fsx), AssociationResource(fsx)]


class FileSystemResource:
    """A Lustre file system; ``Ref`` is its id."""

    type_name = "AWS::FSx::FileSystem"

    def __init__(self, fsx: Fsx) -> None:
        self.fsx = fsx

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        try:
            return self._resource(self.fsx.create_file_system(properties))
        except FsxError as error:
            raise ResourceError(f"{error} ({error.code})") from error

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        file_system = self.fsx.file_systems.get(physical_id)
        if file_system is None:
            raise ResourceError(f"File system '{physical_id}' does not exist.")
        try:
            check_file_system(new)
        except FsxError as error:
            raise ResourceError(f"{error} ({error.code})") from error
        if int(new["StorageCapacity"]) < file_system.capacity_gib:
            raise ResourceError("StorageCapacity cannot be decreased.")
        file_system.capacity_gib = int(new["StorageCapacity"])
        file_system.lustre = dict(new.get("LustreConfiguration", {}))
        file_system.tags = list(new.get("Tags", []))
        return self._resource(file_system)

    def delete(self, physical_id: str, properties: Properties) -> None:
        if physical_id in self.fsx.file_systems:
            self.fsx.delete_file_system(physical_id)

    @staticmethod
    def _resource(made: FileSystem) -> Resource:
        return Resource(
            made.file_system_id,
            {
                "Id": made.file_system_id,
                "DNSName": made.dns_name,
                "LustreMountName": made.mount_name,
                "ResourceARN": made.arn,
            },
        )


class AssociationResource:
    """A data repository association; ``Ref`` is its id."""

    type_name = "AWS::FSx::DataRepositoryAssociation"

    def __init__(self, fsx: Fsx) -> None:
        self.fsx = fsx

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        try:
            return self._resource(self.fsx.create_association(properties))
        except FsxError as error:
            raise ResourceError(f"{error} ({error.code})") from error

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
