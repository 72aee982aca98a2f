"""Where no slice stands out, errors are read from the slice with the worst rate of them, and that
is said.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from judgewright.judges import (
    InputError,
    JudgedDataset,
    OutputScale,
    load_verdicts,
)
from judgewright.judges.models import Client
from judgewright.judges.simulated import Simulated
from judgewright.optimize import (
    RunSettings,
    Services,
    TextGrad,
    choose_target,
    find_target,
    read_objective,
)
from judgewright.optimize.events import SliceChosen, read_as
from judgewright.slices import (
    confused_pairs,
    find_by_rate,
    find_confusions,
    find_slices,
    parse_predicate,
)

from ..judged_tables import judged_table
from ..optimize.in_memory import MemoryJournal, MemoryLedger

VERDICTS = Path(__file__).resolve().parents[2] / "../shared/data/verdicts"
needs_data = pytest.mark.skipif(
    not VERDICTS.exists(), reason="the shared data are not beside the checkout"
)


def table(columns: dict[str, list[str]], label: np.ndarray, said: np.ndarray) -> JudgedDataset:
    """A judge of yes and no; four rows make a group."""
    groups = [f"g{i // 4}" for i in range(len(label))]
    return judged_table(label, said, columns=columns, groups=groups)


def chosen_for(judged: JudgedDataset, target: str) -> SliceChosen:
    """What a run writes of the slice that it chooses."""
    journal, ledger = MemoryJournal(), MemoryLedger()
    with Client(Simulated()) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(TextGrad(),),
            journal=journal,
            ledger=ledger,
            run_id="r",
        )
        find_target(judged, read_objective("", target=target), services, RunSettings())
    (event,) = journal.events()
    return read_as(SliceChosen, event.payload)


def decoy(rate: float) -> JudgedDataset:
    """Rows of which one origin has few positives, and this false positive rate where the others
    have .15.
    """
    rng = np.random.default_rng(5)
    origin = rng.choice(["poor", "rich"], 4000, p=[0.3, 0.7])
    label = rng.random(4000) < np.where(origin == "poor", 0.15, 0.7)
    wrong = rng.random(4000) < np.where(origin == "poor", rate, 0.15)
    said = np.where(label, rng.random(4000) < 0.9, wrong)
    return table({"origin": origin.tolist()}, label, said)


def test_what_was_put_down_to_the_base_rate_is_tried_by_its_false_positive_rate_first() -> None:
    """The gap in precision is mostly the base rate's, and still the judge errs more often there."""
    judged = decoy(0.22)
    report = find_slices(judged)
    assert report.slices[0].is_base_rate
    assert choose_target(report, "fp")[0] is None
    event = chosen_for(judged, "precision")
    assert (event.name, event.evidence) == ("origin = poor", "poorer by its false positive rate")
    assert "false positive rate 0.2" in event.why
    assert "alone" in event.why


def test_a_base_rate_without_more_errors_leaves_a_run_unguided() -> None:
    """With a lower rate of false positives than elsewhere it is no slice to read errors of; the
    rest is.
    """
    event = chosen_for(decoy(0.08), "precision")
    assert (event.name, event.evidence) == ("origin = rich", "poorest, untested")
    few = decoy(0.08).only(range(60))
    event = chosen_for(few, "precision")
    assert (event.name, event.predicate, event.evidence) == ("all rows", None, None)


def test_the_poorest_is_that_of_the_highest_rate_counted_by_hand() -> None:
    """Of all values with fifteen errors, in five groups; a value with fourteen is passed over,
    however poor.
    """
    rng = np.random.default_rng(1)
    kind = rng.choice(list("abcdef"), 1200)
    label, said = rng.random(1200) < 0.5, rng.random(1200) < 0.5
    kind[np.flatnonzero(label & ~said)[:14]] = "rare"
    judged = table({"kind": kind.tolist()}, label, said)
    rates = {}
    for value in "abcdef":
        positive = label & (kind == value)
        missed = positive & ~said
        if missed.sum() >= 15:
            rates[value] = missed.sum() / positive.sum()
    found = find_by_rate(judged, "fn")
    assert found is not None
    best = max(rates, key=lambda value: rates[value])
    assert (str(found.predicate), found.rate, found.p) == (
        f"kind = {best}",
        pytest.approx(rates[best]),
        None,
    )
    inside = label & (kind == best)
    assert (found.errors, found.n) == ((inside & ~said).sum(), inside.sum())
    assert found.describe().startswith(f"poorest, untested: kind = {best}, false negative rate ")


