"""Fusion, features and tuning against scikit-learn, SciPy and brute force; what is held out is not
tuned on.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import ndcg_score

from judgewright.judges import FloatArray, InputError
from judgewright.judges.retrieval import words
from judgewright.plugins.rag.search import (
    Fuser,
    Fusion,
    SearchTable,
    TuneSettings,
    paired_gain,
    text_features,
    tune_search,
)

QUERIES, DOCUMENTS = 30, 20


def made_up(*, judged: int = QUERIES, judge_sees: float = 0.3, seed: int = 0) -> SearchTable:
    """Two features that each see half of what makes a document good, a useless one, and a judge
    with some noise.
    """
    rng = np.random.default_rng(seed)
    shape = (QUERIES, DOCUMENTS)
    left, right, noise = rng.normal(size=(3, *shape))
    worth = left + right + rng.normal(size=shape) * 0.3
    human = np.digitize(worth, [0.5, 1.5, 2.5]).astype(float)
    judge = np.digitize(worth + rng.normal(size=shape) * judge_sees, [0.5, 1.5, 2.5]).astype(float)
    judge[judged:] = np.nan
    return SearchTable(
        queries=tuple(f"q{i}" for i in range(QUERIES)),
        query=np.repeat(np.arange(QUERIES), DOCUMENTS),
        documents=tuple(f"d{i}" for i in range(QUERIES * DOCUMENTS)),
        features=("left", "right", "noise"),
        values=np.stack([left.ravel(), right.ravel(), noise.ravel()], axis=1),
        human=human.ravel(),
        judge=judge.ravel(),
    )


def ndcg_by_sklearn(grade: FloatArray, score: FloatArray, k: int) -> float:
    """Mean NDCG over queries of equal size."""
    shape = (-1, DOCUMENTS)
    pairs = zip(grade.reshape(shape), score.reshape(shape), strict=True)
    return float(np.mean([ndcg_score([g], [s], k=k) for g, s in pairs]))


QUICK = TuneSettings(trials=25, folds=3)


def test_two_halves_are_put_together_and_the_gain_is_that_of_scikit_learn_and_scipy() -> None:
    """Every NDCG is scikit-learn's; the interval is Student's; the weights ignore what is
    useless.
    """
    table = made_up()
    found = tune_search(table, QUICK)
    by_name = {one.name: one for one in found.rankings}
    for j, name in enumerate(table.features):
        assert by_name[name].human.value == pytest.approx(
            ndcg_by_sklearn(table.human, table.values[:, j], 10)
        )
        assert by_name[name].judge.value == pytest.approx(
            ndcg_by_sklearn(table.judge, table.values[:, j], 10)
        )
    assert found.gain.excludes_zero
    assert found.gain.p < 0.001
    single = by_name[found.best_feature].human.value
    tuned = by_name["tuned"].human.value
    assert tuned is not None
    assert single is not None
    assert found.gain.mean.value == pytest.approx(tuned - single)
    assert all(fusion.weights["noise"] < 0.25 for fusion in found.folds)
    assert (found.direction.queries, found.direction.positive) == (QUERIES, QUERIES)
    assert found.direction.over_settings.value is not None
    assert found.direction.over_settings.value > 0.5


def test_kendalls_tau_of_each_query_is_scipys() -> None:
    """The mean over queries is that of tau-b, query by query."""
    table = made_up()
    shape = (QUERIES, DOCUMENTS)
    pairs = zip(table.judge.reshape(shape), table.human.reshape(shape), strict=True)
    taus = [stats.kendalltau(judge, human).statistic for judge, human in pairs]
    assert tune_search(table, QUICK).direction.by_query.value == pytest.approx(np.mean(taus))


def test_a_judge_without_a_clue_gains_nothing_and_points_nowhere() -> None:
    """Labels at random: the interval holds 0, or lies below it."""
    table = made_up()
    shuffled = np.random.default_rng(1).permutation(table.judge)
    clueless = SearchTable(**{**vars(table), "judge": shuffled})  # pyright: ignore[reportArgumentType]  # of its fields
    found = tune_search(clueless, QUICK)
    assert found.gain.mean.low is not None
    assert found.gain.mean.low <= 0
    assert abs(found.direction.by_query.value or 0) < 0.1


def test_a_query_is_ranked_by_weights_that_its_own_labels_did_not_choose() -> None:
    """Other labels of one fold leave that fold's weights, and so its ranking, as they were."""
    table, settings = made_up(judged=4), TuneSettings(trials=25, folds=2)
    before = tune_search(table, settings)
    turned = table.judge.copy()
    turned[table.query == 0] = 3 - turned[table.query == 0]
    after = tune_search(SearchTable(**{**vars(table), "judge": turned}), settings)  # pyright: ignore[reportArgumentType]
    same = [a == b for a, b in zip(before.folds, after.folds, strict=True)]
    assert sum(same) == 1  # the fold that query 0 is held out of


