"""A student against scikit-learn and brute force: what it learns, from whom, and what it never
sees.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from judgewright.judges import (
    BINARY,
    Answer,
    Completion,
    DataError,
    Dataset,
    InputError,
    JudgedDataset,
    Registry,
    Row,
    Unscored,
    Verdict,
    measure,
    read_reply,
)
from judgewright.plugins.students import (
    FEATURES,
    StudentSettings,
    TextPair,
    WordWeights,
    chat_data,
    read_student,
    train_student,
    write_student,
)

NOUNS = (
    "hotel",
    "river",
    "garden",
    "museum",
    "bridge",
    "market",
    "castle",
    "harbour",
    "forest",
    "station",
)


def taught(groups: int = 40, *, seed: int = 0) -> JudgedDataset:
    """Statements about sources: the teacher says yes where all words are there, people do nearly
    always.
    """
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    answers: list[Answer] = []
    for group in range(groups):
        there = rng.choice(NOUNS, 5, replace=False)
        source = (
            f"The place {group} has a {there[0]}, a {there[1]} and a {there[2]}. Near it is a"
            f" {there[3]}."
        )
        for i in range(6):
            yes = bool(rng.random() < 0.5)
            said = (
                there[int(rng.integers(4))]
                if yes
                else str(rng.choice([n for n in NOUNS if n not in there]))
            )
            label = float(yes) if rng.random() < 0.95 else float(not yes)
            inputs = {"source": source, "statement": f"The place has a {said}."}
            rows.append(Row(id=f"{group}-{i}", inputs=inputs, label=label, group=f"g{group}"))
            rationale = f"the {said} is {'there' if yes else 'not there'}"
            answers.append(
                Verdict(
                    row_id=rows[-1].id,
                    score=float(yes),
                    positive=yes,
                    rationale=rationale,
                    parser="file",
                )
            )
    return JudgedDataset(
        dataset=Dataset.of(rows, labels=BINARY),
        answers=tuple(answers),
        scale=BINARY,
        judge="t@1",
        model="m",
    )


@pytest.mark.slow
def test_a_student_learns_what_can_be_learned_and_is_measured_as_scikit_learn_does() -> None:
    """On held-out groups it is as good as its teacher; all figures are on the same rows."""
    teacher = taught()
    trained = train_student(teacher)
    people = np.array([row.label for row in teacher.dataset.rows])
    decided = {"teacher": trained.teacher, "student": trained.held_out}
    found = {name: measure(judged).metrics["f1"].value for name, judged in decided.items()}
    for name, judged in decided.items():
        assert found[name] == pytest.approx(f1_score(people, [a.positive for a in judged.answers]))  # type: ignore[union-attr]
    assert found["teacher"] is not None
    assert found["student"] is not None
    assert found["student"] > found["teacher"] - 0.05
    assert trained.held_out.states_probability
    assert (trained.student.inputs, trained.student.rows) == (("source", "statement"), 240)


def test_its_probability_is_that_of_scikit_learns_regression(tmp_path: Path) -> None:
    """With the features that are kept, through the file and back."""
    teacher = taught()
    student = train_student(teacher).student
    pairs = [
        TextPair.of(row.inputs["source"], row.inputs["statement"]) for row in teacher.dataset.rows
    ]
    scaled = (student.words.features(pairs) - student.centre) / student.spread
    learned = np.array([isinstance(a, Verdict) and a.positive for a in teacher.answers])
    near = [
        LogisticRegression(C=penalty, max_iter=5000)
        .fit(scaled, learned)
        .predict_proba(scaled)[:, 1]
        for penalty in (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    ]
    mine = student.probabilities(pairs)
    assert min(float(np.abs(mine - theirs).max()) for theirs in near) < 1e-6
    write_student(student, tmp_path / "s.json")
    assert (
        read_student(tmp_path / "s.json").judge(teacher.dataset).answers
        == student.judge(teacher.dataset).answers
    )
    row = teacher.dataset.rows[0]
    answer = student.judge(teacher.dataset).answers[0]
    assert isinstance(answer, Verdict)
    assert student({"id": row.id, **row.inputs}) is answer.positive
    assert student({"source": "x"}) is None


@pytest.mark.slow
def test_people_teach_nothing_and_a_group_is_judged_by_a_student_that_never_saw_it() -> None:
    """Other labels change no student; other verdicts of a group leave its own held-out verdicts as
    they were.
    """
    teacher = taught()
    turned = [replace(row, label=1.0 - (row.label or 0.0)) for row in teacher.dataset.rows]
    other = replace(teacher, dataset=Dataset.of(turned, labels=BINARY))
    first = train_student(teacher)
    assert train_student(other).student.to_json() == first.student.to_json()
    inside = [row.group == "g3" for row in teacher.dataset.rows]
    answers = [
        (
            replace(a, positive=not a.positive, score=1 - a.score)
            if there and isinstance(a, Verdict)
            else a
        )
        for a, there in zip(teacher.answers, inside, strict=True)
    ]
    changed = train_student(replace(teacher, answers=tuple(answers)))
    pairs = list(zip(first.held_out.answers, changed.held_out.answers, inside, strict=True))
    assert all(before == after for before, after, there in pairs if there)
    assert any(before != after for before, after, there in pairs if not there)


def test_features_are_what_they_are_called() -> None:
    """Each of them by hand, on one pair; idf by its definition."""
    texts = [
        (
            "The Old Bridge fell. It did not cost 40 lives. River!",
            "Old Bridge cost 40 or 50 lives in Rome?",
        )
    ]
    texts += [("a b", "old c"), ("old x", "y z")]
    pairs = [TextPair.of(*one) for one in texts]
    weights = WordWeights.of(pairs)
    assert weights.of_word("old") == pytest.approx(math.log(7 / 5) + 1)
    assert weights.of_word("bridge") == pytest.approx(math.log(7 / 3) + 1)
    assert weights.of_word("lives") == weights.of_word("bridge")
    assert weights.of_word("rome") == weights.rarest == pytest.approx(math.log(7 / 2) + 1)
    found = dict(zip(FEATURES, weights.features(pairs)[0].tolist(), strict=True))
    old, twice, rare = (weights.of_word(word) for word in ("old", "bridge", "rome"))
    total = old + 4 * twice + 4 * rare  # bridge, cost, 40, lives; or, 50, in, rome
    assert found["words covered"] == pytest.approx((old + 4 * twice) / total)
    assert found["words covered evenly"] == pytest.approx(5 / 9)
    assert found["pairs covered"] == pytest.approx(2 / 8)  # old bridge, cost 40
    assert found["triples covered"] == 0
    assert found["best sentence"] == pytest.approx(3 * twice / total)  # cost 40 lives
    assert found["frequency"] == pytest.approx(math.log(2) * (old + 4 * twice) / 9)
    assert (found["rarest missing"], found["second rarest missing"]) == (rare, rare)
    assert (found["numbers covered"], found["numbers missing"]) == (0.5, 1.0)
    assert (found["names covered"], found["names missing"]) == (0.5, 1.0)  # Bridge, Rome
    assert found["negation differs"] == 1.0
    assert found["first place"] == pytest.approx(1 / 11)
    assert (found["length"], found["length of the shorter"]) == (math.log(12), math.log(10))
    assert found["question"] == 1.0
    assert 0 < found["cosine"] < 1
    assert 0 < found["letters covered"] < 1
    empty = weights.features([TextPair.of("", "")])
    assert np.isfinite(empty).all()


def test_a_chat_says_what_the_teacher_said_and_no_group_is_in_both_parts() -> None:
    """Its reply is read as the teacher's verdict by the prompt that goes with it; people's labels
    are not in it.
    """
    teacher = taught()
    silent = [Unscored(row_id="0-0", reason="parse"), *teacher.answers[1:]]
    chats = chat_data(replace(teacher, answers=tuple(silent)), Registry().get("groundedness"))
    assert chats.left_out == {"the teacher has no verdict": 1}
    assert (len(chats.train) + len(chats.held_out), chats.groups) == (239, (32, 8))
    held = {row_id.partition("-")[0] for row_id in chats.held_out_ids}
    by_id = {answer.row_id: answer for answer in teacher.answers}
    rest = [row for row in teacher.dataset.rows if row.group[1:] not in held and row.id != "0-0"]
    for row, chat in zip(rest, chats.train, strict=True):
        *asked, reply = chat["messages"]
        assert [(m["role"], m["content"]) for m in asked] == [
            (m.role, m.content) for m in chats.prompt.messages(row)
        ]
        read = read_reply(chats.prompt, Completion(text=reply["content"]), row_id=row.id)
        theirs = by_id[row.id]
        assert isinstance(read, Verdict)
        assert isinstance(theirs, Verdict)
        assert (read.score, read.positive) == (theirs.score, theirs.positive)
        assert "label" not in json.loads(reply["content"])
    assert Registry().get("groundedness").version == chats.prompt.parent


def test_too_little_to_learn_from_is_refused() -> None:
    """No verdict, no texts, one decision, one group, a choice of texts that nobody made."""
    teacher = taught(4)
    none = tuple(Unscored(row_id=a.row_id, reason="parse") for a in teacher.answers)
    with pytest.raises(InputError, match="no row has a verdict"):
        train_student(replace(teacher, answers=none))
    with pytest.raises(InputError, match="no row with a verdict has the texts 'a' and 'b'"):
        train_student(teacher, StudentSettings(inputs=("a", "b")))
    yes = tuple(Verdict(row_id=a.row_id, score=1.0, positive=True) for a in teacher.answers)
    with pytest.raises(InputError, match="are negative; a rule needs 5 of each class"):
        train_student(replace(teacher, answers=yes))
    three = [replace(row, inputs={**row.inputs, "note": "x"}) for row in teacher.dataset.rows]
    with pytest.raises(
        InputError, match="rows have the texts source, statement, note, and a student reads two"
    ):
        train_student(replace(teacher, dataset=Dataset.of(three, labels=BINARY)))
    one = [replace(row, group="g") for row in teacher.dataset.rows]
    with pytest.raises(InputError, match="of one group"):
        chat_data(
            replace(teacher, dataset=Dataset.of(one, labels=BINARY)), Registry().get("groundedness")
        )
    with pytest.raises(InputError, match="nothing to train on: there is no text 'query'"):
        chat_data(teacher, Registry().get("context_relevance"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "teacher"}, "is no student"),
        ({"format": 2}, "its format is 2"),
        ({"features": {}}, "is damaged"),
        ({"rule": {"threshold": None}}, "is damaged"),
    ],
)
def test_a_damaged_student_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    """The file is named."""
    body = train_student(taught()).student.to_json() | change
    (tmp_path / "s.json").write_text(json.dumps(body))
    with pytest.raises(DataError, match=r"s\.json") as error:
        read_student(tmp_path / "s.json")
    assert message in str(error.value)
