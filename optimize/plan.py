"""Which proposals a step asks for: each with a role and the prompt that it starts from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .archive import Archive, Candidate
from .roles import Role

FREE: tuple[Role | None, ...] = (None, "add", "tighten", "remove", "rewrite")
"""Roles by turns; None asks for any change."""
MERGE_EVERY = 3
"""Steps from one merge to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One proposal that is asked for."""

    parent: Candidate
    """The prompt that it starts from."""
    role: Role | None = None
    other: Candidate | None = None
    """The second prompt of a merge."""

    @property
    def key(self) -> tuple[str, ...]:
        """Tells repairs and merges apart, so that none is asked for twice."""
        return (self.parent.prompt.version, *([self.other.prompt.version] if self.other else []))


def plan_proposals(
    archive: Archive,
    *,
    step: int,
    candidates: int,
    done: Collection[tuple[str, ...]],
    roles: bool,
    broken: Candidate | None,
) -> list[Plan]:
    """Plan the proposals of a step; a repair and a merge come before the roles that go round.

    Args:
        archive: What was found so far.
        step: Its number, from 1.
        candidates: How many proposals.
        done: Keys of the repairs and merges that were asked for.
        roles: Whether to ask in roles; else any change is asked for.
        broken: A candidate that lowered the loss and broke a guard, to be repaired.
    """
    plans: list[Plan] = []
    if broken is not None:
        plans.append(Plan(parent=broken, role="repair"))
    if roles and step % MERGE_EVERY == 0 and len(plans) < candidates:
        best = archive.finalists(2)
        if len(best) == 2 and all(one.loss < archive.first.loss for one in best):
            merge = Plan(parent=best[0], other=best[1], role="merge")
            if merge.key not in done:
                plans.append(merge)
    first = (step - 1) * candidates
    for slot in range(len(plans), candidates):
        plans.append(Plan(parent=archive.current, role=FREE[(first + slot) % len(FREE)] if roles else None))
    return plans
