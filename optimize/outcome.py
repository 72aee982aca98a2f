"""How a run, or a question to the gate, ends: six words with one meaning each, and the exit code of
each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .events import ProposalRecord

GateOutcome = Literal["accepted", "refused", "undecided"]
"""Accepted: it is shown to be better, and its guards hold. Refused: there is evidence against it.
Undecided: there is too little evidence either way."""
RunOutcome = Literal[GateOutcome, "no candidate", "failed", "not sent"]
"""No candidate: the search found no prompt to decide about. Failed: the optimizer model's endpoint
did, so that there is none. Not sent: the best candidate's chance was too small to spend a look
on."""
BY_GATE: tuple[str, ...] = ("accepted", "refused", "undecided")
"""What the gate says, on the holdout; any other outcome of a run came before it."""
RUN_OUTCOMES = (*BY_GATE, "no candidate", "failed", "not sent")
FAILED, NO_PROPOSAL, JUDGED = "failed", "no proposal", "judged"
"""What became of a proposal: the endpoint failed; the proposer had none; it was usable, and judged
on the rows that it was not written from."""
MAYBE, LIKELY = 0.2, 0.6
"""Chances from which an accept is called maybe, and likely: two digits would promise what is not
there.
"""
_EXIT_CODES: Mapping[str, int] = {"accepted": 0, "failed": 3, "not sent": 4}
_HELP: Mapping[str, str] = {
    FAILED: "once that is mended, run it again",
    NO_PROPOSAL: "another --optimizer-model or --proposer may find one",
}


def in_words(chance: float) -> Literal["unlikely", "maybe", "likely"]:
    """Say a chance in one of three words."""
    return "likely" if chance >= LIKELY else "maybe" if chance >= MAYBE else "unlikely"


def exit_code(outcome: str) -> int:
    """Return the exit code of a command that ended with an outcome: 0 accepted, 3 failed, 4 not
    sent, 1 any other.
    """
    return _EXIT_CODES.get(outcome, 1)


def why_no_candidate(proposals: Sequence[ProposalRecord]) -> tuple[RunOutcome, str]:
    """Say how a search ended whose proposals came to no new prompt, or to none that is best, and
    what may help.
    """
    if not proposals:
        return "no candidate", "no search was asked for (--steps 0)"
    if count := sum(one.kept for one in proposals):
        return (
            "no candidate",
            f"none of the new prompts ({count}) did better on the rows it was not written from",
        )
    kind, count = Counter(one.result for one in proposals).most_common(1)[0]
    causes = Counter(_cause(one) for one in proposals if one.result == kind)
    of = f"{count} of {len(proposals)} proposals" if len(proposals) > 1 else "the one proposal"
    helps = _HELP.get(kind, "another --optimizer-model or more --steps may find one")
    reason = f"the search found no new prompt; {of}: {causes.most_common(1)[0][0]}; {helps}"
    return ("failed" if kind == FAILED else "no candidate"), reason


def _cause(proposal: ProposalRecord) -> str:
    details = [f"{violation.name}: {violation.detail}" for violation in proposal.violations or ()]
    return "; ".join([*details, proposal.reason or ""]).strip("; ") or proposal.result
