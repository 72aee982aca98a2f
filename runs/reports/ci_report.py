"""A decision of the gate for a pull request: a comment in Markdown and a JUnit file, without any
row of the holdout.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ...judges import JudgePrompt
from ..actions.decide import Gated
from ..terminal import inline
from .gate_report import HEAD
from .gate_sentences import (
    P_MEANS,
    change_cells,
    describe_evidence,
    describe_limits,
    describe_unanswered,
    gate_changes,
)
from .numbers import count, number

MARK = "<!-- judgewright gate -->"
"""Stands first in every comment, so that the one of an earlier commit can be found and replaced."""


def comment_on(gated: Gated, prompts: tuple[JudgePrompt, JudgePrompt] | None) -> str:
    """Return the decision as Markdown: outcome, reason, figures, and the diff of the prompts where
    there are two.

    Text that a pull request brings stands in fences that it cannot close.
    """
    answer, decision = gated.answer, gated.answer.decision
    simulated = " (simulated model: no evidence about any real one)" if answer.simulated else ""
    lines = [MARK, f"### Judge gate: {decision.outcome.upper()}{simulated}", ""]
    lines += [_fenced("text", inline(decision.reason)), ""]
    evidence = decision.evidence
    if evidence is not None:
        table = [
            (*change_cells(*line), count(line[1]["changed_groups"]))
            for line in gate_changes(evidence)
        ]
        if table:
            lines += [f"| {' | '.join(HEAD)} |", "|" + " --- |" * len(HEAD)]
            lines += [f"| {' | '.join(map(_cell, cells))} |" for cells in table]
            lines += ["", P_MEANS, ""]
        lines += [
            f"* {_cell(line)}"
            for line in (*describe_evidence(evidence), *describe_unanswered(evidence))
        ]
        lines.append(f"* look {evidence.look} at this holdout, alpha {number(evidence.alpha, 4)}")
    lines.append(
        f"* {count(answer.rows)} rows in {count(answer.groups)} groups; run `{gated.run_id}`"
    )
    if gated.repeated:
        lines.append(
            "* the same question was decided before; this is that decision, and no look was spent"
        )
    if prompts is not None:
        diff = prompts[0].diff(prompts[1]) or "no difference"
        lines += [
            "",
            "<details><summary>What changed in the prompt</summary>",
            "",
            _fenced("diff", diff.rstrip("\n")),
            "",
            "</details>",
        ]
    return "\n".join(lines) + "\n"


def junit_of(gated: Gated) -> str:
    """Return the decision as JUnit XML: one case for the decision and one for each guard and
    floor.
    """
    answer, decision = gated.answer, gated.answer.decision
    evidence = decision.evidence
    limits = [*evidence.guards, *(evidence.floors or ())] if evidence else []
    name = f"{_printable(answer.before)} -> {_printable(answer.after)}"
    suite = ElementTree.Element(
        "testsuite", name="judgewright gate", tests=str(1 + len(limits)), errors="0"
    )
    failures = 0
    said = [
        (
            f"{name}: {answer.objective.target}",
            decision.accepted,
            f"{decision.outcome}: {decision.reason}",
        )
    ]
    if evidence is not None:
        said += [
            (f"{limit.metric} is kept", limit.state == "held", line)
            for limit, line in zip(limits, describe_limits(evidence), strict=True)
        ]
    for title, held, reason in said:
        case = ElementTree.SubElement(
            suite, "testcase", classname="judgewright.gate", name=_printable(title)
        )
        if not held:
            failures += 1
            ElementTree.SubElement(case, "failure", message=_printable(reason))
    suite.set("failures", str(failures))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _fenced(kind: str, text: str) -> str:
    """Put text into a fence longer than any run of backticks in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{kind}\n{_printable(text)}\n{fence}"


def _cell(text: str) -> str:
    """Escape what Markdown would take for a table, a tag, a link or a mention."""
    return re.sub(r"([\\`*_\[\]<>|@#])", r"\\\1", inline(text)).replace("\n", " ")


def _printable(text: str) -> str:
    """Leave out the characters that XML 1.0 cannot hold."""
    return re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)
