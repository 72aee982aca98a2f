"""What this plug-in brings: spans of runs, their steps and their calls."""

from ...runs.plugins import Plugin

PLUGIN = Plugin(
    name="tracing",
    summary="Record runs as spans, for an OpenTelemetry collector or in a file.",
    tracers={"opentelemetry": "judgewright.plugins.tracing.spans:trace_run"},
)
