"""Find the slices where a judge errs, and say how sure each of them is.

All rows propose slices and all rows test them; the p-values are corrected for every candidate that
was searched, not only for those proposed. `value` and `rest` describe the rows, so that anyone can
recompute them from the predicate; they flatter the slice, which was picked for them, and `bound`
and the gains do not.

The steps: `features` chooses columns, `limits` narrows, `candidates` counts, `search` proposes,
`confirm` tests, with `familywise` for how high the best candidate scores by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..judges import InputError, JudgedDataset
from .confirm import Confirmation, Search, TestedSlice, search_and_test
from .consistency import check_consistency, is_origin, prevailing_errors
from .effect import Cells, decompose
from .features import Features, choose_columns, read_features
from .limits import MIN_SUPPORT, Limits, narrow
from .outcomes import NO_GROUPS, Outcomes
from .outputs import describe_outputs
from .search_result import FoundSlice, SliceReport
from .significance import rows_to_find
from .target import Target, estimate_on, target_of
from .tokens import Vocabulary, read_vocabulary

if TYPE_CHECKING:
    import pandas as pd


def find_slices(
    judged: JudgedDataset,
    *,
    metric: str = "precision",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    max_depth: int = 2,
    min_support: int | None = None,
    text: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> SliceReport:
    """Find the slices on which a metric is poorer than elsewhere.

    Args:
        judged: The table; unscored rows are left out.
        metric: What to look for, a name of `TARGETS`.
        columns: The only columns to search: metadata, features of the texts such as
            `statement:words`, or texts such as `statement`, whose words are meant. All columns that
            do not leak the label unless given.
        exclude: Columns to leave out.
        keep: Columns to search though their names sound like a label's or a judge's output.
        max_depth: The most conditions of a slice, 1 to 3.
        min_support: The fewest rows of the metric's denominator in a slice; `MIN_SUPPORT` unless
            given.
        text: Whether to search what the texts are like and the words they contain.
        seed: Of what chance is drawn with, which else depends on the groups' names alone.
        progress: Called with how many rows' texts are read, and of how many.

    Raises:
        InputError: The metric, the depth or a column cannot be used.
    """
    target = target_of(metric)
    features = read_features(
        judged, columns=columns, exclude=exclude, keep=keep, text=text, progress=progress
    )
    vocabulary: Vocabulary | None = None
    if features.fields:
        vocabulary = read_vocabulary(
            judged.rows, features.fields, min_rows=min_support or MIN_SUPPORT
        )
    limits = Limits(
        max_depth=max_depth, min_support=min_support, seed=seed, named=columns is not None
    )
    notes = []
    if not any(row.group for row in judged.rows):
        notes.append(NO_GROUPS)
    if judged.unscored:
        notes.append(f"{sum(judged.unscored.values())} unscored rows are left out")
    return search_slices(
        Outcomes.of(judged), features, target, limits, vocabulary=vocabulary, notes=notes
    )


def find_in_frame(
    frame: pd.DataFrame,
    *,
    label: str = "label",
    predicted: str = "predicted",
    group: str | None = None,
    probability: str | None = None,
    metric: str = "precision",
    keep: Sequence[str] = (),
    max_depth: int = 2,
    seed: int = 0,
) -> SliceReport:
    """Find slices in a table of one line a verdict, such as `JudgedDataset.to_frame()` or one made
    elsewhere.

    Args:
        frame: The rows; every column that has no other part is searched.
        label: The column of people's decisions, true or 1 for positive.
        predicted: The column of the judge's.
        group: The column whose rows depend on each other; without one, each stands alone.
        probability: The column of the probability of the positive label, for Brier score and ECE.
        metric: What to look for, a name of `TARGETS`.
        keep: Columns to search though their names sound like a label's or a judge's output.
        max_depth: The most conditions of a slice, 1 to 3.
        seed: Of what chance is drawn with.

    Raises:
        InputError: A column or the metric cannot be used.
    """
    import pandas as pd

    roles = [name for name in (label, predicted, group, probability) if name]
    for name in roles:
        if name not in frame.columns:
            columns = ", ".join(map(str, frame.columns))
            raise InputError(f"the frame has no column {name!r}", hint=f"it has {columns}")
    notes: list[str] = []
    if group:
        codes, names = pd.factorize(frame[group])
    else:
        codes, names = np.arange(len(frame)), frame.index
        notes.append(NO_GROUPS)
    stated = np.full(len(frame), np.nan)
    if probability:
        stated = frame[probability].to_numpy(np.float64)
    outcomes = Outcomes(
        positive=frame[label].to_numpy(np.bool_),
        predicted=frame[predicted].to_numpy(np.bool_),
        groups=np.asarray(codes, np.int64),
        group_names=[str(name) for name in names],
        probability=stated,
    )
    values = {str(name): pd.Series(frame[name]) for name in frame.columns if name not in roles}
    own = {"probability": stated} if probability else {}
    features = choose_columns(values, outcomes, keep=keep, own=own)
    limits = Limits(max_depth=max_depth, min_support=None, seed=seed, named=False)
    return search_slices(outcomes, features, target_of(metric), limits, notes=notes)


def search_slices(
    outcomes: Outcomes,
    features: Features,
    target: Target,
    limits: Limits,
    *,
    vocabulary: Vocabulary | None = None,
    notes: Sequence[str] = (),
) -> SliceReport:
    """Search columns for the slices on which a metric is poorer; `find_slices` for a table of rows.

    Args:
        outcomes: What people and judge decided.
        features: The columns.
        target: The metric.
        limits: How far to go.
        vocabulary: The words of the texts, where they are to be searched.
        notes: What is known before the search begins.

    Raises:
        InputError: The rows do not have what the metric needs.
    """
    inside, loss = target.losses(outcomes)
    support = limits.support(int(inside.sum()))
    scope = narrow(features, inside, support, limits)
    search = Search(
        outcomes=outcomes,
        target=target,
        inside=inside,
        loss=loss,
        order=outcomes.order(limits.seed),
        columns=scope.columns,
        origins=tuple(column for column in features.columns if is_origin(column.name)),
        depth=scope.depth,
        min_support=support,
    )
    confirmation = search_and_test(search, vocabulary)
    slices: list[FoundSlice] = []
    for tested in confirmation.slices:
        one = _describe(confirmation.search, tested)
        if one is not None:
            slices.append(one)
    # Where none of these tells two apart, the stronger one comes first, as they are given.
    slices.sort(key=lambda s: (not s.prompt_target, not s.confirmed, -s.gain_low, s.p))
    slices = _cores_under_their_slices(slices)
    return SliceReport(
        slices=tuple(slices),
        left_out={**features.left_out, **scope.left_out},
        notes=(
            *notes,
            *features.notes,
            *scope.notes,
            *confirmation.notes,
            _power_note(confirmation),
        ),
        metric=target.name,
        overall=estimate_on(target, outcomes, np.ones(len(outcomes), np.bool_), n=len(outcomes)),
        judge_outputs=describe_outputs(features.outputs, outcomes, features.own, target),
    )


def _cores_under_their_slices(slices: Sequence[FoundSlice]) -> list[FoundSlice]:
    """Put a slice that lies inside another right after that, unless it comes before."""
    ordered: list[FoundSlice] = []
    for one in slices:
        if one not in ordered:
            ordered.append(one)
            ordered += [
                core for core in slices if core.within == one.predicate and core not in ordered
            ]
    return ordered


def _describe(search: Search, tested: TestedSlice) -> FoundSlice | None:
    """Measure a slice on all rows; None where the metric is undefined in it or outside it."""
    outcomes, target = search.outcomes, search.target
    member = search.rows().member(tested.predicate)
    value, rest = target.value(outcomes, member), target.value(outcomes, ~member)
    if value is None or rest is None:
        return None
    low, high = target.interval(outcomes, member) or (None, None)
    inside = member & search.inside
    # Only errors that the metric counts: of recall, false negatives.
    direction, share, direction_p = prevailing_errors(outcomes, inside)
    consistency = None
    if direction is not None:
        half, outside = search.order % 2 == 1, ~member & search.inside
        consistency = check_consistency(
            outcomes, inside, outside, search.loss, direction, half, search.origins
        )
    return FoundSlice(
        predicate=tested.predicate,
        n=int(inside.sum()),
        support=int(member.sum()),
        metric=target.name,
        value=value,
        rest=rest,
        low=low,
        high=high,
        p=tested.p,
        direction=direction,
        fp_share=share,
        direction_p=direction_p,
        consistency=consistency,
        parts=decompose(target.name, Cells.of(outcomes, member), Cells.of(outcomes, ~member)),
        bound=tested.bound,
        expected_gain=tested.gain,
        gain_low=tested.gain_low,
        within=tested.within,
    )


def _power_note(confirmation: Confirmation) -> str:
    """Say how large a slice must be to be found here."""
    search, candidates = confirmation.search, confirmation.candidates
    loss = search.loss[search.inside]
    if loss.dtype != np.bool_:
        return f"{candidates} candidate slices on {len(loss)} rows"
    base = float(loss.mean()) if len(loss) else 0.0
    if base == 0:
        return f"{search.target.name}: no row of the {len(loss)} in the denominator is an error"
    if base == 1:
        return f"{search.target.name}: every row of the {len(loss)} in the denominator is an error"
    share = min(2 * base, (1 + base) / 2)
    needed = rows_to_find(share, base, candidates)
    found = "can be found" if needed < len(loss) / 2 else "can hardly be found"
    return (
        f"{candidates} candidate slices on {len(loss)} rows with {base:.1%} errors: a slice with"
        f" {share:.1%} errors needs about {math.ceil(needed)} rows and {found} here"
    )
