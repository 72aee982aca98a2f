"""Racing candidates: who wins, who is dropped and why, what it costs, and how seldom the best one
is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    Client,
    Dataset,
    InputError,
    JudgedDataset,
    JudgePrompt,
    LossError,
    OutputScale,
    Registry,
    Row,
    Simulated,
    Unscored,
    Verdict,
    judge,
)
from judgewright.optimize.racing import (
    RaceResult,
    RaceSettings,
    lay_out,
    plan_stops,
    run_race,
)

PROMPT = JudgePrompt(
    name="j", system="s", criteria="c", template="{{x}}", reply="r", scale=OutputScale()
)


def rows(n: int, per_group: int = 1) -> Dataset:
    """Rows that people call negative."""
    made = (
        Row(id=f"r{i}", inputs={"x": f"text {i}"}, label=0.0, group=f"g{i // per_group}")
        for i in range(n)
    )
    return Dataset.of(made, labels=BINARY)


class Table:
    """A judge whose verdicts are written down: prompt k accepts the rows at which `wrong[k]` is
    true.
    """

    def __init__(self, wrong: np.ndarray, silent: np.ndarray | None = None) -> None:
        self.candidates = [PROMPT.edited(criteria=f"version {k}") for k in range(len(wrong))]
        self.wrong, self.silent = wrong, np.zeros_like(wrong) if silent is None else silent
        self.batches: list[tuple[str, tuple[str, ...]]] = []
        self._of = {prompt.version: k for k, prompt in enumerate(self.candidates)}

    def __call__(self, prompt: JudgePrompt, batch: Dataset) -> JudgedDataset:
        k = self._of[prompt.version]
        self.batches.append((prompt.version, tuple(row.id for row in batch.rows)))
        at = [int(row.id[1:]) for row in batch.rows]
        answers = tuple(
            (
                Unscored(row_id=f"r{i}", reason="parse")
                if self.silent[k, i]
                else Verdict(
                    row_id=f"r{i}", score=3.0 * self.wrong[k, i], positive=bool(self.wrong[k, i])
                )
            )
            for i in at
        )
        return JudgedDataset(dataset=batch, answers=answers, scale=prompt.scale)


def errors(judged: JudgedDataset) -> np.ndarray:
    """One for a wrong verdict."""
    return (judged.positive != judged.predicted).astype(np.float64)


def run(table: Table, n: int, **chosen: object) -> RaceResult:
    """Race a table's candidates."""
    return run_race(table.candidates, rows(n), table, errors, settings=RaceSettings(**chosen))


def drawn(rng: np.random.Generator, n: int, shares: Sequence[float]) -> np.ndarray:
    """Wrong verdicts that the candidates mostly share, and each some of its own."""
    shared = rng.random(n) < 0.15
    return np.array([shared | (rng.random(n) < share) for share in shares])


def test_the_best_of_eight_wins_for_a_third_of_the_calls() -> None:
    """One candidate is ten points better than the others: it wins, and no more than a third is
    asked.
    """
    wrong = drawn(np.random.default_rng(0), 600, [0.12] * 5 + [0.02] + [0.12] * 2)
    found = run(Table(wrong), 600)
    assert found.winner.criteria == "version 5"
    assert found.full_calls == 8 * 600
    assert found.calls == found.asked <= found.full_calls / 3
    assert [standing.dropped is None for standing in found.standings] == [k == 5 for k in range(8)]


def test_the_bound_alone_drops_the_hopeless_early_and_proves_the_winner() -> None:
    """Without a limit on calls nobody is dropped for want of them, and the bad ones do not see the
    last row.
    """
    wrong = drawn(np.random.default_rng(1), 800, [0.0, 0.2, 0.3])
    found = run(Table(wrong), 800, share=None)
    assert found.winner.criteria == "version 0"
    assert found.proven
    assert {standing.dropped for standing in found.standings} == {None, "cannot win"}
    assert all(standing.rows < 800 for standing in found.standings[1:])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(5, 120))
