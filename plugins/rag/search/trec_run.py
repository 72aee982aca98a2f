"""Runs in the format of TREC: `qid Q0 docid rank score tag`."""

from __future__ import annotations

import math
from pathlib import Path

from ....judges.datasets.release import opened
from ....judges.errors import DataError
from ....judges.files import Problems
from ....judges.files.problems import shorten

Run = dict[str, dict[str, float]]
"""Score by query and document."""


def read_trec_run(path: Path) -> Run:
    """Read the scores of a run; ranks are not read, as trec_eval has it.

    Raises:
        DataError: The file is empty, or a line has another form, no finite score, or a document for
            the second time.
    """
    problems = Problems(path)
    run: Run = {}
    with opened(path) as lines:
        for at, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                query, _, document, _, score, _ = line.split(None, 5)
                number = float(score)
            except ValueError:
                problems.add(at, f"{shorten(line.strip())} is not `qid Q0 docid rank score tag`")
                continue
            documents = run.setdefault(query, {})
            if not math.isfinite(number):
                problems.add(at, f"the score {score} is not finite")
            elif document in documents:
                problems.add(
                    at, f"document {shorten(document)} stands twice for query {shorten(query)}"
                )
            else:
                documents[document] = number
    problems.check()
    if not run:
        raise DataError(f"{path}: the run has no lines")
    return run
