"""A judge that chooses among classes goes the whole way: confused pair, loss, search, gate."""

from __future__ import annotations

import json
import random

import pytest

from judgewright.judges import Client, Dataset, LossError, Registry, Row, Simulated, split_dataset
from judgewright.judges.models import Completion, Request
from judgewright.optimize import (
    Guard,
    HumanEdit,
    Objective,
    Outcome,
    Proposer,
    Rewrite,
    RunSettings,
    Services,
    TextGrad,
    optimize,
)
from judgewright.optimize.losses import Loss, compile_expression

from .in_memory import MemoryJournal, MemoryLedger

PROMPT = Registry().get("routing")
RULE = "Bills that somebody calls about are a matter of orders."
EDIT = PROMPT.edited(criteria=f"{PROMPT.criteria}\n{RULE}")
WORDS = {"invoice": "orders", "stock": "inventory", "ticket": "support", "salary": "staff"}


class Router:
    """A judge that routes by a word, and calls bills that people call about support until it is
    told otherwise.

    A tenth of its answers is wrong whatever it is told. Requests of an optimizer go to the
    simulated model.
    """

    name, endpoint, simulated = "router", "test", False

    def __init__(self) -> None:
        self.optimizer, self.asked = Simulated(), list[Request]()

    async def complete(
        self, request: Request, *, unsupported_parameters: frozenset[str] = frozenset()
    ) -> Completion:
        """Answer."""
        self.asked.append(request)
        if request.purpose != "judge":
            return await self.optimizer.complete(
                request, unsupported_parameters=unsupported_parameters
            )
        question = request.messages[-1].content
        label = next((label for word, label in WORDS.items() if word in question), "orders")
        if "call about a bill" in question and RULE not in request.messages[0].content:
            label = "support"
        if "misprint" in question:
            label = "staff" if label != "staff" else "support"
        return Completion(text=json.dumps({"reason": "a word", "label": label, "confidence": 0.8}))

    async def close(self) -> None:
        """Close the optimizer."""
        await self.optimizer.close()


@pytest.fixture(scope="module")
def data() -> Dataset:
    """Twelve hundred questions; those about orders from the south are calls about bills."""
    draw = random.Random(5)
    rows = []
    for i in range(1200):
        label = draw.choices(list(WORDS.values()), (0.4, 0.3, 0.2, 0.1))[0]
        word = next(word for word, own in WORDS.items() if own == label)
        region = draw.choice(["north", "south", "east"])
        if label == "orders" and region == "south" and draw.random() < 0.7:
            word = "call about a bill"
        if draw.random() < 0.1:
            word += " misprint"
        rows.append(
            Row(
                id=f"q{i}",
                inputs={"question": f"Question {i}: {word}, week {draw.randrange(50)}?"},
                label=float(PROMPT.scale.labels.index(label)),
                group=f"g{i // 2}",
                meta={"region": region, "channel": draw.choice(["web", "app"])},
            )
        )
    return Dataset.of(rows, labels=PROMPT.scale, name="questions")


def run(
    data: Dataset, proposer: Proposer, objective: Objective, model: Router, **settings: object
) -> tuple[Outcome, MemoryJournal]:
    """Run once."""
    journal = MemoryJournal()
    with Client(model) as client:
        services = Services(
            judge_client=client,
            optimizer_client=client,
            proposers=(proposer,),
            journal=journal,
            ledger=MemoryLedger(),
            run_id="r",
        )
        outcome = optimize(
            PROMPT, data, objective, services, RunSettings(**{"steps": 2, **settings})
        )  # type: ignore[arg-type]
    return outcome, journal


@pytest.mark.parametrize(
    "objective",
    [
        Objective(
            text="macro F1 matters",
            target="f1_macro_grades",
            direction=None,
            guards=(Guard(metric="accuracy_grades", margin=0.05),),
        ),
        Objective(
            text="do not call orders support",
            target="recall[orders]",
            direction=None,
            guards=(Guard(metric="f1_macro_grades", margin=0.05),),
        ),
    ],
    ids=["macro F1", "recall of a class"],
)
def test_a_confused_pair_is_found_charged_and_mended(data: Dataset, objective: Objective) -> None:
    """The slice is where orders are called support; a good edit passes the gate with its guard."""
    outcome, journal = run(data, HumanEdit(edit=EDIT), objective, Router())
    events = {event.kind: event.payload for event in journal.events()}
    assert outcome.target.name == "region = south"
    chosen = events["slice"]["found"][0]
    assert (chosen["direction"], chosen["metric"]) == (
        "orders -> support",
        "orders not called support",
    )
    assert outcome.loss.written_by != "default"
    costs = events["loss"]["cost_table"]
    assert {line["label"] for line in costs} == {"orders", "inventory", "support", "staff"}
    assert all(line[f"called {line['label']}"] == 0.0 for line in costs)
    assert outcome.decision is not None
    assert outcome.decision.outcome == "accepted", outcome.decision.reason
    assert outcome.decision.target is not None
    assert outcome.decision.target.metric == objective.target
    assert events["threshold"]["reason"].startswith(
        "the judge chooses among labels without an order"
    )
    everything = events["everything"]
    assert everything["after"]["pooled"]["metrics"]["f1_macro_grades"]["value"] > 0.8


@pytest.mark.parametrize("proposer", [TextGrad(), Rewrite()], ids=["textgrad", "rewrite"])
def test_a_proposer_reads_which_class_was_called_which(data: Dataset, proposer: Proposer) -> None:
    """The critique names classes and never positives; an edit that mends nothing is not kept."""
    model = Router()
    objective = Objective(text="accuracy", target="accuracy_grades", direction=None)
    outcome, _ = run(data, proposer, objective, model)
    said = "\n".join(m.content for r in model.asked if r.purpose == "optimizer" for m in r.messages)
    assert "'orders' called 'support'" in said
    assert "people: orders" in said
    assert ", false positive, loss" not in said
    assert outcome.after is None


def test_a_persons_loss_over_classes_is_followed(data: Dataset) -> None:
    """It is frozen as it was written, and one that lets an error go free is refused."""
    text = "(1 if label == 'orders' and verdict == 'support' else 0.3) * (1 - correct)"
    objective = Objective(text="accuracy", target="accuracy_grades", direction=None)
    own = Loss(expression=compile_expression(text))
    outcome, journal = run(
        data, HumanEdit(edit=EDIT), objective, Router(), loss=own, slice="all", steps=1
    )
    assert outcome.loss is own
    (frozen,) = [event.payload for event in journal.events() if event.kind == "loss"]
    (line,) = [
        line
        for line in frozen["cost_table"]
        if line["label"] == "orders" and line["confidence"] == 0.9
    ]
    assert (line["called support"], line["called staff"]) == (1.0, 0.3)
    free = Loss(expression=compile_expression("1 - (label == verdict or label == 'staff')"))
    with pytest.raises(LossError, match="a wrong class costs nothing extra"):
        run(data, HumanEdit(edit=EDIT), objective, Router(), loss=free, slice="all", steps=1)


def test_the_parts_of_a_split_are_alike_in_classes(data: Dataset) -> None:
    """The rarest class is in every part in its share, not only in two halves at a threshold."""
    parts = split_dataset(data)
    for part in (parts.train, parts.validation):
        share = sum(row.label == 3.0 for row in part.rows) / len(part)
        assert share == pytest.approx(
            sum(row.label == 3.0 for row in data.rows) / len(data), abs=0.02
        )