def test_without_a_limit_that_binds_the_last_one_standing_is_the_best_of_those_compared(
    seed: int, k: int, n: int
) -> None:
    """Whoever saw every row with the winner cost no less than it; equals go to the first."""
    wrong = np.random.default_rng(seed).random((k, n)) < 0.3
    table = Table(wrong)
    dataset = rows(n, per_group=3)
    found = run_race(table.candidates, dataset, table, errors, settings=RaceSettings(share=None))
    totals = wrong.sum(1)
    winner = [p.version for p in table.candidates].index(found.winner.version)
    rivals = [i for i, s in enumerate(found.standings) if s.rows == n and i != winner]
    assert all((totals[winner], winner) < (totals[i], i) for i in rivals)


@pytest.mark.slow
def test_in_500_races_the_bound_drops_the_true_best_no_more_often_than_alpha() -> None:
    """Four candidates, two of them equally good but for chance; the best is who costs least over
    all rows.
    """
    false = 0
    for seed in range(500):
        wrong = drawn(np.random.default_rng(seed), 160, [0.1, 0.1, 0.15, 0.25])
        found = run(Table(wrong), 160, share=None, seed=seed, first=10)
        best = found.standings[int(wrong.sum(1).argmin())]
        false += best.dropped == "cannot win" and best.rows < 160
    assert false <= 25


def test_every_candidate_sees_the_same_rows_in_the_same_order_and_the_seed_draws_it() -> None:
    """What one running candidate is asked, the others are; another seed asks other rows first."""
    wrong = drawn(np.random.default_rng(3), 200, [0.1] * 4)
    tables = [Table(wrong) for _ in range(3)]
    for table, seed in zip(tables, (1, 1, 2), strict=True):
        run(table, 200, seed=seed)
    assert tables[0].batches == tables[1].batches
    assert tables[0].batches[0] != tables[2].batches[0]
    by_batch: dict[tuple[str, ...], list[str]] = {}
    for version, ids in tables[0].batches:
        by_batch.setdefault(ids, []).append(version)
    assert len(next(iter(by_batch.values()))) == 4
    seen = [i for ids in by_batch for i in ids]
    assert len(seen) == len(set(seen))


@given(st.integers(2, 12), st.integers(60, 2000), st.sampled_from([0.2, 1 / 3, 0.5, 1.0]))
def test_the_planned_stops_cost_no_more_than_the_share(k: int, n: int, share: float) -> None:
    """Rows between stops times the candidates that may run there; only the first batch may go
    beyond it.
    """
    chosen = RaceSettings(share=share, first=5)
    stops = plan_stops(len(lay_out(rows(n), chosen)), k, chosen)
    assert [stop.rows for stop in stops] == sorted({stop.rows for stop in stops})
    assert stops[-1].survivors == 1
    cost, seen, running = 0, 0, k
    for stop in stops:
        cost += (stop.rows - seen) * running
        seen, running = stop.rows, min(running, stop.survivors)
    assert cost <= max(share * k * n + 1e-6, 5 * k)


@given(st.integers(2, 12), st.integers(1, 2000), st.sampled_from([None, 0.2, 1 / 3, 1.0]))
def test_a_coarse_race_looks_at_most_twice(k: int, n: int, share: float | None) -> None:
    """Over batches and files each look may take a day: one that decides, or one half-way and the
    end.
    """
    stops = plan_stops(n, k, RaceSettings(share=share, coarse=True))
    assert len(stops) <= (2 if share is None else 1)
    assert stops[-1].rows <= n
    if share is None:
        assert stops[-1].rows == n
        assert 2 * stops[0].rows >= n - 1
    else:
        assert stops[0].survivors == 1
        assert stops[0].rows <= max(20, share * n)


def test_equal_candidates_leave_the_first() -> None:
    """Where nothing tells them apart, the earlier one stays: put the current prompt first."""
    found = run(Table(np.zeros((3, 80), bool)), 80)
    assert found.winner.criteria == "version 0"