def test_people_see_queries_that_the_judge_never_saw() -> None:
    """Half are judged: the weights come from those, and all are verified."""
    found = tune_search(made_up(judged=QUERIES // 2), QUICK)
    assert found.gain.mean.n == QUERIES
    assert found.direction.queries == QUERIES // 2
    assert found.gain.excludes_zero


def test_the_order_of_the_rows_changes_nothing() -> None:
    """Folds hang on the names of queries."""
    table = made_up()
    order = np.random.default_rng(3).permutation(len(table.query))
    mixed = SearchTable(
        queries=table.queries,
        query=table.query[order],
        documents=tuple(table.documents[i] for i in order),
        features=table.features,
        values=table.values[order],
        human=table.human[order],
        judge=table.judge[order],
    )
    assert tune_search(mixed, QUICK).to_json() == tune_search(table, QUICK).to_json()


@pytest.mark.parametrize("method", ["sum", "rrf"])
def test_a_fusion_is_what_its_definition_says(method: str) -> None:
    """Written out, for ties and for values that are missing."""
    values = np.array([[3.0, np.nan], [1.0, 5.0], [1.0, 7.0], [4.0, 2.0]])
    table = SearchTable(
        queries=("a", "b"),
        query=np.array([0, 0, 0, 1]),
        documents=("w", "x", "y", "z"),
        features=("f", "g"),
        values=values,
        human=np.zeros(4),
        judge=np.zeros(4),
    )
    if method == "rrf":
        scores = Fuser(table).scores(Fusion.of("rrf", {"f": 3.0, "g": 1.0}, 10.0))
        expected = [
            0.75 / 11,
            0.75 / 12.5 + 0.25 / 12,
            0.75 / 12.5 + 0.25 / 11,
            0.75 / 11 + 0.25 / 11,
        ]
    else:
        scores = Fuser(table).scores(Fusion.of("sum", {"f": 3.0, "g": 1.0}))
        f, g = (stats.zscore(column) for column in ([3.0, 1.0, 1.0], [5.0, 5.0, 7.0]))
        expected = [*(0.75 * f + 0.25 * g), 0.0]
    assert scores == pytest.approx(np.array(expected), abs=1e-8)


def test_the_gains_interval_and_p_are_scipys() -> None:
    """Student's interval, and the share of all sign patterns that are as extreme."""
    after, before = np.random.default_rng(2).normal(size=(2, 12)) + np.array([[0.5], [0.0]])
    gain = paired_gain(after, before)
    theirs = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert (gain.mean.low, gain.mean.high) == pytest.approx((theirs.low, theirs.high), rel=2e-3)
    exact = stats.permutation_test(
        (after, before), lambda x, y: (x - y).mean(), permutation_type="samples", n_resamples=np.inf
    )
    assert gain.p == pytest.approx(exact.pvalue)
    many = np.random.default_rng(4).normal(0.2, 1.0, 60)
    assert paired_gain(many, np.zeros(60)).p == pytest.approx(
        stats.ttest_1samp(many, 0).pvalue, abs=0.01
    )
    assert paired_gain(before, before).p == 1.0


def test_features_of_texts_are_what_they_are_called() -> None:
    """TF-IDF and coverage written out; reduced vectors of full rank are the vectors; nothing in
    common is 0.
    """
    passages = ["red fox runs", "the lazy dog sleeps", "red red wine", "dog and fox"]
    queries = ["red fox", "unicorn dog"]
    at = np.array([(q, p) for q in range(2) for p in range(4)])
    found = text_features(queries, passages, at[:, 0], at[:, 1])
    held = [Counter(words(text)) for text in passages]
    df = Counter(word for text in held for word in text)
    idf = {word: math.log((1 + len(passages)) / (1 + n)) + 1 for word, n in df.items()}
    rarest = math.log(1 + len(passages)) + 1
    for i, (q, p) in enumerate(at):
        asked = words(queries[q])
        sought = sum(idf.get(word, rarest) for word in asked)
        assert found["coverage"][i] == pytest.approx(
            sum(idf[w] for w in asked if w in held[p]) / sought
        )
        left = {word: idf[word] for word in asked if word in idf}
        right = {word: (1 + math.log(n)) * idf[word] for word, n in held[p].items()}
        norm = math.hypot(*left.values()) * math.hypot(*right.values())
        assert found["tfidf"][i] == pytest.approx(
            sum(left[w] * right.get(w, 0) for w in left) / norm
        )
    assert found["bm25"][at[:, 0] == 0][1] == 0
    assert np.abs(found["svd"]).max() <= 1


def test_too_little_to_tune_on_is_refused() -> None:
    """One feature; fewer judged queries than folds; weights that are none."""
    table = made_up(judged=2)
    with pytest.raises(InputError, match="2 queries have a label of the judge, fewer than 5 folds"):
        tune_search(table)
    alone = {**vars(made_up()), "features": ("left",), "values": table.values[:, :1]}
    with pytest.raises(InputError, match="there is one feature, left"):
        tune_search(SearchTable(**alone))
    with pytest.raises(InputError, match="0 or more"):
        Fusion.of("sum", {"left": 0.0})
