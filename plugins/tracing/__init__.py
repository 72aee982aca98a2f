"""Spans of runs for an OpenTelemetry collector, or a file."""
