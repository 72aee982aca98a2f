"""The navigation, in its order; a module of pages is entered here, a line each, and nowhere
else.
"""

from __future__ import annotations

from . import (
    bench_pages,
    compare_pages,
    decisions,
    handover_pages,
    job_pages,
    judge_pages,
    label_pages,
    matrix_pages,
    next_run,
    pages,
    row_lists,
    runs_page,
    start,
    watch,
    work_pages,
)
from .routes import Section

SECTIONS: tuple[Section, ...] = (
    Section(
        "Runs",
        "/",
        (
            *runs_page.ADDRESSES,
            *pages.RUNS,
            *watch.ADDRESSES,
            *decisions.ADDRESSES,
            *next_run.ADDRESSES,
        ),
    ),
    Section("Start", "/start", start.ADDRESSES),
    Section(
        "Compare",
        "/compare",
        (*compare_pages.ADDRESSES, *row_lists.ADDRESSES, *bench_pages.ADDRESSES),
    ),
    Section("Rows", "/matrix", matrix_pages.ADDRESSES),
    Section("Label", "/label", label_pages.ADDRESSES),
    Section("Judges", "/judges", (*judge_pages.ADDRESSES, *handover_pages.ADDRESSES)),
    Section("Jobs", "/jobs", (*job_pages.ADDRESSES, *work_pages.ADDRESSES)),
)
