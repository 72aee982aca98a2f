"""A decision of the gate for a pull request: a comment in Markdown and a JUnit file, without any
row of the holdout.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ...judges import JudgePrompt
from ..actions.decide import Gated
from .rendering import open_templates
from .sentences import describe_limits

MARK = "<!-- judgewright gate -->"
"""Stands first in every comment, so that the one of an earlier commit can be found and replaced."""


def comment_on(gated: Gated, prompts: tuple[JudgePrompt, JudgePrompt] | None) -> str:
    """Return the decision as Markdown: outcome, reason, figures, and the diff of the prompts where
    there are two.

    Text that a pull request brings stands in fences that it cannot close.
    """
    template = open_templates(markup=False).get_template("gate_comment.md.j2")
    diff = (prompts[0].diff(prompts[1]) or "no difference") if prompts else ""
    return template.render(mark=MARK, gated=gated, answer=gated.answer, diff=diff) + "\n"


def junit_of(gated: Gated) -> str:
    """Return the decision as JUnit XML: one case for the decision and one for each guard and
    floor.
    """
    answer, decision = gated.answer, gated.answer.decision
    evidence = decision.evidence
    title = f"{answer.before} -> {answer.after}: {answer.objective.target}"
    cases = [(title, decision.accepted, f"{decision.outcome}: {decision.reason}")]
    if evidence is not None:
        limits = [*evidence.guards, *(evidence.floors or ())]
        for limit, line in zip(limits, describe_limits(evidence), strict=True):
            cases.append((f"{limit.metric} is kept", limit.state == "held", line))
    suite = ElementTree.Element(
        "testsuite",
        name="judgewright gate",
        tests=str(len(cases)),
        errors="0",
        failures=str(sum(not held for _, held, _ in cases)),
    )
    for name, held, reason in cases:
        names = {"classname": "judgewright.gate", "name": _printable(name)}
        case = ElementTree.SubElement(suite, "testcase", names)
        if not held:
            ElementTree.SubElement(case, "failure", message=_printable(reason))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """Leave out the characters that XML 1.0 cannot hold."""
    return re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)
