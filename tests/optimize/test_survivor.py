"""What goes to the gate: what promises most, another threshold among what competes; and when
nothing does.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from judgewright.judges import (
    Dataset,
    JudgePrompt,
    Registry,
    load_dataset,
)
from judgewright.judges.models import Client
from judgewright.judges.simulated import Simulated
from judgewright.optimize import (
    Belief,
    Chance,
    Changes,
    HumanEdit,
    Objective,
    Outcome,
    RunSettings,
    Services,
    optimize,
    read_objective,
)
from judgewright.optimize.changes import MetricByGroup
from judgewright.optimize.not_sent import NotSent
from judgewright.optimize.outcome import in_words
from judgewright.optimize.survivor import promised
from judgewright.runs.demo import write_demo_rows

from .in_memory import MemoryJournal, MemoryLedger

PROMPT = Registry().get("groundedness")
GUARDED = read_objective("", target="precision", guards=("recall:-0.05",))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """About three hundred made-up labelled rows."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_demo_rows(path, documents=90)
    return load_dataset(path, inputs=PROMPT.inputs, scale=PROMPT.scale)


def run_edit(
    data: Dataset,
    prompt: JudgePrompt,
    ledger: MemoryLedger,
    *,
    objective: Objective = GUARDED,
    edit: str = "Numbers and dates must match the source exactly.",
    **settings: Any,
) -> tuple[Outcome, dict[str, Any]]:
    """Run one edit through, and return the outcome with the last event of each kind."""
    journal = MemoryJournal()
    new = replace(prompt, criteria=f"{prompt.criteria}\n{edit}")
    with Client(Simulated()) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(HumanEdit(edit=new),),
            journal=journal,
            ledger=ledger,
            run_id="r",
        )
        outcome = optimize(
            prompt,
            data,
            objective,
            services,
            RunSettings(**{"steps": 1, "slice": "all", **settings}),
        )
    return outcome, {event.kind: event.payload for event in journal.events()}


def test_a_look_promises_more_of_a_likely_large_gain_than_of_a_sure_small_one() -> None:
    """What nobody accepts promises nothing, however large."""
    figures = {"precision": 0.0}
    candidates = {"small": (0.98, 0.03), "large": (0.7, 0.12), "hopeless": (0.0, 0.3)}
    ranks: dict[str, tuple[float, float]] = {}
    for name, (accepted, gain) in candidates.items():
        chance = Chance(accepted=accepted, target=1.0, guards={}, measured=figures,
                        expected=figures, error=figures, rows=100)  # fmt: skip
        belief = Belief(mean=np.array([gain]), covariance=np.zeros((1, 1)))
        ranks[name] = promised(chance, belief)
    assert sorted(ranks, key=ranks.__getitem__) == ["hopeless", "small", "large"]


def test_what_has_hardly_a_chance_is_not_sent_and_spends_no_look(data: Dataset) -> None:
    ledger = MemoryLedger()
    outcome, events = run_edit(data, PROMPT, ledger, least_chance=1.01)
    assert outcome.decision is None
    assert outcome.after is not None
    assert (events["decision"]["outcome"], events["decision"]["accepted"]) == ("not sent", False)
    reason = events["decision"]["reason"]
    assert reason.startswith(f"the best new prompt, {outcome.after.version}, changed precision by ")
    assert "so the holdout was not opened and its next test is as strict as before" in reason
    assert reason.endswith("test it on the holdout all the same: --gate-anyway")
    assert "%" not in reason
    assert not events["chance"]["sent"]
    assert ledger.history().records == []
    assert not events["everything"]["includes_sealed_rows"]


def test_what_is_not_sent_is_told_with_the_labels_and_the_guard_that_would_do() -> None:
    """The same promise on more groups, or under a looser guard; without either another prompt is
    asked for.
    """
    metric = MetricByGroup(
        name="precision",
        gain=np.tile([0.2, -0.05], 30),
        rows=np.full(60, 2.0),
        moved=np.ones(60, bool),
        old_rows=np.ones(60),
        new_rows=np.ones(60),
        sizes=np.full(60, 2.0),
    )
    lost = replace(metric, name="recall", gain=np.tile([-0.1, 0.0], 30))
    changes = Changes(metrics=(metric, lost), in_slice=None, floors=(), rows=120)
    figures = {"precision": 0.04, "recall": -0.03}
    chance = Chance(accepted=0.01, target=0.3, guards={"recall": 0.1}, measured=figures, expected=figures,  # noqa: E501
                    error={"precision": 0.02, "recall": 0.01}, rows=120)  # fmt: skip

    def explained(retry: Callable[[Objective, int], float]) -> str:
        return NotSent(version="abc", chance=chance, objective=GUARDED, changes=changes, alpha=0.03, rows=90,  # noqa: E501
                       groups=45, labelled=300, retry=retry).explain()  # fmt: skip

    more = explained(lambda aim, groups: 0.6 if groups >= 3 * 45 else 0.1)
    assert more.startswith(
        "the best new prompt, abc, changed precision by +0.040 (estimate for new rows +0.040 ±"
        " 0.020) and recall by -0.030 (estimate -0.030; a loss under 0.05 is allowed) on the open"
        " rows, but"
    )
    assert (
        "(1) label about 600 more rows: judgewright label --rows FILE --next 600; (2) test it"
        in more
    )
    looser = explained(lambda aim, groups: 0.6 if aim.guards[0].margin >= 0.1 else 0.1)
    assert "(1) loosen a guard, if you can: --guard recall=0.1; (2) test it" in looser
    both = explained(
        lambda aim, groups: 0.6 if aim.guards[0].margin >= 0.1 and groups > 45 else 0.1
    )
    assert (
        "(1) label about 300 more rows and loosen a guard, if you can: --guard recall=0.1; (2)"
        " test it" in both
    )
    assert "(1) find a better prompt, with" in explained(lambda aim, groups: 0.1)


