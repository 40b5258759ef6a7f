"""IAM Identity Center (once called AWS SSO)."""

from __future__ import annotations

from unbroken.aws.session import Session


class IdentityCenter:
    """Raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def instances(self) -> list[str]:
        """ARNs of the instances in this region; one in another region is not among them."""
        found = self._session.ask_all("sso-admin", "list_instances", "Instances", "Identity Center instances")
        return [one["InstanceArn"] for one in found]
