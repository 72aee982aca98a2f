"""The columns of a verdict file: which one holds what, and which others hold further outputs of a
judge.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import InputError
from ..judged_dataset import DISTRIBUTION_FIELDS
from ..rows import QUERY_WORDS
from ..scale import OutputScale
from .columns import Draft, Roles
from .records import Cell
from .verdict_items import INPUTS, Aggregate
from .verdict_scale import Cuts, GradeMap, words_for

GROUP_COLUMNS = ("metadata.query_id", "query_id", "group_id", "group")
"""Columns that hold the group where none is named."""

RATIONALE = "rationale"
"""The column of the judge's reasons where none is named."""

REASON = "unscored"
"""Where `bench --out` writes why a row has no verdict."""

CLASSES = "classes"
"""Where `bench --out` writes the classes of a judge that chooses, a JSON list; label and score are
places in it.
"""

SCALES = "scales"
"""Where it writes, of a decision model, the scales of label and score, as `parse_label_scale` reads
them: a cut that was chosen decides when the file is read again.
"""

FILLED = 0.95
"""Share of rows in which a column must hold text to be taken for an input."""
WORDS_A_TEXT = 4
"""Words that a column which no judge names must have on average to be taken for an input."""
_LOOKED_AT = 1_000
"""Rows that tell whether a column holds running text."""

BENCH_COLUMNS = frozenset({"judge", "judge_model", "simulated"})
"""Columns by which a file of `bench --out` is recognised."""
BENCH_OUTPUTS = (
    *("verdict", "score", "confidence", "rationale", "detail", "decided_by"),
    *DISTRIBUTION_FIELDS,
)
"""Its columns, or objects of columns, that hold what the judge answered."""
_ROW_OBJECTS = frozenset(
    {"metadata", "meta", "inputs", "input", "row", "fields", "data", "attributes", "properties"}
)
"""Objects whose fields describe the row, even where the score is one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictColumns:
    """Which columns of a verdict file say what, and how their cells become grades and decisions."""

    label: str = "label"
    """The column of the human label."""
    require_labels: bool = True
    """Whether a file without a single label is an error."""
    score: str = "score"
    """The column of the judge's score. Of a matrix of judges: `verdicts.NAME` for one;
    `verdicts.*`, or `verdicts` where the file has no such column but an object of that name, for
    all."""
    confidence: str | None = None
    """The column of the judge's confidence in its verdict, in [0, 1]."""
    threshold: float | None = None
    """What label and score must reach to be positive; a binary side stays as it is. Without it a
    grade must reach the middle of its scale, rounded up, and a probability 0.5."""
    label_threshold: float | None = None
    """What the label must reach, where that differs."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """What the score of one judge must reach, by its name: the file's without format, in a matrix
    the column's.
    """
    group: str | None = None
    """The column of the group; the first of `GROUP_COLUMNS` where there is one, else every row is
    its own.
    """
    id: str = "id"
    """The column of the row's id; without one the line number."""
    rationale: str | None = None
    """The column of the judge's reasons; `RATIONALE` where there is one."""
    label_map: GradeMap = field(default_factory=dict)
    """What cells of the label column stand for; others are read as they are."""
    score_map: GradeMap = field(default_factory=dict)
    """Likewise for scores."""
    score_maps: Mapping[str, GradeMap] = field(default_factory=dict)
    """Likewise for the scores of one judge, by its name, instead of `score_map`."""
    scale: OutputScale | None = None
    """The one scale of labels and scores; without it each side's is read from the grades that
    occur. A score beyond its ends leaves the row unscored."""
    clip: bool = False
    """Take labels and scores beyond the ends of `scale` for its ends."""
    aggregate: Aggregate | None = None
    """Make the rows that share the same `by` into one, whose score is the maximum, minimum or mean.
    """
    by: tuple[str, ...] = ()
    """The columns whose values together name an item; needed by, and only for, `aggregate`."""
    mean_labels: bool = False
    """Whether a label may be a list of numbers, one an annotator, which stands for its mean."""

    def __post_init__(self) -> None:
        if self.clip and self.scale is None:
            raise InputError(
                "clipping needs the scale to clip to", hint="give it, such as --scale 0..3"
            )
        if bool(self.aggregate) != bool(self.by):
            raise InputError(
                "rows are aggregated over the columns that name an item",
                hint="give both, such as --aggregate max --by claim_id",
            )

    def cuts(self, judge: str) -> Cuts:
        """Return what labels and the scores of a judge must reach."""
        label = self.threshold if self.label_threshold is None else self.label_threshold
        return Cuts(label=label, score=self.thresholds.get(judge, self.threshold))

    def map_of(self, judge: str) -> GradeMap:
        """Return what cells of a judge's scores stand for."""
        return self.score_maps.get(judge, self.score_map)


