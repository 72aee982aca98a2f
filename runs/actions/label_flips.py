"""Put two prompts through the gate on rows that nobody has labelled: judge, make a queue, decide by
its labels.

Both are asked about the pool, or their verdicts on it are there already. The rows with both
verdicts, and how rows are drawn from them, are frozen in a run of the kind `queue`, and the look is
entered in the ledger with the first label. Then people label (`judgewright label`), and the same
question asked again says what the labels decide. A decision is entered once and stays; a queue that
is abandoned is concluded undecided, and its look counts all the same.

Unlike the gate on a labelled holdout this one knows no veto by slices, for which the labels of
flips are too few, and no least share of answers: a row that one side alone left unscored counts
against the new prompt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...judges import (
    Client,
    ClientStats,
    Dataset,
    InputError,
    JudgedDataset,
    JudgePrompt,
    Row,
    hash_rows,
)
from ...judges.files import NO_GROUP
from ...judges.models import ask_together
from ...optimize.events import GateAnswered, read_as
from ...optimize.flips import (
    FlipDecision,
    FlipDesign,
    FlipQueue,
    FlipWins,
    GivenLabel,
    count_flips,
    pool_rows,
    require_linear,
)
from ...optimize.holdout import RowFingerprints, ask_again, row_keys
from ...optimize.holdout.ledger import MAX_LOOKS, Look
from ...optimize.holdout.look_counting import LookRequest, requested_look, require_allowed
from ...optimize.holdout.sides import SeenRows
from ..labels.queue import (
    FLIPS,
    JUDGING,
    KIND,
    LOOK_WANTED,
    QueueConfig,
    ask_otherwise,
    enter_queue_look,
    hash_unlabelled,
    with_meanings,
)
from ..labels.session import AWAITS_SECOND, labels_of_queue
from ..store.journal import (
    RunJournal,
    RunRecord,
    create_run,
    get_run,
    run_session,
    set_config,
    set_state,
)
from ..store.labels import LabelStore
from ..store.ledger import HoldoutLedger
from ..store.run_clients import open_run_clients
from ..store.sealed_rows import pair_of
from ..store.workspace import Workspace
from .decide import GATED, GateModel, Terms, ask_rows, hash_question, named, spent
from .gate import TwoJudges, hash_verdicts
from .verdict_pairs import pair_verdicts, rows_judged

OPEN_REASON = "people are labelling; what their labels show is said when it is decided"
COUNTED = ("labels", "skipped", "unused", "holdout_labels", "estimand")
"""What of a decision may be seen while people label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipTerms:
    """What is decided by flips, and how people are asked."""

    terms: Terms
    ask: str = ""
    """The question above every row, in the user's words."""
    second: float = 0.0
    """Share of the rows that a second annotator labels too."""
    command: tuple[str, ...] = ()
    """The words after `judgewright gate` that ask this again, for who has labelled; empty from
    Python.
    """

    def require_fit(self) -> None:
        """Make sure that flips can decide it.

        Raises:
            InputError: A metric is no sum over rows, or a slice is to be kept.
        """
        objective = self.terms.objective
        for metric in (objective.target, *(guard.metric for guard in objective.guards)):
            require_linear(metric)
        if objective.floors:
            raise InputError(
                "the labels of flips say which prompt is better, not how high"
                f" {objective.floors[0].metric} is",
                hint="leave out the floor, or label a holdout for judgewright gate",
            )
        if self.terms.slice is not None or objective.slice is not None:
            raise InputError(
                "the labels of flips are too few to watch a slice", hint="leave out --slice"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipGated:
    """How far a queue has come, and what it decides."""

    run_id: str
    about: Mapping[str, Any]  # Any: JSON
    """Names of both judges, the pool's counts, the objective as it was read, the model."""
    look: Look
    decision: FlipDecision
    answer: GateAnswered | None
    """The decision as it was entered; None while there is none."""
    question: str = ""
    """What people are asked, in the user's words; empty where nobody said it."""
    most_labels: int | None = None
    """About how many rows it can draw in all, as known before the first label; None where there
    were none.
    """
    wins: FlipWins | None = None
    """How many labelled flips each won; None until it is decided, as who labels is not to see it.
    """
    awaited: bool = False
    """Whether a second annotator is still to label some rows."""
    spent: bool = True
    """Whether the look was entered: with the first label, or with labels of the holdout."""
    stats: ClientStats | None = None

    @property
    def ends(self) -> bool:
        """Whether no further label can change it."""
        return self.decision.over and not (self.awaited and not self.decision.decided)

    @property
    def accepted(self) -> bool:
        """Whether the second judge may replace the first."""
        return self.answer is not None and self.answer.decision.accepted

    @property
    def outcome(self) -> str:
        """What was decided; while nothing is, `undecided` or `not shown`."""
        return self.answer.decision.outcome if self.answer else self.decision.outcome

    @property
    def tells(self) -> bool:
        """Whether evidence may be seen: before the first label and after the last, so that who
        labels cannot look.
        """
        return self.answer is not None or self.decision.labels + self.decision.holdout_labels == 0

    @property
    def reason(self) -> str:
        """Why, in a sentence; as long as people label it says nothing of what their labels show."""
        if self.answer is not None:
            return self.answer.decision.reason
        return self.decision.reason if self.tells else OPEN_REASON

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return what `gate --unlabelled --json` prints."""
        evidence = self.decision.to_json()
        return {
            "run": self.run_id,
            **self.about,
            "estimand": self.decision.estimand,
            "decision": {"accepted": self.accepted, "outcome": self.outcome, "reason": self.reason},
            "evidence": evidence if self.tells else {name: evidence[name] for name in COUNTED},
            "look": self.look.number,
            "alpha": self.look.alpha,
            "look_spent": self.spent,
            "concluded": self.answer is not None,
            "most_labels": self.most_labels,
            "flips_won": None if self.wins is None else asdict(self.wins),
            **spent(self.stats),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRows:
    """The rows that are decided on, and how a queue reads them again."""

    data: Path
    reading: Mapping[str, Any]  # Any: JSON
    """Arguments of `load_dataset`; `label_scale` as text."""
    inputs: tuple[str, ...]
    pool: Dataset
    sealed: Dataset | None
    """The sealed holdout, whose own labels are taken in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What both say of the rows, part by part."""

    parts: Sequence[tuple[JudgedDataset, JudgedDataset]]
    model: str | None = None
    stats: ClientStats | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judges:
    """The two that are decided between."""

    names: tuple[str, str]
    look: Mapping[str, Any]  # Any: JSON
    """How the ledger names them; see `LookRequest`."""
    question: Mapping[str, Any]  # Any: JSON
    """What identifies them in a question that was asked before."""
    judge: Callable[[str, Sequence[Dataset]], _Judged]
    """Called with the queue's run and the parts of the rows."""


def gate_by_flips(
    workspace: Workspace,
    two: TwoJudges,
    terms: FlipTerms,
    model: GateModel,
    *,
    holdout: Path | None = None,
) -> FlipGated:
    """Ask two prompts about rows without labels and make the queue; once there is one, say what its
    labels decide.

    Args:
        two: The prompts, and the pool as their data.
        holdout: The sealed holdout, whose own labels are taken in.

    Raises:
        InputError: The rows, the terms or the holdout's state allow no decision.
        WorldError: The endpoint, the budget or the disk stopped it; asking again goes on.
    """
    before, after = two.before, two.after
    terms.require_fit()
    if before.version == after.version:
        raise InputError(
            f"{named(before)} and {named(after)} are the same prompt; there is nothing to decide"
        )

    def judge(run_id: str, parts: Sequence[Dataset]) -> _Judged:
        with open_run_clients(workspace, run_id, model.options, model.environment) as clients:
            client = clients[model.options.model, model.options.via]
            judged = [_ask_both(two, part, client, model) for part in parts]
        return _Judged(parts=judged, model=client.model.name, stats=client.stats)

    judges = _Judges(
        names=(named(before), named(after)),
        look={"before": before.version, "after": after.version},
        question={**model.question(), **two.versions()},
        judge=judge,
    )
    rows = FlipRows(
        data=two.data,
        reading=two.reading,
        inputs=two.inputs,
        pool=two.dataset(require_labels=False),
        sealed=None if holdout is None else replace(two, data=holdout).dataset(),
    )
    return _gate(workspace, judges, terms, rows)


def gate_verdicts_by_flips(
    workspace: Workspace,
    before: JudgedDataset,
    after: JudgedDataset,
    terms: FlipTerms,
    rows: FlipRows,
    *,
    known_as: tuple[str, ...] = (),
) -> FlipGated:
    """Do the same with verdicts that two judges have given; rows and verdicts are joined by their
    ids.

    Args:
        before, after: The verdicts, of rows with or without labels.
        known_as: Versions under which the figures of either may have been seen before.

    Raises:
        InputError: The rows, the terms or the holdout's state allow no decision.
    """
    terms.require_fit()
    rows = replace(rows, pool=rows_judged(rows.pool, before, after))
    versions = {"before": hash_verdicts(before), "after": hash_verdicts(after)}
    pair = pair_of(before, after, known_as)
    judges = _Judges(
        names=(before.judge, after.judge),
        look={**versions, "known_as": known_as, "pair": pair},
        question=versions,
        judge=lambda _, parts: _Judged(parts=[pair_verdicts(before, after, p) for p in parts]),
    )
    return _gate(workspace, judges, terms, rows)


def _gate(workspace: Workspace, judges: _Judges, terms: FlipTerms, rows: FlipRows) -> FlipGated:
    """Make the queue; once there is one, say what its labels decide."""
    database, every, sealed = workspace.database, rows.pool, rows.sealed
    question = {**judges.question, **terms.terms.to_json(), "estimand": "groups"}
    question |= {"pool": hash_unlabelled(every), "holdout": sealed.content_hash if sealed else None}
    earlier_run = find_flips(workspace, question)
    if earlier_run is not None and decides_flips(get_run(database, earlier_run)):
        ask_otherwise(workspace, earlier_run, question=terms.ask, second=terms.second)
        return settle_flips(workspace, earlier_run)
    pool, notes = _leave_out(workspace, every, sealed)
    unit = _unit_of(pool, rows.reading)
    labels = sealed.labels if sealed else pool.labels
    notes = [*pool.notes, *notes]
    config = QueueConfig(
        data=str(rows.data.resolve()),
        data_hash=hash_unlabelled(pool),
        inputs=rows.inputs,
        reading=rows.reading,
        scale=asdict(labels),
        design={"kind": JUDGING, "question": question},
        rows=tuple(row.id for row in pool.rows),
        question=terms.ask,
        second=terms.second,
    )
    database.claim(f"question {hash_question(question)}")
    run_id = (
        earlier_run or find_flips(workspace, question) or create_run(database, KIND, asdict(config))
    )
    with run_session(database, run_id):
        judged = judges.judge(run_id, [pool] if sealed is None else [pool, sealed])
        sides = judged.parts[0]
        drawable = pool_rows(*sides)
        if all(row.before == row.after for row in drawable):
            raise InputError(
                f"{' and '.join(judges.names)} say the same of every row; there is nothing to label"
            )
        repeated = sum(row.same_as != "" for row in drawable)
        if repeated:
            same = f"{repeated:,} rows have the same texts as another"
            notes.append(f"{same}: one label counts for all of them")
        holdout_rows = () if sealed is None else pool_rows(*judged.parts[1], labelled=True)
        look, look_request = _want_look(
            workspace, run_id, judges, pool, sealed, allow_opened=terms.terms.allow_opened
        )
        design = FlipDesign(
            target=terms.terms.objective.target,
            guards=terms.terms.objective.guards,
            alpha=look.alpha,
            # The same question draws the same rows.
            seed=int.from_bytes(
                hashlib.blake2b(repr(question).encode("utf-8", "replace"), digest_size=4).digest()
            ),
            positive_from=labels.threshold,
            rows=(*drawable, *holdout_rows),
            unit=unit,
        )
        about = terms.terms.about(*judges.names, rows.data.name, pool, notes)
        about |= {
            "model": judged.model,
            "simulated": sides[0].simulated or sides[1].simulated,
            "flipped": count_flips(drawable),
            "holdout_rows": len(holdout_rows),
        }
        drawn = {
            "kind": FLIPS,
            "question": question,
            "about": about,
            "look": asdict(look),
            "flips": design.to_json(),
            "command": terms.command,
            LOOK_WANTED: look_request,
        }
        scale = asdict(with_meanings(labels, *(side.scale for side in sides)))
        set_config(database, run_id, asdict(replace(config, design=drawn, scale=scale)))
        if holdout_rows:
            # The holdout's own labels count from the start.
            enter_queue_look(workspace, run_id)
    # It waits for labels.
    set_state(database, run_id, "stopped")
    return replace(settle_flips(workspace, run_id), stats=judged.stats)


def settle_flips(workspace: Workspace, run_id: str, *, abandon: bool = False) -> FlipGated:
    """Enter what the labels of a queue decide, in the ledger and in the run, where it stays; say
    how far it has come.

    Args:
        abandon: Whether to conclude it undecided where the labels so far decide nothing.
    """
    gated = flip_progress(workspace, run_id)
    decision, look, database = gated.decision, gated.look, workspace.database
    if gated.answer is not None or not (gated.ends or abandon):
        return gated
    early = () if decision.over else (f"abandoned after {decision.labels:,} labels",)
    reason = "; ".join((*early, decision.reason, *look.cautions))
    left_out = ("flipped", "holdout_rows")
    about = {name: value for name, value in gated.about.items() if name not in left_out}
    entered = {"accepted": decision.accepted, "outcome": decision.outcome, "reason": reason}
    database.claim(run_id)
    with run_session(database, run_id):
        if gated.spent:
            HoldoutLedger(database).conclude(look, outcome=decision.outcome, reason=reason)
        event = RunJournal(database, run_id).record(
            GATED, {**about, "decision": entered, "flips": decision.to_json()}
        )
    return replace(flip_progress(workspace, run_id), answer=read_as(GateAnswered, event.payload))


def decides_flips(record: RunRecord) -> bool:
    """Whether a run is a queue that decides between two prompts."""
    return record.kind == KIND and record.config["design"]["kind"] == FLIPS


def flip_progress(workspace: Workspace, run_id: str) -> FlipGated:
    """Say how far the labels of a queue have come; nothing is entered."""
    database = workspace.database
    config = QueueConfig.from_json(get_run(database, run_id).config)
    labels = labels_of_queue(run_id, config, LabelStore(database).records(run_id))
    counted_labels = [GivenLabel(label.first.row_id, label.label) for label in labels]
    events = RunJournal(database, run_id).events()
    queue = FlipQueue(FlipDesign.from_json(config.design["flips"]))
    answer = next(
        (read_as(GateAnswered, event.payload) for event in events if event.kind == GATED), None
    )
    return FlipGated(
        run_id=run_id,
        about=config.design["about"],
        look=Look.from_json(config.design["look"]),
        decision=queue.decide(counted_labels),
        answer=answer,
        question=config.question,
        most_labels=queue.decide([]).most_left,
        wins=None if answer is None else queue.wins(counted_labels),
        awaited=any(label.reason == AWAITS_SECOND for label in labels),
        spent=LOOK_WANTED not in config.design,
    )


def find_flips(workspace: Workspace, question: Mapping[str, Any]) -> str | None:  # Any: JSON
    """Return the run that asks a question already."""
    for info in reversed(workspace.runs(KIND)):
        if info.config["design"].get("question") == question:
            return info.run_id
    return None


def _ask_both(
    two: TwoJudges, rows: Dataset, client: Client, model: GateModel
) -> tuple[JudgedDataset, JudgedDataset]:
    """Ask both prompts, and again about what either left unanswered."""

    def ask(prompt: JudgePrompt, some: Dataset, repeat: int) -> JudgedDataset:
        return ask_rows(
            prompt, some, client, model, rule=two.rules.get(prompt.version), repeat=repeat
        )

    before, after = ask_together(
        [partial(ask, two.before, rows, 0), partial(ask, two.after, rows, 0)]
    )
    before, after, _ = ask_again(
        before, after, partial(ask, two.before), partial(ask, two.after), unlabelled=True
    )
    return before, after


def _want_look(
    workspace: Workspace,
    run_id: str,
    judges: _Judges,
    pool: Dataset,
    sealed: Dataset | None,
    *,
    allow_opened: bool,
) -> tuple[Look, dict[str, Any]]:  # Any: JSON
    """Return the look that the first label will be, and with what it is begun then; only the rows
    are entered.
    """
    unlabelled = replace(pool, rows=tuple(replace(row, label=None) for row in pool.rows))
    parts = (unlabelled,) if sealed is None else (unlabelled, sealed)
    content_hash = hash_rows(row for part in parts for row in part.rows)
    ledger = HoldoutLedger(workspace.database)
    rows = {content_hash: RowFingerprints.of(*parts)}
    seen = SeenRows(run_id=run_id, sealed=rows)
    ledger.remember(seen, allow_opened=allow_opened)
    request: dict[str, Any] = {"known_as": (), "pair": None, **judges.look}  # Any: JSON
    request |= {"holdout": content_hash, "purpose": "gate", "line": ""}
    look = requested_look(ledger.history(), LookRequest(**request, run_id=run_id))
    require_allowed(look, MAX_LOOKS)
    return look, request


def _leave_out(
    workspace: Workspace, every: Dataset, sealed: Dataset | None
) -> tuple[Dataset, list[str]]:
    """Return the rows that can decide, and how many others there are: labelled, seen by a run, or
    of the holdout.

    Raises:
        InputError: None is left.
    """
    pool, notes = every, list[str]()

    def keep(rows: Sequence[Row], why: str) -> None:
        nonlocal pool
        if len(rows) < len(pool):
            notes.append(f"{len(pool) - len(rows):,} rows are left out: {why}")
        pool = replace(pool, rows=tuple(rows))

    keep(
        [row for row in pool.rows if row.label is None],
        "they have a label (--holdout takes one in)",
    )
    if sealed is not None:
        parts = [RowFingerprints.of(sealed)]
        keep(_apart(pool, parts), "they, or rows of their groups, stand in the holdout")
    parts = [memory.open for memory in workspace.history().memories]
    keep(_apart(pool, parts), "they, or rows of their groups, were open to an earlier run")
    if not pool.rows:
        raise InputError(
            f"no row of {every.name} is left to decide on: {'; '.join(notes) or 'it has none'}",
            hint="give rows that no run has seen and nobody has labelled",
        )
    return pool, notes


def _apart(pool: Dataset, parts: Sequence[RowFingerprints]) -> list[Row]:
    """Return the rows of the groups that have no row, and no text of their own, in other parts."""
    mine = RowFingerprints.of(pool)
    theirs = frozenset[bytes]().union(*(part.keys for part in parts if mine.shares_key(part)))
    rows = list(pool.rows)
    while theirs:
        some = replace(pool, rows=tuple(rows))
        met: set[bytes] = set()
        for group in RowFingerprints.of(some).groups:
            if not theirs.isdisjoint(group.rows) or not theirs.isdisjoint(group.texts):
                met |= group.rows
        if not met:
            break
        names = {row.group_key for row, key in zip(rows, row_keys(some), strict=True) if key in met}
        # A text that two groups had may now be one group's own: look again.
        rows = [row for row in rows if row.group_key not in names]
    return rows


def _unit_of(pool: Dataset, reading: Mapping[str, Any]) -> str:  # Any: JSON
    """Return what the rows of one group share: the column that was named, else the text that makes
    the groups; empty where neither is known.
    """
    if reading.get("group"):
        return "" if reading["group"] == NO_GROUP else str(reading["group"])
    groups = {row.group_key for row in pool.rows}
    lengths: dict[str, int] = {}
    for name in pool.rows[0].inputs:
        pairs = {(row.group_key, _words(row.inputs.get(name, ""))) for row in pool.rows}
        if len(pairs) == len(groups) == len({text for _, text in pairs}):
            lengths[name] = sum(len(row.inputs.get(name, "")) for row in pool.rows)
    # Where several do, such as in rows that are all alone, it is the one by which files are
    # grouped.
    return max(lengths, key=lambda name: lengths[name], default="")


def _words(text: str) -> str:
    return " ".join(text.split())
