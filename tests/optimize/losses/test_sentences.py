"""What people wrote: never guessed, put to a model as data, taken as it read them after a yes."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from judgewright.judges import JudgePrompt, OutputScale, Registry
from judgewright.optimize import ModelReading, Objective, Unsettled, read_objective
from judgewright.optimize.losses import ClassNames, parse_reading, reading_request
from judgewright.optimize.losses.exact import read_exact

SENTENCES: dict[str, list[dict[str, str]]] = yaml.safe_load(
    (Path(__file__).parent / "sentences.yaml").read_text("utf-8")
)
TOXICITY = JudgePrompt(
    name="toxicity",
    system="You judge.",
    criteria="Insults are toxic.",
    scale=OutputScale(
        kind="binary", labels=("no", "yes"), threshold=1, anchors={"yes": "The answer is toxic."}
    ),
    template="{{answer}}",
    reply="Answer yes or no.",
    reply_schema={"score": "score"},
)
JUDGES = {
    "groundedness": Registry().get("groundedness"),
    "toxicity": TOXICITY,
    "routing": Registry().get("routing"),
}
CASES = [(name, row["text"], row["means"]) for name, rows in SENTENCES.items() for row in rows]


def reply_of(text: str, meaning: str) -> dict[str, Any]:
    """Return the reply of a model that reads a sentence so."""
    body: dict[str, Any] = {
        "target": None,
        "direction": None,
        "quote": text,
        "guards": [],
        "floors": [],
        "slices": [],
        "unplaced": [],
    }
    if meaning == "asked":
        return body | {"unplaced": [text]}
    body["target"], *rest = meaning.split()
    for word in rest:
        metric, floor, value = word.partition(">=")
        if floor:
            body["floors"].append({"metric": metric, "at_least": float(value), "quote": text})
        elif word in ("fp", "fn"):
            body["direction"] = word
        else:
            metric, _, value = word.rpartition("-")
            # An amount that the words do not have is the usual one, for the words that guard it.
            quote = text if any(one.isdigit() for one in text) else text.split()[0]
            body["guards"].append({"metric": metric, "loss": float(value), "quote": quote})
    return body


def meaning_of(objective: Objective) -> str:
    """Return what was settled, but for the guards that nobody spoke of."""
    unsaid = {note.split()[3] for note in objective.notes if note.startswith("no guard on")}
    if any("macro F1 may fall" in note for note in objective.notes):
        unsaid.add("f1_macro_grades")
    words = [objective.target, *([objective.direction] if objective.direction else [])]
    words += [
        f"{one.metric}-{one.margin:g}" for one in objective.guards if one.metric not in unsaid
    ]
    return " ".join([*words, *(f"{one.metric}>={one.value:g}" for one in objective.floors)])


@pytest.mark.parametrize("name", JUDGES)
def test_no_sentence_is_guessed_without_a_model(name: str) -> None:
    """Each is asked about, with the options to give; the two in exact words are taken."""
    exact: list[str] = []
    hints: list[str | None] = []
    for row in SENTENCES[name]:
        try:
            objective = read_objective(row["text"], judge=JUDGES[name], yes=True)
        except Unsettled as stop:
            hints.append(stop.hint)
        else:
            assert meaning_of(objective) == row["means"]
            exact.append(row["text"])
    assert exact == (["raise macro F1", "raise kappa"] if name == "routing" else [])
    assert all(hint and "settle it with --target " in hint for hint in hints)


@pytest.mark.parametrize(("name", "text", "meaning"), CASES)
def test_a_models_reading_wants_a_yes_and_is_then_taken(name: str, text: str, meaning: str) -> None:
    """It is echoed first; where it has no target a yes takes nothing."""
    judge = JUDGES[name]
    classes = ClassNames.of(judge.scale)
    request = reading_request(text, judge, ())
    assert json.dumps(text, ensure_ascii=False) in request.messages[-1].content
    if read_exact(text, classes, {}).target is not None:
        return
    reading = parse_reading(json.dumps(reply_of(text, meaning)), text, (), classes)
    model = ModelReading(model="m", reading=reading)
    with pytest.raises(Unsettled) as stop:
        read_objective(text, judge=judge, model=model)
    assert f"m read: {reading.describe()}" in str(stop.value)
    assert ("--yes takes this reading" in (stop.value.hint or "")) == (meaning != "asked")
    if meaning == "asked":
        with pytest.raises(Unsettled, match="no target"):
            read_objective(text, judge=judge, model=model, yes=True)
        return
    objective = read_objective(text, judge=judge, model=model, yes=True)
    assert meaning_of(objective) == meaning
    assert "read by m, and confirmed" in objective.notes
