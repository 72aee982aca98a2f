"""Columns become readable conditions, and those that give the label away are found without being
told.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import (
    BINARY,
    Dataset,
    InputError,
    JudgedDataset,
    OutputScale,
    Row,
    Scalar,
    Verdict,
)
from judgewright.judges.files import load_verdicts
from judgewright.slices import (
    MAX_VALUES,
    Missing,
    Outcomes,
    convention_reason,
    encode,
    leak_reason,
    read_features,
    readable_edges,
    uncertainty_coefficient,
)

from ..judged_tables import judged_table

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def judged_of(
    labels: list[float],
    columns: dict[str, list[Scalar]],
    groups: list[str] | None = None,
    seed: int = 0,
) -> JudgedDataset:
    """A table with these labels and columns and a coin-tossing judge."""
    coin = np.random.default_rng(seed).random(len(labels)) < 0.5
    return judged_table(labels, coin, columns=columns, groups=groups)


def column_of(judged: JudgedDataset, name: str) -> list[Scalar]:
    """The values of one metadata column."""
    return [row.meta.get(name) for row in judged.rows]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.integers(-50, 50), st.floats(-1e6, 1e6), st.just(math.nan)),
        min_size=1,
        max_size=80,
    )
)
def test_every_row_satisfies_the_condition_of_its_code(values: list[Scalar]) -> None:
    """A code stands for exactly the rows for which its condition holds."""
    column = encode("a", values)
    for code, condition in enumerate(column.conditions):
        assert condition is not None
        assert [condition.holds(value) for value in values] == (column.codes == code).tolist()


def test_rare_values_are_folded_and_not_searched() -> None:
    """Beyond the 64 most frequent values there is one code without a condition; missing stays its
    own.
    """
    values: list[Scalar] = (
        [f"v{i:03}" for i in range(200) for _ in range(2)] + ["often"] * 50 + [None] * 7
    )
    column = encode("a", values)
    assert len(column.conditions) == MAX_VALUES + 2
    assert column.conditions[-1] is None
    assert isinstance(column.conditions[-2], Missing)
    assert (column.codes == MAX_VALUES).sum() == 7
    assert str(column.conditions[0]) == "a = often"


def test_numbers_are_cut_at_readable_places() -> None:
    """Edges have few digits and bins of about equal size."""
    known = np.random.default_rng(0).lognormal(5, 1, 2000)
    edges = readable_edges(known)
    assert len(edges) == 9
    assert all(edge == float(f"{edge:.2g}") for edge in edges)
    counts = np.bincount(np.searchsorted(edges, known, side="right"))
    assert counts.min() > 120
    assert readable_edges(np.array([1.0] * 50 + [2.0] * 50)) == (2.0,)


def test_columns_are_left_out_with_the_reason() -> None:
    """Constant, unique, group-naming, duplicated, label-named and excluded columns each say why."""
    rng = np.random.default_rng(0)
    n = 400
    groups = [f"g{i // 4}" for i in range(n)]
    kind = rng.choice(["a", "b", "c"], n).tolist()
    labels = (rng.random(n) < 0.5).astype(float).tolist()
    columns: dict[str, list[Scalar]] = {
        "kind": kind,
        "kind_again": [{"a": "x", "b": "y", "c": "z"}[k] for k in kind],
        "constant": ["same"] * n,
        "key": [f"k{i}" for i in range(n)],
        "document": [f"d{g}" for g in groups],
        "gold_note": rng.choice(["p", "q"], n).tolist(),
        "mine": rng.choice(["p", "q"], n).tolist(),
        "copy": ["yes" if y else "no" for y in labels],
    }
    found = read_features(judged_of(labels, columns, groups), exclude=["mine"])
    assert [column.name for column in found.columns] == ["kind"]
    for name, reason in {
        "kind_again": "exactly as 'kind'",
        "constant": "one value",
        "key": "value of its own",
        "document": "one group only",
        "gold_note": "by convention",
        "mine": "on request",
        "copy": "gives the label away",
    }.items():
        assert reason in found.left_out[name]


def test_an_unknown_column_is_refused_with_near_names() -> None:
    """A misspelt column is an error, not an empty search."""
    judged = judged_of([0.0, 1.0], {"dataset": ["a", "b"]})
    with pytest.raises(InputError, match=r"'datset'.*dataset"):
        read_features(judged, columns=["datset"])
    with pytest.raises(InputError, match="'datset'"):
        read_features(judged, exclude=["datset"])


def test_high_cardinality_is_not_taken_for_a_leak() -> None:
    """A column that names groups explains nothing on held-out groups, however pure its values."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(100), 5)
    label = np.repeat(rng.random(100) < 0.5, 5)
    assert uncertainty_coefficient(groups, label, groups) < 0.05
    assert uncertainty_coefficient(label.astype(np.int64), label, groups) > 0.95
    assert uncertainty_coefficient(rng.integers(0, 4, 500), label, groups) < 0.05


