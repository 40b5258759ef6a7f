"""The templates against CloudFormation's schemas, as cfn-lint has them."""

from __future__ import annotations

from importlib.util import find_spec

from unbroken.checks.result import Outcome, counted, failed, listed, missing, passed, unknown
from unbroken.checks.subject import Missing, Subject
from unbroken.checks.template.base import TemplateCheck
from unbroken.checks.template.wildcards import INSTALL


class TemplateSchema(TemplateCheck):
    """Finds unknown properties, wrong values, types that the region lacks; knows little of FSx."""

    id = "template-schema"
    asks = "cfn-lint finds no error in the templates for the file's region"
    faults = ("UP-051", "UP-061")

    def run(self, subject: Subject) -> Outcome:
        """All templates in one run, since loading the rules costs most."""
        if find_spec("cfnlint") is None:
            return unknown("cfn-lint is not installed", INSTALL)
        from cfnlint.api import ManualArgs
        from cfnlint.config import ConfigMixIn
        from cfnlint.runner import Runner

        paths = [str(template.path) for template in subject.known_templates.values()]
        config = ConfigMixIn([], **ManualArgs(regions=[subject.config.region], templates=paths))
        found = [match for match in Runner(config).run() if match.rule.severity == "error"]
        if found:
            return failed(listed(map(str, found)), "mend what stacks/ makes of the file; report it")
        return passed(f"{len(paths)} templates, {subject.config.region}")


class TemplateSynth(TemplateCheck):
    """CDK makes them in a process of its own."""

    id = "template-synth"
    needs_templates = False
    asks = "the templates can be made, without AWS and without credentials"
    faults = ("UP-012", "UP-053")

    def run(self, subject: Subject) -> Outcome:
        """By what synth left behind."""
        if isinstance(subject.templates, Missing):
            return missing(subject.templates.reason, subject.templates.fix, subject.templates.wrong)
        dummy = [area for area, one in subject.templates.items() if "dummy1" in str(one.document)]
        if dummy:
            return failed(
                f"dummy zones in {listed(dummy)}", "name zones in the file, and no look-ups in stacks/"
            )
        resources = sum(len(one.document["Resources"]) for one in subject.templates.values())
        return passed(f"{counted(len(subject.templates), 'stack')}, {counted(resources, 'resource')}")