def test_without_a_direction_the_more_frequent_errors_are_read() -> None:
    rng = np.random.default_rng(2)
    kind = rng.choice(list("ab"), 800)
    label = rng.random(800) < 0.5
    judged = table(
        {"kind": kind.tolist()},
        label,
        np.where(label, rng.random(800) < 0.6, rng.random(800) < 0.05),
    )
    found = find_by_rate(judged, None)
    assert found is not None
    assert found.direction == "fn"
    assert find_by_rate(judged, "fp", [parse_predicate("kind = a")]) is None


@needs_data
def test_a_real_file_without_a_confirmed_slice_is_no_longer_read_unguided() -> None:
    """Of 4,423 verdicts no slice of precision is confirmed or likely; where words overlap half of
    the noes are yes.
    """
    judged = load_verdicts(VERDICTS / "llmjudge_test.Olz-gpt4o.jsonl")
    assert choose_target(find_slices(judged), "fp")[0] is None
    event = chosen_for(judged, "precision")
    assert (event.name, event.evidence) == ("metadata.overlap_bin = 1", "poorest, untested")
    assert event.why.startswith(
        "poorest, untested: metadata.overlap_bin = 1, false positive rate 0.500 against 0.087"
        " elsewhere (93 false positives in 186 rows). Before it: no slice is confirmed or likely"
    )
    assert event.predicate is not None
    assert event.gated is None  # nothing is known of it that the gate could ask about
    event = chosen_for(load_verdicts(VERDICTS / "wice_claim.gpt-4-0613.jsonl"), "precision")
    assert (event.predicate, event.evidence) == (None, None)


SCALE = OutputScale(kind="choice", labels=("orders", "support", "staff"))


def judged(seed: int, *, planted: bool) -> JudgedDataset:
    """Eight hundred rows, a twelfth of them wrong; planted, orders from the south are mostly called
    support.
    """
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, 800, p=(0.5, 0.35, 0.15))
    south, web = rng.random(800) < 0.3, rng.random(800) < 0.5
    verdicts = np.where(rng.random(800) < 1 / 12, (labels + rng.integers(1, 3, 800)) % 3, labels)
    if planted:
        verdicts = np.where(south & (labels == 0) & (rng.random(800) < 0.7), 1, verdicts)
    columns = {
        "region": np.where(south, "south", "north").tolist(),
        "channel": np.where(web, "web", "app").tolist(),
    }
    groups = [f"g{i // 2}" for i in range(800)]
    return judged_table(labels, verdicts, columns=columns, groups=groups, scale=SCALE)


def test_a_planted_confusion_is_confirmed_where_it_is_and_has_its_pair() -> None:
    """Its direction is the pair of classes, and nothing is called a false positive."""
    report = find_confusions(judged(1, planted=True))
    best = report.slices[0]
    assert str(best.predicate) == "region = south"
    assert best.prompt_target
    assert best.confusion == best.to_json()["direction"] == "orders -> support"
    assert best.metric == "orders not called support"
    assert best.value < 0.45 < 0.9 < best.rest
    assert "false" not in best.describe()
    assert "orders -> support" in report.notes[0]


def test_without_one_hardly_anything_is_confirmed() -> None:
    """Of forty tables without a slice few confirm any, although several pairs are searched."""
    confirmed = sum(
        any(one.confirmed for one in find_confusions(judged(k, planted=False)).slices)
        for k in range(40)
    )
    assert confirmed <= 4


def test_a_metric_of_one_class_counts_its_own_errors() -> None:
    """Recall counts rows of the class that are called another, precision others that are called
    it.
    """
    table = judged(1, planted=True)
    assert {pair.label for pair in confused_pairs(table, "recall[orders]")} == {"orders"}
    assert {pair.verdict for pair in confused_pairs(table, "precision[orders]")} == {"orders"}
    assert all("orders" in pair.name for pair in confused_pairs(table, "f1[orders]"))
    assert len(confused_pairs(table, "accuracy_grades")) == 6


def test_a_judge_that_decides_yes_or_no_confuses_no_classes() -> None:
    """It is refused by what its scale is."""
    table = judged(1, planted=False)
    yes_no = JudgedDataset(dataset=table.dataset, answers=table.answers, scale=OutputScale(high=2))
    with pytest.raises(InputError, match=r"0\.\.2"):
        find_confusions(yes_no)
