"""The navigation, in its order; a module of pages is entered here, a line each, and nowhere else."""

from __future__ import annotations

from . import decisions, diff, pages
from .routes import Section

SECTIONS: tuple[Section, ...] = (
    Section("Runs", "/", (*pages.RUNS, *diff.ADDRESSES, *decisions.ADDRESSES)),
    Section("Judges", "/judges", pages.JUDGES),
    Section("Jobs", "/work", pages.JOBS),
)
