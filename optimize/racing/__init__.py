"""Candidates race on validation rows."""