def load(name: str, threshold: float) -> JudgedDataset:
    """A real file with every column but id and label as metadata, and a coin-tossing judge."""
    path = DATA / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the checkout")
    with path.open(encoding="utf-8") as lines:
        table = [json.loads(line) for line in lines]
    rows = tuple(
        Row(
            id=row["id"],
            inputs={},
            label=float(row["label"]),
            meta={k: v for k, v in row.items() if k not in ("id", "label", "group_id")},
            group=row["group_id"],
        )
        for row in table
    )
    coin = np.random.default_rng(0).random(len(rows)) < 0.5
    answers = tuple(
        Verdict(row_id=r.id, score=float(p), positive=bool(p))
        for r, p in zip(rows, coin, strict=True)
    )
    scale = OutputScale(kind="probability", threshold=threshold)
    return JudgedDataset(dataset=Dataset(rows=rows, labels=scale), answers=answers, scale=BINARY)


@pytest.mark.parametrize(
    ("name", "threshold", "leaking", "honest"),
    [
        (
            "groundedness_multi",
            0.5,
            ["label_raw", "hallucinated_text", "error_type"],
            [
                "dataset",
                "task_type",
                "granularity",
                "model",
                "domain",
                "source_words",
                "agreement",
                "n_annotators",
            ],
        ),
        (
            "groundedness_ragtruth_qa_response",
            0.5,
            ["label_raw", "error_type", "hallucinated_text", "n_spans"],
            ["model"],
        ),
        (
            "groundedness_ragtruth_qa_sentence",
            0.5,
            ["label_raw", "error_type", "hallucinated_text", "n_spans", "implicit_true_only"],
            ["model", "quality", "sentence_idx", "statement_words"],
        ),
        ("groundedness_wice", 0.5, ["label_raw"], ["n_supporting_sentences", "source_words"]),
        (
            "groundedness_expertqa",
            0.5,
            ["label_raw"],
            ["domain", "question_type", "model", "informativeness", "source_reliability"],
        ),
        (
            "context_relevance_handeval",
            0.5,
            ["label_raw", "label_norm"],
            ["dataset", "query_term_overlap"],
        ),
        ("context_relevance_noveleval", 1, ["label_raw", "label_norm"], ["passage_words"]),
        (
            "answer_relevance_human",
            0.5,
            ["label_raw"],
            ["dataset", "generator", "agreement", "n_annotators"],
        ),
        (
            "context_relevance_climretrieve",
            2,
            ["label_raw", "label_norm", "label_origin"],
            ["length_bucket"],
        ),
        (
            "context_relevance_trec_dl",
            2,
            ["label_raw", "label_norm"],
            ["dataset", "query_term_overlap"],
        ),
        ("answer_relevance", 0.5, ["negative_kind"], ["dataset", "answer_kind", "domain"]),
        (
            "diras",
            0.5,
            [
                "label_text",
                "label_binary",
                "annotation_1",
                "annotation_2",
                "meta_annotation",
                "gpt4_guess",
            ],
            ["uncertain", "annotators_agree"],
        ),
    ],
)
def test_real_leaks_are_found_unaided(
    name: str, threshold: float, leaking: list[str], honest: list[str]
) -> None:
    """The detector alone, without names, finds the columns the data's README warns of and spares
    the honest ones.
    """
    judged = load(name, threshold)
    for column in leaking:
        assert "gives the label away" in (
            leak_reason(encode(column, column_of(judged, column)), Outcomes.of(judged)) or ""
        ), column
    for column in honest:
        assert (
            leak_reason(encode(column, column_of(judged, column)), Outcomes.of(judged)) is None
        ), column
        assert convention_reason(column) is None, column


README_LISTS = """
label_raw label_text label_binary label_norm label_origin hallucinated_text error_type n_spans implicit_true_only
negative_kind worst_label best_label annotation_1 meta_annotation benchmark_label benchmark_label_2 gpt4_guess
gpt4_confidence metadata.gold_3way metadata.label_3way metadata.judge_3way metadata.raw_guess metadata.human
metadata.human_range metadata.human.naturalness metadata.conditional_idk metadata.rl_f metadata.rb_llm
metadata.rb_agg verdicts.Olz
"""  # noqa: E501


