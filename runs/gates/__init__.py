"""Decisions of the gate outside a walk."""
