"""What this plug-in brings: workspaces at `postgresql://...`."""

from ...runs.plugins import Plugin

_READ = "judgewright.plugins.postgres.address:parse_postgres"
PLUGIN = Plugin(
    name="postgres",
    summary="Keep a workspace on a PostgreSQL server that a team shares.",
    stores={"postgresql": _READ, "postgres": _READ},
)
