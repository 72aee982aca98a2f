"""Tune the fusion of features on a judge's labels, and verify it on people's, on queries that it
was not tuned on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....judges.errors import InputError
from ....judges.extras import require_extra
from ....judges.judged_dataset import BoolArray, FloatArray, IntArray
from ....judges.metrics import Estimate, Ranking, kendall_tau, mean_over_queries, ndcg
from ....judges.splits.parts import hash_of
from .fusion import METHODS, Fuser, Fusion, Method
from .paired_gain import Gain, paired_gain
from .table import SearchTable

if TYPE_CHECKING:
    pass  # pyright: ignore[reportMissingTypeStubs]

EQUAL, TUNED = "equal weights", "tuned"
NO_SAMPLE = "the settings are no sample, so there is no interval"
LOWEST_K, HIGHEST_K = 1.0, 100.0
"""Between which the k of reciprocal ranks is sought."""

Count = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneSettings:
    """How a fusion is sought."""

    at: int = 10
    """The ranks that count, of NDCG."""
    folds: int = 5
    trials: int = 100
    """Settings tried for each fold, and once more for all queries; the first are equal weights and
    each feature.
    """
    methods: tuple[Method, ...] = METHODS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.at < 1 or self.folds < 2 or self.trials < 1 or not self.methods:
            raise InputError("tuning needs a rank, two folds, a trial and a method at least")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedBy:
    """NDCG of one ranking, as a mean over queries."""

    name: str
    human: Estimate
    """On people's labels; of the tuned fusion on the queries of the fold that it was not tuned on.
    """
    judge: Estimate
    """On the judge's, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """Whether the judge's labels pointed the same way as people's, by Kendall's tau."""

    by_query: Estimate
    """Mean over queries of the tau-b of the two grades of a query's documents."""
    queries: int
    """Queries on which it exists: both sides tell some documents apart."""
    positive: int
    """Those on which it is above 0."""
    over_settings: Estimate
    """Of the NDCG of all settings tried on all queries, by the judge's labels and by people's, on
    the same queries.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTuning:
    """The fusion that judge labels chose, and what people's labels say of it."""

    fusion: Fusion
    """Tuned on every query with judge labels."""
    folds: tuple[Fusion, ...]
    """Each tuned on the queries of the other folds; the held-out figures are theirs."""
    rankings: tuple[RankedBy, ...]
    """Each feature alone, equal weights, tuned."""
    best_feature: str
    """The single feature with the highest NDCG on people's labels, known with hindsight."""
    gain: Gain
    """Of the tuned fusion on held-out queries over `best_feature`, on people's labels."""
    gain_over_equal: Gain
    direction: Direction
    settings: TuneSettings
    pairs: int
    queries: int

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return everything."""
        metric = f"ndcg@{self.settings.at}"
        rankings = {
            one.name: {"human": one.human.to_json(), "judge": one.judge.to_json()}
            for one in self.rankings
        }
        return {
            "pairs": self.pairs,
            "queries": self.queries,
            "metric": metric,
            "fusion": self.fusion.to_json(),
            "folds": [fusion.to_json() for fusion in self.folds],
            "rankings": rankings,
            "best_feature": self.best_feature,
            "gain": self.gain.to_json() | {"excludes_zero": self.gain.excludes_zero},
            "gain_over_equal": self.gain_over_equal.to_json(),
            "direction": {
                "kendall_tau_by_query": self.direction.by_query.to_json(),
                "queries": self.direction.queries,
                "positive": self.direction.positive,
                "kendall_tau_over_settings": self.direction.over_settings.to_json(),
            },
            "trials": self.settings.trials,
            "seed": self.settings.seed,
        }


def tune_search(
    table: SearchTable, settings: TuneSettings | None = None, *, count: Count | None = None
) -> SearchTuning:
    """Tune weights for NDCG on the judge's labels by folds of queries, and compare on people's
    labels.

    A fold's fusion is tuned on the judged pairs of the other folds' queries; queries that the judge
    did not label are ranked too, as held out, where people did.

    Args:
        table: Pairs with at least two features.
        settings: How to search.
        count: Told how many settings have been tried, and of how many.

    Raises:
        InputError: There are too few features, or queries with labels of the judge or of people.
    """
    settings = settings or TuneSettings()
    _check(table, settings)
    fuser, tried = Fuser(table), _Counter(count, (settings.folds + 1) * settings.trials)
    fold = _folds(table, settings)
    fusions: list[Fusion] = []
    tuned = np.zeros(len(table.query))
    for i in range(settings.folds):
        fusion, _ = _search(table, fuser, fold[table.query] != i, settings, tried)
        fusions.append(fusion)
        rows = fold[table.query] == i
        tuned[rows] = fuser.scores(fusion, rows)
    final, trials = _search(table, fuser, np.ones(len(table.query), np.bool_), settings, tried)
    scores = {name: table.values[:, j] for j, name in enumerate(table.features)}
    scores |= {
        EQUAL: fuser.scores(Fusion.of("sum", dict.fromkeys(table.features, 1.0))),
        TUNED: tuned,
    }
    by_people = {
        name: ndcg(_ranking(table, table.human, score), settings.at)
        for name, score in scores.items()
    }
    best = max(table.features, key=lambda name: float(by_people[name].mean()))
    return SearchTuning(
        fusion=final,
        folds=tuple(fusions),
        rankings=tuple(
            RankedBy(
                name=name,
                human=_mean(_ranking(table, table.human, score), settings.at),
                judge=_mean(_ranking(table, table.judge, score, graded_only=True), settings.at),
            )
            for name, score in scores.items()
        ),
        best_feature=best,
        gain=paired_gain(by_people[TUNED], by_people[best], seed=settings.seed),
        gain_over_equal=paired_gain(by_people[TUNED], by_people[EQUAL], seed=settings.seed),
        direction=_direction(table, fuser, trials, settings.at),
        settings=settings,
        pairs=len(table.query),
        queries=len(table.queries),
    )


def _check(table: SearchTable, settings: TuneSettings) -> None:
    if len(table.features) < 2:
        raise InputError(
            f"there is one feature, {', '.join(table.features) or 'none'}, and nothing to weigh it"
            " against",
            hint=(
                "give another --feature or --run, or texts of queries and passages, from which some"
                " are built"
            ),
        )
    judged, seen = int(table.graded_by_judge.sum()), int(table.graded_by_people.sum())
    if judged < settings.folds:
        raise InputError(
            f"{judged} queries have a label of the judge, fewer than {settings.folds} folds",
            hint="judge more pairs, or take fewer --folds",
        )
    if seen < 2:
        raise InputError(
            f"{seen} queries have a label of people, and two are needed to verify the tuning"
        )


def _folds(table: SearchTable, settings: TuneSettings) -> IntArray:
    """Return the fold of each query, by its name and not by its place; each fold has its share of
    judged queries.
    """
    judged = table.graded_by_judge
    order = sorted(
        range(len(table.queries)),
        key=lambda q: (not judged[q], hash_of(settings.seed, "fold", table.queries[q])),
    )
    fold = np.zeros(len(table.queries), np.int64)
    fold[order] = np.arange(len(order)) % settings.folds
    return fold


class _Counter:
    def __init__(self, count: Count | None, total: int) -> None:
        self._count, self._done, self._total = count, 0, total

    def step(self) -> None:
        self._done += 1
        if self._count is not None:
            self._count(self._done, self._total)


def _search(
    table: SearchTable, fuser: Fuser, rows: BoolArray, settings: TuneSettings, tried: _Counter
) -> tuple[Fusion, list[Fusion]]:
    """Return the fusion with the highest NDCG on the judge's labels of some pairs, and all that
    were tried.
    """
    require_extra("rag", "optuna", purpose="tuning a search")
    import optuna

    rows = rows & ~np.isnan(table.judge)
    queries = np.unique(table.query[rows], return_inverse=True)[1].astype(np.int64)
    grade = table.judge[rows]
    sampler = optuna.samplers.TPESampler(seed=settings.seed)
    fusions: list[Fusion] = []

    def objective(trial: optuna.Trial) -> float:
        method = settings.methods[trial.suggest_int("method", 0, len(settings.methods) - 1)]
        weights = {name: trial.suggest_float(f"weight {name}", 0.0, 1.0) for name in table.features}
        k = trial.suggest_float("k", LOWEST_K, HIGHEST_K, log=True) if method == "rrf" else None
        tried.step()
        if sum(weights.values()) <= 0:
            raise optuna.TrialPruned
        fusion = Fusion.of(method, weights, k)
        trial.set_user_attr("at", len(fusions))
        fusions.append(fusion)
        ranking = Ranking(query=queries, grade=grade, score=fuser.scores(fusion, rows))
        return float(ndcg(ranking, settings.at).mean())

    with _quiet_optuna():
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for weights in _first_weights(table.features):
            study.enqueue_trial({"method": 0, **weights})
        study.optimize(objective, n_trials=settings.trials)
    best: int = study.best_trial.user_attrs["at"]
    return fusions[best], fusions


def _first_weights(features: tuple[str, ...]) -> Iterator[Mapping[str, float]]:
    yield {f"weight {name}": 1.0 for name in features}
    for one in features:
        yield {f"weight {name}": float(name == one) for name in features}


@contextmanager
def _quiet_optuna() -> Generator[None]:
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)


def _ranking(
    table: SearchTable, grade: FloatArray, score: FloatArray, *, graded_only: bool = False
) -> Ranking:
    """Return the ranking of the queries with a grade.

    Their other documents take a rank and are not relevant, or are left out, as they are while
    tuning.
    """
    graded = np.zeros(len(table.queries), np.bool_)
    graded[table.query[~np.isnan(grade)]] = True
    rows = ~np.isnan(grade) if graded_only else graded[table.query]
    queries = np.unique(table.query[rows], return_inverse=True)[1].astype(np.int64)
    return Ranking(query=queries, grade=grade[rows], score=score[rows])


def _mean(ranking: Ranking, at: int) -> Estimate:
    return mean_over_queries(ndcg(ranking, at), ranking, ranking.grade > 0)


def _direction(table: SearchTable, fuser: Fuser, trials: list[Fusion], at: int) -> Direction:
    both = ~np.isnan(table.human) & ~np.isnan(table.judge)
    taus: list[float] = []
    for q in np.unique(table.query[both]):
        rows = both & (table.query == q)
        tau = kendall_tau(table.judge[rows], table.human[rows]).value
        if tau is not None:
            taus.append(tau)
    values = np.array(taus)
    none = "no query has documents that both sides tell apart"
    by_query = (
        paired_gain(values, np.zeros(len(values))).mean if taus else Estimate.undefined(0, none)
    )
    over = Estimate.undefined(0, "no pair has a label of both sides")
    if both.any():
        # On pairs with both labels alone, so that the two means are over the same documents.
        queries = np.unique(table.query[both], return_inverse=True)[1].astype(np.int64)
        means: list[tuple[float, float]] = []
        for fusion in trials:
            score = fuser.scores(fusion, both)
            sides = (
                Ranking(query=queries, grade=grade[both], score=score)
                for grade in (table.judge, table.human)
            )
            judge, human = (float(ndcg(side, at).mean()) for side in sides)
            means.append((judge, human))
        tau = kendall_tau(
            np.array([one for one, _ in means]), np.array([other for _, other in means])
        )
        # The settings are those that the search chose, no sample of any: their tau has no interval.
        over = tau if tau.value is None else Estimate.of(tau.value, None, tau.n, missing=NO_SAMPLE)
    return Direction(
        by_query=by_query, queries=len(taus), positive=int((values > 0).sum()), over_settings=over
    )
