"""What this plug-in brings: tools for coding agents, and the skill that goes with them."""

from ...runs.plugins import Plugin

PLUGIN = Plugin(
    name="agents",
    summary="Let a coding agent measure and tune judges, in a stated folder and budget.",
    commands={"agents": "judgewright.plugins.agents.commands:agents"},
)