def test_a_silent_candidate_is_dropped_and_does_not_spoil_the_others() -> None:
    """A candidate that leaves rows unscored is neither wrong nor free of cost: it leaves the race
    with its reason.
    """
    wrong = np.random.default_rng(5).random((3, 200)) < np.array([[0.3], [0.1], [0.0]])
    silent = np.zeros_like(wrong)
    silent[2] = True
    found = run(Table(wrong, silent), 200)
    assert found.winner.criteria == "version 1"
    assert found.standings[2].dropped == "leaves rows unscored"
    assert (found.standings[2].loss, found.standings[2].behind) == (None, None)


def test_candidates_with_gaps_of_their_own_are_ranked_on_the_rows_two_have_in_common() -> None:
    """Each of eight leaves another eighth of the rows unscored, so that no row has all answers; the
    best still wins.
    """
    wrong = (
        np.random.default_rng(8).random((8, 480))
        < np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.05, 0.5])[:, None]
    )
    silent = np.arange(480) % 8 == np.arange(8)[:, None]
    table = Table(wrong, silent)
    found = run_race(table.candidates, rows(480), table, errors)
    assert found.winner.criteria == "version 6"


def test_who_answers_only_easy_rows_is_not_ranked_before_who_answers_all() -> None:
    """A fifth of the rows is too hard for everyone; leaving them unscored wins nothing."""
    hard = np.arange(100) % 5 == 0
    wrong = np.array([hard | (np.arange(100) % 20 == 1), hard, hard | (np.arange(100) % 20 == 2)])
    silent = np.zeros_like(wrong)
    silent[0] = hard
    found = run(Table(wrong, silent), 100, share=None)
    assert found.winner.criteria == "version 1"


def test_what_the_record_holds_costs_nothing() -> None:
    """The same race again makes no call, and finds the same."""
    prompt = Registry().get("groundedness")
    made = (
        Row(
            id=f"r{i}",
            inputs={"source": f"Box {i} is blue.", "statement": f"Box {i} is {c}."},
            label=float(c == "blue"),
        )
        for i, c in enumerate(["blue", "red"] * 30)
    )
    dataset = Dataset.of(made, labels=BINARY)
    field = [
        prompt,
        prompt.edited(criteria=prompt.criteria + "\nBe strict."),
        prompt.edited(criteria="Accept all."),
    ]
    with Client(Simulated()) as client:
        found = [
            run_race(
                field,
                dataset,
                lambda p, b: judge(p, b, client),
                errors,
                calls=lambda: client.stats.calls,
            )
            for _ in range(2)
        ]
    assert found[0].calls == found[0].asked > 0
    assert found[1].calls == 0
    assert found[1].asked == found[0].asked
    stable = [{k: v for k, v in result.to_json().items() if k != "volatile"} for result in found]
    assert stable[0] == stable[1]
    json.dumps(found[0].to_json(), allow_nan=False)


def test_a_race_needs_distinct_candidates_labelled_rows_and_losses_in_range() -> None:
    """Each lack has its own sentence."""
    table = Table(np.zeros((2, 10), bool))
    with pytest.raises(InputError, match="distinct"):
        run_race([PROMPT, PROMPT], rows(10), table, errors)
    with pytest.raises(InputError, match="distinct"):
        run_race([], rows(10), table, errors)
    with pytest.raises(InputError, match="no row has a label"):
        run_race(
            table.candidates,
            Dataset.of([Row(id="r0", inputs={"x": "x"})], labels=BINARY),
            table,
            errors,
        )
    with pytest.raises(LossError, match="each to be in"):
        run_race(table.candidates, rows(10), table, lambda judged: errors(judged) + 2)
    with pytest.raises(InputError, match="alpha"):
        RaceSettings(alpha=0)


def test_one_candidate_wins_unasked() -> None:
    """There is nothing to find out."""
    table = Table(np.zeros((1, 30), bool))
    found = run(table, 30)
    assert (found.winner, found.calls, found.proven) == (table.candidates[0], 0, True)
