"""The figures that are read first, of which a sentence is made: how often a judge agrees with
people, which errors it makes, what another threshold would change, and the slice that is worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ...judges import BetterThreshold, JudgedDataset, OutputScale, Verdict, better_threshold

if TYPE_CHECKING:
    from ...optimize.events import Json
    from .reach import Reach

LEAST_SEARCHED, MOST_SEARCHED = 60, 5_000
"""Rows between which slices are searched along with a benchmark: in fewer nothing can stand out,
and a search of so many takes half a second.
"""
LEAST_LABELS = 10
"""Labels under which nothing is reckoned of a gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many rows of how many, with the 95 % interval of the share."""

    count: int
    of: int
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """The two labels of a choice that a judge confuses most often."""

    people: str
    judge: str
    count: int
    of: int
    """Rows that people gave the first label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstSlice:
    """The slice that a search confirmed, or calls likely."""

    where: str
    metric: str
    n: int
    value: float
    rest: float
    evidence: str
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFigure:
    """What is said first of a benchmark."""

    simulated: bool
    agreed: Share | None
    """Decisions, or labels of a choice, that are people's; None where no row can be compared."""
    kappa: Json | None
    same_grade: Share | None
    """Of grades: those that are the very grade that people gave."""
    bad_called_good: Share | None
    good_called_bad: Share | None
    confusion: Confusion | None
    unscored: int
    unlabelled: int
    warning: str
    good_from: str = ""
    """Which grades are good, where there are more than two."""
    called_good: int | None = None
    """Where no row has a label: how many the judge calls good, of `judged`."""
    judged: int | None = None
    threshold: BetterThreshold | None = None
    worst: WorstSlice | None = None
    reach: Reach | None = None
    """What a gate could show with these labels, where they are few."""
    not_searched: bool = False
    """Whether a search of slices would have taken long, so that it is left to its command."""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the object that `bench --json` has as `summary`."""
        return asdict(self)


def first_figure(body: Json, *, names: Sequence[str] = ()) -> FirstFigure:
    """Return what a benchmark alone tells.

    Args:
        body: As `Benchmark.to_json` writes it; of an earlier version too.
        names: The labels of a choice; without them no confusion is named.
    """
    metrics, cells, n = body["metrics"], body["confusion"], body["n"]
    grades = body.get("grades")
    is_choice = "precision" not in metrics
    kappa = metrics.get("kappa_grades" if is_choice else "kappa")
    same_grade = agreed = bad = good = None
    if n and grades:
        right = sum(line[i] for i, line in enumerate(grades["counts"]))
        same_grade = _share(right, n, metrics.get("accuracy_grades"))
    if n and not is_choice:
        agreed = _share(cells["tp"] + cells["tn"], n, metrics.get("accuracy"))
        bad = _share(cells["fp"], cells["fp"] + cells["tn"], _other(metrics["specificity"]))
        good = _share(cells["fn"], cells["fn"] + cells["tp"], _other(metrics["recall"]))
    return FirstFigure(
        simulated=body["simulated"],
        agreed=same_grade if is_choice else agreed,
        kappa=kappa if kappa and kappa["value"] is not None else None,
        same_grade=None if is_choice else same_grade,
        bad_called_good=bad,
        good_called_bad=good,
        confusion=_most_confused(grades["counts"], names) if is_choice and grades else None,
        unscored=sum(body["unscored"].values()),
        unlabelled=body["unlabelled"],
        warning=body.get("warning", ""),
    )


def summarize(
    judged: JudgedDataset, body: Json, *, shown: JudgedDataset, has_threshold: bool = True
) -> FirstFigure:
    """Return what the verdicts tell beside their benchmark: another threshold, and the worst
    slice.

    Args:
        shown: Those rows that may be searched, none of them sealed.
        has_threshold: Whether a score decides about a row; not so where claims do.
    """
    figure = first_figure(body, names=judged.scale.labels)
    if not judged.n:
        decisions = [one.positive for one in judged.answers if isinstance(one, Verdict)]
        good = None if judged.scale.kind == "choice" else sum(decisions)
        return replace(figure, called_good=good, judged=len(decisions))
    return replace(
        figure,
        good_from=_good_from(judged.dataset.labels, judged.scale),
        threshold=better_threshold(judged) if has_threshold else None,
        worst=_worst_slice(shown, body),
        reach=_reach(body),
        not_searched=shown.n > MOST_SEARCHED,
    )


def _reach(body: Json) -> Reach | None:
    kappa: Json = body["metrics"].get("kappa") or {}
    below_chance = kappa.get("high") is not None and kappa["high"] < 0
    if body["n"] < LEAST_LABELS or below_chance:
        return None  # too few for anything, or labels that may be the other way round
    from .reach import reach_of  # which imports what a gate needs

    return reach_of(body)


def _share(count: int, of: int, estimate: Json | None) -> Share:
    low, high = (None, None) if estimate is None else (estimate["low"], estimate["high"])
    return Share(count=count, of=of, low=low, high=high)


def _other(estimate: Json) -> Json:
    """Return the interval of what is left of a share."""
    low, high = (None if end is None else 1 - end for end in (estimate["high"], estimate["low"]))
    return {"low": low, "high": high}


def _most_confused(counts: Sequence[Sequence[int]], names: Sequence[str]) -> Confusion | None:
    wrong = [
        (count, -people, -judge)
        for people, line in enumerate(counts)
        for judge, count in enumerate(line)
        if people != judge and count
    ]
    if not wrong or not names:
        return None
    count, people, judge = max(wrong)
    return Confusion(
        people=names[-people], judge=names[-judge], count=count, of=sum(counts[-people])
    )


def _good_from(labels: OutputScale, scale: OutputScale) -> str:
    """Say from which grade on a row is good to people and to the judge; empty of two answers."""
    people, judge = (_least_good(one) for one in (labels, scale))
    if people == judge or not (people and judge):
        return judge or (people and f"{people} of people's grades")
    return f"{people} of people's grades, {judge} of the judge's"


def _least_good(scale: OutputScale) -> str:
    if scale.kind in ("binary", "choice"):
        return ""
    return f"{scale.name(scale.threshold)} or {'less' if scale.low_is_good else 'more'}"


def _worst_slice(shown: JudgedDataset, body: Json) -> WorstSlice | None:
    """Return the slice to name: the target, else one that is confirmed, else one that is likely."""
    if not LEAST_SEARCHED <= shown.n <= MOST_SEARCHED:
        return None
    from .find_slices import Search, advise, search

    cells = body["confusion"]
    metric = "precision" if cells["fp"] >= cells["fn"] else "recall"
    report = search(shown, Search(metric=None if shown.scale.kind == "choice" else metric))
    target = advise(report).number
    named = [] if target is None else [report.slices[target - 1]]
    for evidence in ("confirmed", "likely"):
        named += [one for one in report.slices if one.evidence == evidence]
    if not named:
        return None
    figures = ("metric", "n", "value", "rest", "evidence", "p")
    return WorstSlice(
        where=str(named[0].predicate), **{name: getattr(named[0], name) for name in figures}
    )
