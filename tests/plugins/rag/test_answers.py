"""Documents and questions read, answers graded and ways compared, against recomputation by hand and
scikit-learn.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from judgewright.judges import (
    Client,
    DataError,
    InputError,
    JudgeSettings,
    Registry,
    Simulated,
    Verdict,
)
from judgewright.plugins.rag.answers import (
    Chunking,
    GivenAnswer,
    Grader,
    Setup,
    compare_setups,
    correctness_inputs,
    grade_answers,
    read_documents,
    read_questions,
)
from judgewright.plugins.rag.answers.text_similarity import answer_similarity


def lines(path: Path, *rows: dict[str, object]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_documents_come_from_a_file_or_a_folder(tmp_path: Path) -> None:
    """Short columns say what a document is; in a folder its path does."""
    file = lines(
        tmp_path / "d.jsonl",
        {"id": "a", "title": "Firm A", "year": 2023, "text": "One.\r\nTwo.", "long": "x" * 300},
        {"id": "b", "title": None, "text": "Three."},
    )
    first, second = read_documents(file)
    assert (first.id, first.text, first.about) == ("a", "One.\nTwo.", "title: Firm A\nyear: 2023")
    assert second.about == ""
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "x.md").write_text("# X\n\nText.")
    (folder / "empty.txt").write_text(" ")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    assert [(d.id, d.about) for d in read_documents(folder)] == [("deep/x.md", "file: deep/x.md")]


def test_every_fault_of_a_file_is_named(tmp_path: Path) -> None:
    """With its line and field; nothing is skipped in silence."""
    bad = lines(tmp_path / "d.jsonl", {"id": "a", "text": "One."}, {"id": "a", "text": " "})
    with pytest.raises(DataError, match=r"(?s)line 2: field 'text'.*line 2: field 'id'"):
        read_documents(bad)
    with pytest.raises(DataError, match="no column holds the text"):
        read_documents(lines(tmp_path / "e.jsonl", {"id": "a", "words": "One."}))
    (tmp_path / "nothing").mkdir()
    with pytest.raises(DataError, match=r"no file that ends in \.md"):
        read_documents(tmp_path / "nothing")
    documents = read_documents(lines(tmp_path / "f.jsonl", {"id": "a", "text": "Rain\n  fell."}))
    asked = lines(
        tmp_path / "q.jsonl",
        {
            "question": "What fell?",
            "gold_answer": '["rain", "Rain"]',
            "document_id": "a",
            "evidence": "Rain fell.",
        },
        {"question": "", "gold_answer": "x", "document_id": "b", "evidence": ""},
        {"question": "What?", "gold_answer": None, "document_id": "a", "evidence": "Snow fell."},
    )
    with pytest.raises(DataError) as error:
        read_questions(asked, documents)
    for part in (
        "line 2: field 'question'",
        "no document 'b'",
        "line 3: field 'gold_answer'",
        "does not hold this",
    ):
        assert part in str(error.value)
    asked.write_text(asked.read_text().splitlines()[0] + "\n")
    (question,) = read_questions(asked, documents)
    assert (question.gold, question.document, question.evidence) == (("rain", "Rain"), 0, (0, 12))


def test_an_empty_answer_is_wrong_and_costs_nothing() -> None:
    """The judge is asked about the others alone."""
    prompt = Registry().get("answer_correctness")
    with Client(Simulated()) as client:
        given = [
            GivenAnswer(id=str(i), question="Who?", gold=("Ann",), answer=text)
            for i, text in enumerate(("", "Ann"))
        ]
        judged = grade_answers(prompt, given, client)
        assert client.stats.calls == 1
    empty = judged.answers[0]
    assert isinstance(empty, Verdict)
    assert (empty.positive, empty.score) == (False, prompt.scale.low)
    with pytest.raises(InputError, match="question, a right answer and an answer"):
        correctness_inputs(Registry().get("groundedness").inputs, "the judge")


def test_the_table_follows_from_the_outcomes(tmp_path: Path) -> None:
    """Every share is the mean of what is written for each question, and changes are paired by
    question.
    """
    texts = {
        "north": (
            "# North\n\nThe river has three bridges. The mayor is Ann Ode.\n\nThe fair begins in"
            " May."
        ),
        "south": (
            "# South\n\nThe river has nine bridges. The mayor is Bob Pim.\n\nThe fair begins in"
            " June."
        ),
    }
    documents = read_documents(
        lines(
            tmp_path / "d.jsonl",
            *[dict[str, object](id=name, title=name, text=text) for name, text in texts.items()],
        )
    )
    rows: list[dict[str, object]] = []
    for name, mayor, month in (("north", "Ann Ode", "May"), ("south", "Bob Pim", "June")):
        rows.append(
            {
                "question": f"Who is the mayor of {name}?",
                "gold_answer": mayor,
                "document_id": name,
                "evidence": f"The mayor is {mayor}.",
            }
        )
        rows.append(
            {
                "question": f"When does the fair of {name} begin?",
                "gold_answer": month,
                "document_id": name,
                "evidence": f"The fair begins in {month}.",
            }
        )
    rows.append(
        {
            "question": "Who wrote Hamlet?",
            "gold_answer": "Shakespeare",
            "document_id": None,
            "evidence": None,
        }
    )
    questions = read_questions(lines(tmp_path / "q.jsonl", *rows), documents)
    chunking = Chunking(size=60, overlap=0)
    setups = [
        Setup(chunking=chunking, context="none", k=1),
        Setup(chunking=chunking, context="document", k=2),
    ]
    prompt = Registry().get("answer_correctness")
    with Client(Simulated()) as client:
        grader = Grader(prompt=prompt, client=client, rule=None, settings=JudgeSettings())
        (plain, titled), simulated = compare_setups(
            documents, questions, setups, answering=client, grader=grader
        )
        paid = client.stats.calls
        compare_setups(documents, questions, setups, answering=client, grader=grader)
        assert client.stats.calls == paid
    assert simulated
    assert titled.evidence.value == 1.0
    for result in (plain, titled):
        known = [o.document_found for o in result.outcomes if o.document_found is not None]
        assert len(known) == 4
        assert result.document.value == pytest.approx(np.mean(known))
        assert result.correct.value == pytest.approx(
            np.mean([bool(o.correct) for o in result.outcomes])
        )
        near = [
            answer_similarity(o.answer or "", q.gold)
            for o, q in zip(result.outcomes, questions, strict=True)
        ]
        assert result.anls.value == pytest.approx(np.mean(near))
        assert result.outcomes[-1].evidence_found is None
        assert result.outcomes[-1].answer == ""
        assert (result.empty, result.failed) == (sum(o.answer == "" for o in result.outcomes), 0)
    assert plain.change is None
    assert titled.change is not None
    changes = [
        float(bool(b.correct)) - float(bool(a.correct))
        for a, b in zip(plain.outcomes, titled.outcomes, strict=True)
    ]
    assert titled.change.value == pytest.approx(np.mean(changes))
