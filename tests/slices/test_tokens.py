"""Words become conditions that pandas selects too, are chosen on one half alone, and pay for all
they came from.
"""

import numpy as np
import pandas as pd
import pytest

from judgewright.judges import BINARY, Dataset, JudgedDataset, Row, Verdict
from judgewright.slices import (
    LIKELY,
    LikelyWords,
    Rows,
    encode,
    find_slices,
    parse_predicate,
    propose,
    read_vocabulary,
)
from judgewright.slices.significance import LossScan

WORDS = [f"w{k:03}" for k in range(200)]


def said(n: int, seed: int = 0, share: float = 0.12) -> list[str]:
    """Texts of random words, each word in about this share of them."""
    rng = np.random.default_rng(seed)
    return [" ".join(word for word in WORDS if rng.random() < share) for _ in range(n)]


def rows_of(texts: list[str], field: str = "statement") -> list[Row]:
    """A row for each text."""
    return [Row(id=str(i), inputs={field: text}) for i, text in enumerate(texts)]


def judged_of(
    texts: list[str], wrong: np.ndarray, kind: list[str] | None = None, seed: int = 0
) -> JudgedDataset:
    """Half the rows are positive, and the judge errs where it is told to."""
    label = np.random.default_rng(seed + 50).random(len(texts)) < 0.5
    rows = tuple(
        Row(
            id=str(i),
            inputs={"statement": text},
            label=float(label[i]),
            meta={"kind": kind[i]} if kind else {},
        )
        for i, text in enumerate(texts)
    )
    answers = tuple(
        Verdict(row_id=str(i), score=float(p), positive=bool(p))
        for i, p in enumerate((label ^ wrong).tolist())
    )
    return JudgedDataset(dataset=Dataset(rows=rows, labels=BINARY), answers=answers, scale=BINARY)


def has(texts: list[str], word: str) -> np.ndarray:
    """Which texts pandas finds the word in."""
    return pd.Series(texts).str.contains(rf"\b{word}\b", case=False).to_numpy(np.bool_)


def test_words_are_scored_as_they_would_be_one_by_one() -> None:
    """Choice and order are those of the scan ratio over what pandas counts."""
    texts, rng = said(500), np.random.default_rng(1)
    loss, half = rng.random(500) < 0.2, rng.random(500) < 0.5
    vocabulary = read_vocabulary(rows_of(texts), ["statement"], min_rows=10)
    assert vocabulary is not None
    likely = vocabulary.likely(loss, half, min_rows=20)
    inside = {word: has(texts, word) & half for word in WORDS}
    n = np.array([inside[word].sum() for word in WORDS], float)
    lost = np.array([(loss & inside[word]).sum() for word in WORDS], float)
    score = np.where(n >= 20, LossScan(half.sum(), (loss & half).sum(), None).llr(n, lost), 0.0)
    best = [WORDS[i] for i in np.argsort(-score.round(9), kind="stable")[:LIKELY] if score[i] > 0]
    assert [column.name for column in likely.columns] == [
        f"statement contains {word}" for word in best
    ]
    assert likely.considered == (n >= 20).sum() > LIKELY
    for column, word in zip(likely.columns, best, strict=True):
        assert (column.codes.astype(bool) == has(texts, word)).all()


def test_the_other_half_has_no_say_in_the_choice() -> None:
    """Whatever the losses there, the same words are chosen; an average of real losses is looked at
    the same way.
    """
    texts, rng = said(400), np.random.default_rng(2)
    loss, half = rng.random(400) < 0.3, rng.random(400) < 0.5
    vocabulary = read_vocabulary(rows_of(texts), ["statement"], min_rows=10)
    assert vocabulary is not None
    for one in (loss, loss.astype(np.float64) + rng.random(400)):
        other = np.where(half, one, one[::-1])
        chosen = [vocabulary.likely(each, half, min_rows=15) for each in (one, other)]
        assert [c.name for c in chosen[0].columns] == [c.name for c in chosen[1].columns]
        assert chosen[0].columns
    assert vocabulary.likely(np.zeros(400, np.bool_), half, min_rows=15) == LikelyWords()