@pytest.mark.parametrize("name", README_LISTS.split())
def test_names_that_bear_labels_by_convention_are_left_out(name: str) -> None:
    """Every column the data's README lists is left out by name as well, whatever the rows at hand
    show.
    """
    assert convention_reason(name) is not None


VERDICT_FILES = [
    (
        "diras_chatreport.gpt-4-0125-preview",
        {"group": "inputs.query", "score": "verdict"},
        ["annotation_1", "annotation_2", "gold_3way", "raw_guess"],
        [
            "query_type",
            "overlap_bin",
            "passage_words",
            "annotators_agree",
            "human_uncertain",
            "dense_rank_bin",
        ],
    ),
    (
        "diras_chatreport.llama3-8b-instruct",
        {"group": "inputs.query", "score": "verdict"},
        ["annotation_1", "annotation_2", "gold_3way", "raw_guess"],
        ["query_type", "human_uncertain"],
    ),
    (
        "wice_claim.gpt-4-0613",
        {"group": "metadata.claim_id", "label": "label_binary", "score": "verdict"},
        ["label_3way", "judge_3way"],
        ["claim_words", "n_evidence_sentences", "claim_has_digit"],
    ),
    (
        "mtrag_faithfulness.rl-f",
        {"group": "inputs.source", "score": "verdict"},
        ["human.faithfulness", "rl_f"],
        ["domain", "response_model", "answerability", "response_words"],
    ),
]


@pytest.mark.parametrize(("name", "reading", "leaking", "honest"), VERDICT_FILES)
def test_leaks_beside_real_verdicts_are_found_unaided(
    name: str, reading: dict[str, str], leaking: list[str], honest: list[str]
) -> None:
    """In published verdicts too the data alone tell second annotators and copies of the verdict
    from honest columns.
    """
    path = DATA / "verdicts" / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the checkout")
    judged = load_verdicts(path, **reading)  # type: ignore[arg-type]  # names of columns
    outcomes = Outcomes.of(judged)
    for column in leaking:
        found = leak_reason(encode(column, column_of(judged, f"metadata.{column}")), outcomes)
        assert "away" in (found or ""), column
    for column in honest:
        assert (
            leak_reason(encode(column, column_of(judged, f"metadata.{column}")), outcomes) is None
        ), column
        assert convention_reason(f"metadata.{column}") is None, column
    left_out = read_features(judged).left_out
    warned_of = {name.removeprefix("metadata.") for name in README_LISTS.split()}
    listed = {
        name for row in judged.rows for name in row.meta if warned_of.intersection(name.split("."))
    }
    assert listed
    assert listed <= left_out.keys()


def test_one_side_of_a_flag_that_is_all_of_the_rarer_label_is_a_leak() -> None:
    """Thirty rows of ten groups that are all wrong tell a flag from chance; fewer groups do not."""
    n = 900
    groups = [f"g{i % 97}" for i in range(n)]
    labels = [0.0 if i % 5 == 0 else 1.0 for i in range(n)]
    flag: list[Scalar] = [i % 20 == 0 for i in range(n)]
    judged = judged_of(labels, {"flag": flag}, groups)
    column = encode("flag", flag)
    assert "all 45 rows where flag = true" in (leak_reason(column, Outcomes.of(judged)) or "")
    few = judged_of(labels, {"flag": flag}, [f"g{i % 4}" for i in range(n)])
    assert leak_reason(column, Outcomes.of(few)) is None
    mixed: list[Scalar] = [value or i == 7 for i, value in enumerate(flag)]
    assert leak_reason(encode("flag", mixed), Outcomes.of(judged)) is None


def test_a_column_filled_in_seldom_that_then_tells_the_label_is_a_leak() -> None:
    """An adjudicator's decision on one row in ten explains little of all labels, and everything
    where it stands.
    """
    rng = np.random.default_rng(4)
    labels = (rng.random(800) < 0.5).astype(float).tolist()
    groups = [f"g{i // 2}" for i in range(800)]
    decided: list[Scalar] = [
        ("yes" if y else "no") if i % 10 == 0 else None for i, y in enumerate(labels)
    ]
    honest: list[Scalar] = [
        str(rng.choice(["yes", "no"])) if i % 10 == 0 else None for i in range(800)
    ]
    outcomes = Outcomes.of(judged_of(labels, {"a": decided}, groups))
    assert "where it has a value" in (leak_reason(encode("a", decided), outcomes) or "")
    assert leak_reason(encode("a", honest), outcomes) is None