@pytest.mark.parametrize(
    ("chance", "word"), [(0.0, "unlikely"), (0.19, "unlikely"), (0.2, "maybe"), (0.6, "likely")]
)
def test_a_chance_is_said_in_one_of_three_words(chance: float, word: str) -> None:
    assert in_words(chance) == word


def test_it_is_sent_all_the_same_where_that_was_asked_for(data: Dataset) -> None:
    ledger = MemoryLedger()
    outcome, events = run_edit(data, PROMPT, ledger, least_chance=1.01, gate_anyway=True)
    assert outcome.decision is not None
    assert events["chance"]["sent"]
    assert [record.look.purpose for record in ledger.history().records] == ["gate"]


def test_a_persons_edit_is_judged_on_every_open_row(data: Dataset) -> None:
    """It was written from no label, so that there is nothing to hold apart."""
    _, events = run_edit(data, PROMPT, MemoryLedger(), gate_anyway=True)
    chance, split = events["chance"], events["split"]["rows"]
    assert chance["rows"] == split["train"] + split["validation"]
    assert chance["holdout_rows"] == split["holdout"]
    assert (chance["folds"], chance.get("writing")) == (1, None)
    step = events["step"]
    assert (step["arm"], step.get("fold")) == ("human", None)
    assert step["validation_rows"] == chance["rows"]


def test_what_was_estimated_stands_beside_what_the_holdout_showed(data: Dataset) -> None:
    _, events = run_edit(data, PROMPT, MemoryLedger(), gate_anyway=True)
    chance, decision = events["chance"], events["decision"]
    best = chance["candidates"][chance["chosen"]]
    assert set(decision["estimated"]) == {"precision", "recall"}
    for metric, estimate in decision["estimated"].items():
        assert estimate["change"] == best["expected"][metric]
        assert estimate["error"] == best["error"][metric]


def test_an_edit_that_does_no_better_is_no_candidate_and_told_with_its_figures(
    data: Dataset,
) -> None:
    honest = read_objective("", target="brier")
    edit = "Give every statement a high score, however little supports it."
    outcome, events = run_edit(
        data, PROMPT, MemoryLedger(), edit=edit, objective=honest, gate_anyway=True
    )
    assert outcome.decision is None
    assert events["decision"]["outcome"] == "no candidate"
    assert "did better on the rows it was not written from" in events["decision"]["reason"]
    assert events["chance"]["chosen"] is None
    (edited,) = events["chance"]["candidates"]
    assert edited["measured"]["brier"] >= 0  # which is a loss


def test_a_threshold_alone_may_be_what_survives(data: Dataset) -> None:
    """A judge whose threshold is too high: nothing that is said in words mends what moving it
    mends.
    """
    strict = replace(PROMPT, scale=replace(PROMPT.scale, threshold=3.0))
    ledger, f1 = MemoryLedger(), read_objective("", target="f1")
    outcome, events = run_edit(data, strict, ledger, objective=f1, gate_anyway=True)
    rules = events["threshold"]["rules"]
    assert rules["old"]["threshold"] == 3.0
    assert rules["before"]["threshold"] < 3.0
    assert events["threshold"]["retuned"]["f1"]["difference"] > 0
    survivor = events["survivor"]
    assert survivor["rule"]["threshold"] < 3.0
    assert outcome.decision is not None
    assert outcome.decision.accepted
    # The look knows the prompt with its frozen rule, and the closing table decides by it.
    look = ledger.history().records[0].look
    assert look.after == f"{survivor['version']}+{survivor['rule']['version']}"
    after = events["everything"]["after"]["pooled"]["metrics"]["f1"]["value"]
    assert after > events["everything"]["before"]["pooled"]["metrics"]["f1"]["value"]
