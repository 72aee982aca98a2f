"""What this plug-in brings: small models that learn a judge's verdicts."""

from ...runs.plugins import Plugin

PLUGIN = Plugin(
    name="students",
    summary="Train a small student on a judge's verdicts, or make data to fine-tune one.",
    commands={"students": "judgewright.plugins.students.commands:students"},
)