def test_frequent_and_rare_words_are_no_conditions() -> None:
    """A word needs enough rows with it and without it; texts without a word give none."""
    texts = ["always here"] * 30 + ["always there"] * 30 + ["always seldom"] * 3
    vocabulary = read_vocabulary(rows_of(texts), ["statement"], min_rows=10)
    assert vocabulary is not None
    assert [condition.word for condition in vocabulary.conditions] == ["here", "there"]
    assert read_vocabulary(rows_of(["...", ""]), ["statement"], min_rows=1) is None
    assert read_vocabulary(rows_of(texts), [], min_rows=1) is None


def test_a_word_pays_for_all_the_words_it_was_chosen_from() -> None:
    """The search counts every word considered, not the few it was handed, and pairs a word with
    columns only.
    """
    texts, rng = said(600), np.random.default_rng(3)
    loss, everything = rng.random(600) < 0.2, np.ones(600, np.bool_)
    vocabulary = read_vocabulary(rows_of(texts), ["statement"], min_rows=30)
    assert vocabulary is not None
    likely = vocabulary.likely(loss, everything, min_rows=30)
    rows = Rows(columns=(), loss=loss, groups=np.arange(600), words=likely)
    assert likely.considered > len(likely.columns)
    for depth in (1, 2, 3):
        assert propose(rows, depth=depth, min_rows=30).candidates == likely.considered
    kind = encode("kind", rng.choice(["a", "b"], 600).tolist())
    assert (
        propose(
            Rows(columns=(kind,), loss=loss, groups=np.arange(600)), depth=3, min_rows=30
        ).candidates
        == 2
    )
    both = Rows(columns=(kind,), loss=loss, groups=np.arange(600), words=likely)
    assert propose(both, depth=1, min_rows=30).candidates == 2 + likely.considered
    paired = propose(both, depth=2, min_rows=2).candidates
    assert paired == pytest.approx(2 + 3 * likely.considered, abs=2)
    assert propose(both, depth=3, min_rows=2).candidates == paired


@pytest.mark.parametrize("metric", ["accuracy", "kappa"])
def test_a_planted_word_is_confirmed_and_recomputed_with_pandas(metric: str) -> None:
    """Support, value and rest follow from the text alone."""
    from sklearn.metrics import accuracy_score, cohen_kappa_score

    texts = said(4000, seed=4)
    weak = has(texts, "w007")
    wrong = np.random.default_rng(5).random(4000) < np.where(weak, 0.4, 0.1)
    judged = judged_of(texts, wrong)
    best = find_slices(judged, metric=metric, text=True).slices[0]
    assert str(best.predicate) == "statement contains w007"
    assert best.confirmed
    assert best.support == weak.sum()
    oracle = {"accuracy": accuracy_score, "kappa": cohen_kappa_score}[metric]
    assert best.value == pytest.approx(oracle(judged.positive[weak], judged.predicted[weak]))
    assert best.rest == pytest.approx(oracle(judged.positive[~weak], judged.predicted[~weak]))
    assert (parse_predicate(str(best.predicate)).mask(judged.rows) == weak).all()
    named = find_slices(judged, metric=metric, columns=["statement"])
    assert named.slices[0].predicate == best.predicate


def test_a_word_that_matters_in_one_kind_of_row_is_found_with_it() -> None:
    """A word beside one metadata condition."""
    rng, texts = np.random.default_rng(6), said(6000, seed=6, share=0.3)
    kind = rng.choice(["a", "b"], 6000)
    weak = has(texts, "w011") & (kind == "a")
    judged = judged_of(texts, rng.random(6000) < np.where(weak, 0.4, 0.08), kind.tolist())
    best = find_slices(judged, metric="accuracy", text=True).slices[0]
    assert str(best.predicate) == "kind = a and statement contains w011"
    assert best.confirmed
    assert best.support == weak.sum()
