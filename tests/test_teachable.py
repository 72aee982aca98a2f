"""The world that methods are compared in stays as it was before the first comparison."""

from __future__ import annotations

import hashlib
import json
import random
import runpy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from judgewright.judges import BINARY, Message, Request, Row

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "teachable"
FROZEN = {
    "world.py": "f6c8c829164811e402af6d68fca7abe0",
    "optimizer.py": "7495dce4cb7c4cfa85c0d260e1639acd",
    "lines.py": "1d36a851b141644e1f2ce61c4c8b55ab",
}
"""BLAKE2 of each file. A new hash makes every earlier table incomparable: see "Frozen" in
`world.py`.
"""


def test_the_world_is_the_one_that_was_frozen() -> None:
    """Whoever changes the judge, the rules, the seeds or the optimizer's reading must measure
    everything again.
    """
    found = {
        name: hashlib.blake2b((FOLDER / name).read_bytes(), digest_size=16).hexdigest()
        for name in FROZEN
    }
    assert found == FROZEN


def test_every_rule_is_read_back_in_every_wording() -> None:
    """The judge knows a rule by its words, and the prompts that a search begins with hold none."""
    world = runpy.run_path(str(FOLDER / "world.py"))
    chance = random.Random(0)
    for attribute in world["ATTRIBUTES"]:
        for wish in ("strict", "lenient"):
            for kind in ("", *world["KINDS"]):
                rule = world["Rule"](attribute.name, wish, kind)
                for _ in range(20):
                    sentence = world["write_rule"](rule, "statement", chance)
                    assert list(world["read_rules"](sentence).values()) == [(rule,)], sentence
    for task in world["TASKS"]:
        assert not world["read_rules"](task.prompt.criteria)


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:  # Any: names of a script
    """The names of `lines.py`."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / "lines.py"))


@pytest.mark.parametrize(
    ("world", "oracle", "near"),
    [("lines", (0.08, 0.2), (0.03, 0.1)), ("mislead", (0.08, 0.2), (-0.1, -0.015)),
     ("nothing", (-0.01, 0.01), (-0.015, 0.005))],
)  # fmt: skip
def test_what_each_world_has_to_teach(
    lines: Mapping[str, Any], world: str, oracle: Sequence[float], near: Sequence[float]
) -> None:
    """People's lines in the criteria gain where they differ; the nearest cases of other groups gain
    in one world, mislead in the next and add nothing in the last.
    """
    shares = [lines["decide"](world, seed, near=True, others=600) for seed in range(100, 103)]
    as_it_is, by_rules, by_cases = (mean(share) for share in zip(*shares, strict=True))
    assert oracle[0] <= by_rules - as_it_is <= oracle[1]
    assert near[0] <= by_cases - as_it_is <= near[1]


LAYOUTS: Mapping[str, Callable[[Sequence[tuple[str, int, int]]], str]] = {
    "said before": lambda rows: "".join(
        f"Row {n}: the judge gave {judge}, people say {('negative', 'positive')[label]} ({label})."
        f"\n<text-0a1b2c3d>\n{text}\n</text-0a1b2c3d>\n\n"
        for n, (text, label, judge) in enumerate(rows)
    ),
    "said behind": lambda rows: "".join(
        f"<text>\n{text}\n</text>\n\nPeople's grade: {label}\n\n" for text, label, _ in rows
    ),
    "answers": lambda rows: "\n\n".join(
        f'{text}\n\nAnswer with "score": 0/1.\n\n{{"score": {label}, "confidence": 0.9}}'
        for text, label, _ in rows
    ),
    "JSON": lambda rows: json.dumps(
        [{"verdict": judge, "label": label, "text": text} for text, label, judge in rows]
    ),
    "JSON, label last": lambda rows: json.dumps(
        [{"text": text, "label": label, "verdict": judge} for text, label, judge in rows]
    ),
    "table": lambda rows: "row | judge | people | text\n" + "\n".join(
        f"{n} | {judge} | {label} | {text}" for n, (text, label, judge) in enumerate(rows)
    ),
    "cells": lambda rows: "\n".join(
        f"{'TF'[label != judge]}{'NP'[judge]} {text}" for text, label, judge in rows
    ),
    "headings": lambda rows: "\n\n".join(
        f"## {label == judge} {('negatives', 'positives')[judge]}\n\n{text}"
        for text, label, judge in rows
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_labels_are_read_wherever_a_request_has_them(lines: Mapping[str, Any], layout: str) -> None:
    """Neither judge nor writer depends on the marks of one method."""
    task = lines["TASKS"][0]
    rows = _rows(lines, 12)
    verdicts = [random.Random(row.id).randrange(2) for row in rows]
    given = [
        (row.inputs[task.focus], int(row.label or 0), judge)
        for row, judge in zip(rows, verdicts, strict=True)
    ]
    text = LAYOUTS[layout](given)
    found = lines["read_rows"](text, BINARY, behind=layout == "answers")
    assert [row.positive for row in found] == [label == 1 for _, label, _ in given]
    assert all(
        f" {row.points:.0f} of 100" in text for row, (text, _, _) in zip(found, given, strict=True)
    )


def test_the_writer_errs_less_the_more_rows_it_is_shown(lines: Mapping[str, Any]) -> None:
    """From errors alone, few of them, it learns a poor line."""
    task = lines["TASKS"][0]
    people = lines["draw_lines"]("lines", 100, task).line

    def far_off(rows: Sequence[Row]) -> float:
        given = [(row.inputs[task.focus], int(row.label or 0), 0) for row in rows]
        shown = LAYOUTS["said before"](given)
        asked = "Write it between <NEW_CRITERIA> and </NEW_CRITERIA>."
        errors: list[float] = []
        for repeat in range(40):
            content = f"<CRITERIA>\nBe fair.\n</CRITERIA>\n\n{shown}\n\n{asked} ({repeat})"
            request = Request(messages=(Message(role="user", content=content),))
            said = lines["read_lines"](lines["LinesWriter"](task).reply(request))
            errors += [abs(said[kind] - people[kind]) for kind in people if kind in said]
        return mean(errors)

    rows = _rows(lines, 400)
    assert far_off(rows[:20]) > 1.5 * far_off(rows[:100]) > 2.2 * far_off(rows)
    assert far_off(rows) < 5


def _rows(lines: Mapping[str, Any], size: int) -> Sequence[Row]:
    task = lines["TASKS"][0]
    drawn = lines["draw_lines"]("lines", 100, task)
    return lines["draw_rows"](drawn, 100, task, size=size, others=0)[0].rows
