"""Tiny releases in their makers' own formats; every text is made up."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

RESPONSE = "The Brill bridge opened in 1911. It was built by Ada Kolm. Mr. Hale paid for it."


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Write rows as a CSV with a header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_jsonl(path: Path, rows: Sequence[object]) -> Path:
    """Write rows as JSON Lines."""
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


def _ragtruth(folder: Path) -> Path:
    folder.mkdir()
    span = {
        "label_type": "Evident Conflict",
        "meta": "a remark",
        "implicit_true": False,
        "due_to_null": False,
    }
    first, second = RESPONSE.index("Ada Kolm"), RESPONSE.index("1911")
    common = {"temperature": 0.7, "split": "test", "quality": "good"}
    write_jsonl(
        folder / "response.jsonl",
        [
            {"id": "1", "source_id": "s1", "model": "m-7b", "labels": [], "response": RESPONSE}
            | common,
            {
                "id": "2",
                "source_id": "s1",
                "model": "n-13b",
                "labels": [
                    span | {"start": first, "end": first + 8, "text": "Ada Kolm"},
                    span
                    | {
                        "start": second,
                        "end": second + 4,
                        "text": "1911",
                        "label_type": "Subtle Baseless Info",
                    }
                    | {"implicit_true": True},
                ],
                "response": RESPONSE,
            }
            | common,
            {
                "id": "3",
                "source_id": "s2",
                "model": "m-7b",
                "labels": [],
                "response": "Open on Monday.",
            }
            | common
            | {"quality": "truncated", "split": "train"},
        ],
    )
    write_jsonl(
        folder / "source_info.jsonl",
        [
            {
                "source_id": "s1",
                "task_type": "QA",
                "source": "MARCO",
                "source_info": {
                    "question": "who built the brill bridge",
                    "passages": "passage 1: Oda Kolm built it.",
                },
                "prompt": "Answer.",
            },
            {
                "source_id": "s2",
                "task_type": "Data2txt",
                "source": "Yelp",
                "source_info": {
                    "name": "Café Nord",
                    "hours": {"Monday": "9:0-17:0"},
                    "attributes": {"WiFi": None},
                },
                "prompt": "Describe.",
            },
        ],
    )
    return folder


def _trec(folder: Path) -> Path:
    folder.mkdir()
    (folder / "2019qrels-pass.txt").write_text("11 Q0 p1 3\n11 Q0 p2 0\n12 Q0 p3 1\n12 Q0 gone 2\n")
    (folder / "msmarco-test2019-queries.tsv").write_text(
        "11\twho was Odo Lamm\n12\tlarch bark\n13\tnever judged\n"
    )
    (folder / "collection.tsv").write_text(
        'p1\tOdo Lamm was a "quoted" baker.\np2\tA lamp.\nx9\tNot asked for.\np3\tBark of the larch'
        " is burnt.\n"
    )
    return folder / "2019qrels-pass.txt"


def _hotpotqa(path: Path) -> Path:
    answers = [
        "yes",
        "no",
        "1911",
        "March 3, 1950",
        "Oda Kolm",
        "Brill Bridge",
        "40,000",
        "seven",
        "Lake Tarn",
        "no",
    ]
    path.write_text(
        json.dumps(
            [
                {
                    "_id": f"h{i}",
                    "question": f"Made-up question {i}?",
                    "answer": answer,
                    "type": "bridge",
                    "level": "hard",
                    "supporting_facts": [["Brill", 0], ["Kolm", 1], ["Kolm", 2]],
                    "context": [["Brill", ["One.", "Two."]]],
                }
                for i, answer in enumerate(answers)
            ]
        )
    )
    return path


def _diras(path: Path) -> Path:
    row = {
        "Questions": "Does the firm name risks?",
        "Background": "Meaning of the question: risks, \nnamed.",
    }
    return write_csv(
        path,
        [
            row
            | {
                "Paragraphs": "We sell lamps.",
                "annotation_1": "No",
                "annotation_2": "no",
                "meta_annotation": "",
            }
            | {"hard": 0, "gold": "no"},
            row
            | {
                "Paragraphs": "Floods are a risk.",
                "annotation_1": "yes",
                "annotation_2": "partially",
            }
            | {"meta_annotation": "yes", "hard": 1, "gold": "yes"},
            row
            | {
                "Paragraphs": "Weather matters.",
                "annotation_1": "partially",
                "annotation_2": "partially",
            }
            | {"meta_annotation": "", "hard": 0, "gold": "partially"},
        ],
    )


def _climretrieve(path: Path) -> Path:
    row = {"report": "Lamp Corp 2030.pdf", "question": "Are targets set?"}
    more = {"relevant_text": "We aim at zero.", "relevant_text_sim": 0.95, "sim_text_relevance": 3}
    return write_csv(
        path,
        [
            {"": 0, "paragraph": "We aim at zero by 2040."} | row | {"relevance": 3} | more,
            {"": 1, "paragraph": "Our lamps."} | row | {"relevance": 0} | more,
        ],
    )


def _financebench(path: Path) -> Path:
    one = {
        "financebench_id": "fb_1",
        "model_name": "m",
        "eval_mode": "oracle",
        "question": "What was paid?",
    }
    two = one | {"financebench_id": "fb_2", "question": "Is it healthy?"}
    return write_jsonl(
        path,
        [
            one
            | {
                "gold_answer": 1577,
                "model_answer": "$1,577 million.",
                "label": "Correct Answer",
            },
            one
            | {
                "eval_mode": "closedBook",
                "gold_answer": 1577,
                "model_answer": "I do not know.",
                "label": "Refusal",
            },
            two | {"gold_answer": "No.", "model_answer": "Yes.", "label": "Incorrect Answer"},
            two | {"eval_mode": "x", "gold_answer": "No.", "model_answer": "", "label": "Refusal"},
        ],
    )


def _diras_checks(folder: Path) -> Path:
    folder.mkdir()
    pair = {
        "question": "When did they die out?",
        "document": "They died out 12,000 years ago.",
        "guess": "No.",
    }
    write_csv(
        folder / "asqa_test_data_98-100.csv",
        [
            pair | {"relevant": 0, "llama_guess": "Yes", "annotation": 1.0},
            pair
            | {
                "document": "A tortoise.",
                "relevant": 0,
                "llama_guess": "Yes",
                "annotation": 0,
            },
            pair
            | {
                "document": "Nobody looked.",
                "relevant": 1,
                "llama_guess": "No",
                "annotation": "",
            },
        ],
    )
    write_csv(
        folder / "rag_bench_test_data_0-90.csv",
        [pair | {"label": "gold", "llama_guess": "No", "annotation": 0}],
    )
    return folder


@pytest.fixture
def releases(tmp_path: Path) -> dict[str, Path]:
    """One tiny release of every source."""
    claims = [
        {"dataset": "RAGTruth", "doc": "Oda Kolm built it.", "claim": "Kolm built it.", "label": 1},
        {
            "dataset": "RAGTruth",
            "doc": "Oda  Kolm built it.",
            "claim": "Hale built it.",
            "label": 0,
        },
        {"dataset": "Reveal", "doc": "A lamp.", "claim": "It is a lamp.", "label": 1},
    ]
    return {
        "llm_aggrefact": write_csv(
            tmp_path / "dev.csv",
            [claim | {"contamination_identifier": "0" * 8} for claim in claims],
        ),
        "ragtruth": _ragtruth(tmp_path / "ragtruth"),
        "trec_dl": _trec(tmp_path / "trec"),
        "hotpotqa": _hotpotqa(tmp_path / "hotpot_dev_distractor_v1.json"),
        "diras": _diras(tmp_path / "chatreport_test.csv"),
        "climretrieve": _climretrieve(tmp_path / "ClimRetrieve_ReportLevel.csv"),
        "financebench": _financebench(tmp_path / "gpt-4_oracle.jsonl"),
        "diras_checks": _diras_checks(tmp_path / "general_qa_hand_eval"),
    }