def roles_of(columns: VerdictColumns, *, matrix: bool) -> Roles:
    """Return the part each column plays; the scores of a matrix of judges stay in the metadata for
    now.
    """
    row_id = None if columns.id == "id" else columns.id
    aside = [columns.rationale or RATIONALE, REASON, CLASSES, *columns.by]
    needed = {columns.label: "--label COLUMN"} if columns.require_labels else {}
    if not matrix:
        aside.append(columns.score)
        needed[columns.score] = "--score COLUMN"
    if columns.confidence:
        aside.append(columns.confidence)
    for option, column in (
        ("--id", row_id),
        ("--group", columns.group),
        ("--confidence", columns.confidence),
        ("--rationale", columns.rationale),
        *(("--by", column) for column in columns.by),
    ):
        if column:
            needed[column] = f"{option} COLUMN"
    return Roles(
        label=columns.label,
        id=row_id,
        group=columns.group,
        group_defaults=GROUP_COLUMNS,
        aside=tuple(aside),
        needed=needed,
        words=words_for(columns.label_map),
        inputs_prefix=INPUTS,
        mean_labels=columns.mean_labels,
    )


def texts_of(
    rows: Sequence[Mapping[str, Cell]], without: Collection[str] = ()
) -> dict[str, list[str]]:
    """Return the texts that the verdicts of a file are about, as far as they stand in it.

    They are the columns under `inputs.`, those that hold running text in nearly every row, and a
    query's.
    """
    head = rows[:_LOOKED_AT]
    texts: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for row in head for name in row):
        filled = [cell for row in head if isinstance(cell := row.get(name), str) and cell.strip()]
        if name in without or len(filled) < FILLED * len(head):
            continue
        runs = sum(cell.count(" ") + 1 for cell in filled) >= WORDS_A_TEXT * len(filled)
        if runs or name.startswith(INPUTS) or name.rpartition(".")[2].lower() in QUERY_WORDS:
            cells = [row.get(name) for row in rows]
            texts[name.removeprefix(INPUTS)] = [
                cell if isinstance(cell, str) else "" for cell in cells
            ]
    return texts


def output_columns(
    drafts: Sequence[Draft], score: str, grades: Collection[float]
) -> tuple[str, ...]:
    """Return the columns of the metadata that hold judges' outputs, so that no slice is cut by
    them.

    They are what `bench --out` wrote, and the columns beside the score: those that differ from it
    in the name's last part alone, such as `verdicts.b` beside `verdicts.a` or `score_b` beside
    `score_a`, and hold nothing but `grades`, those of the labels and of this judge's scores.
    """
    names = dict.fromkeys(name for draft in drafts for name in draft.meta)
    written_by_bench = names.keys() >= BENCH_COLUMNS
    prefix = _prefix_of_scores(score)
    outputs = []
    for name in names:
        from_bench = written_by_bench and name.partition(".")[0] in BENCH_OUTPUTS
        another_score = prefix and name.startswith(prefix) and _holds_grades(drafts, name, grades)
        if from_bench or another_score:
            outputs.append(name)
    return tuple(outputs)


def _prefix_of_scores(score: str) -> str:
    """Return how the names of the columns beside the score begin; empty where its name does not
    tell.
    """
    container, dot, name = score.partition("*")[0].rpartition(".")
    if dot:
        return "" if container.rpartition(".")[2].lower() in _ROW_OBJECTS else f"{container}."
    stem, underscore, _ = name.rpartition("_")
    return f"{stem}_" if underscore else ""


def _holds_grades(drafts: Sequence[Draft], name: str, grades: Collection[float]) -> bool:
    """Whether a column holds nothing but grades; where those are fractions, anything between the
    ends of them.
    """
    values: set[float] = set()
    for draft in drafts:
        cell = draft.meta.get(name)
        if isinstance(cell, str):
            return False
        if cell is not None:
            values.add(float(cell))
    if not values or not grades:
        return False
    if all(grade.is_integer() for grade in grades):
        return values <= set(grades)
    return min(grades) <= min(values) and max(values) <= max(grades)
