"""A fast decision model and a slow chat model that answer what the text of a row says."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .decision_server import DecisionServer


class CascadeServer(DecisionServer):
    """The fast model answers the `p` of a statement, the slow one its `grade`, where it has one."""

    def decide(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer with the probability that the statement names."""
        p = float(re.search(r"p=(\S+)", body["state"]["statement"])[1])
        shares = {"0": 1 - p, "1": 0.0, "2": 0.0, "3": p}
        return {"type": "score", "score": 3 * p, "probabilities": shares}

    def reply(self, text: str) -> str:
        """Return the grade that the statement names, or that there is none."""
        grade = re.search(r"grade=(\d)", text)
        if grade is None:
            return "I cannot say."
        fields = {"criterion": "-", "evidence": "-", "score": int(grade[1]), "confidence": 0.9}
        return json.dumps(fields)


def write_rows(path: Path, rows: Sequence[tuple[float, int | None, int]]) -> None:
    """Write rows of a probability, the slow model's grade (None: no verdict) and the label."""
    lines: list[str] = []
    for i, (p, grade, label) in enumerate(rows):
        says = "" if grade is None else f" grade={grade}"
        row = {"id": f"r{i}", "source": f"s{i}", "statement": f"{i}: p={p}{says}", "label": label}
        lines.append(json.dumps(row))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
