"""What a step asks for: roles by turns, a repair and a merge when the archive has a parent for them."""

from judgewright.optimize.plan import FREE, plan_proposals

from .test_archive import ROWS, candidate, start

RIGHT = [i % 2 == 0 for i in range(ROWS)]


def test_roles_go_round_whatever_the_number_of_candidates() -> None:
    """Each free role is asked for equally often; without roles any change is."""
    archive = start([True] * ROWS)
    for candidates in (1, 2, 3, 5):
        asked = []
        for step in range(1, 11):
            plans = plan_proposals(archive, step=step, candidates=candidates, done=(), roles=True, broken=None)
            assert all(plan.parent is archive.first for plan in plans)
            asked += [plan.role for plan in plans]
        assert {asked.count(role) for role in FREE} == {2 * candidates}
    plans = plan_proposals(archive, step=3, candidates=2, done=(), roles=False, broken=None)
    assert [plan.role for plan in plans] == [None, None]


def test_a_broken_guard_is_repaired_once_and_two_survivors_are_merged_once() -> None:
    """They come before the free roles, and what was asked for is not asked for again."""
    archive = start([True] * ROWS)
    archive.add(candidate(1, [i in (0, 2, 4) for i in range(ROWS)]))
    archive.add(candidate(2, [right or i > 3 for i, right in enumerate(RIGHT)]))
    broken = archive.members[1]
    asked: set[tuple[str, ...]] = set()
    first, second, third = plan_proposals(archive, step=3, candidates=3, done=asked, roles=True, broken=broken)
    assert (first.role, first.parent.number) == ("repair", 1)
    assert (second.role, second.parent.number, second.other and second.other.number) == ("merge", 2, 1)
    assert third.role == FREE[(2 * 3 + 2) % len(FREE)]
    asked |= {first.key, second.key}
    again = plan_proposals(archive, step=3, candidates=3, done=asked, roles=True, broken=None)
    assert {plan.role for plan in again} <= set(FREE)
    without = plan_proposals(archive, step=3, candidates=1, done=(), roles=True, broken=None)
    assert without[0].role == "merge"
