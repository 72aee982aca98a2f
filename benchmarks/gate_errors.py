"""How often the gate is wrong: accepts without a gain, and gains it does not accept; and what it
says of real prompts.

    python benchmarks/gate_errors.py [PART]... [--runs N]

Verdicts are drawn, no model is asked. Alike: two judges of the same quality on the labels and
groups of real files, each with a quality of its own in every group, shared or not; at most 33 of
500 accepted. Honest: the same of judges that are alike sure of their verdicts, for the Brier score.
Choices: the same of judges that choose among five classes, the rarest 4 % of the rows. Search: two
judges that differ by query only, in files of queries and passages without a column of the group; at
most 8 of 100 accepted. Real: published verdicts of real prompts, first looks. Reuse: 200 edits
against one holdout, each from the judge in use; random edits flip verdicts anywhere, idle ones mend
as much as they break. Cuts: a judge no better, put to the gate on ten pieces of a holdout; at most
17 of 200 have some accept. Planted: six points of accuracy among churn, at 2,000 holdout rows, and
at the 600 that are the holdout's share of 2,000. Refusals: how often a judge is refused that gains
four points of precision (at most 6 %), and one that loses ten points of precision, or of recall
(more than half at 300 rows). Silent: a judge of the same quality whose false positives cannot be
read on a share of 2,000 rows; at most 15 of 300 accepted.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from judgewright.judges import BINARY, Dataset, JudgedDataset, OutputScale, Row, Unscored, Verdict
from judgewright.judges.files import VerdictColumns, load_judges
from judgewright.judges.metrics import compare
from judgewright.optimize import Guard, Objective, decide, read_objective
from judgewright.optimize.events import GateDecided, read_as
from judgewright.optimize.holdout.ledger import MAX_LOOKS, History, LookRecord, alpha_of_look
from judgewright.optimize.holdout.look_counting import LookRequest, requested_look
from judgewright.runs.actions import needed, pair_verdicts

DATA = Path(__file__).resolve().parents[2] / "shared/data"
F1 = read_objective("", target="f1")
ACCURACY = read_objective("", target="accuracy")
GUARDED = read_objective("", target="precision", guards=("recall:-0.05",))
EDITS = 200
Pair = tuple[JudgedDataset, JudgedDataset]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Rows to draw verdicts on."""

    dataset: Dataset
    labels: np.ndarray
    groups: np.ndarray

    def judged(self, decisions: np.ndarray, sure: np.ndarray | None = None) -> JudgedDataset:
        """Return a judge's answers, with how sure it is of each; shape (rows,)."""
        rows = self.dataset.rows
        answers = (
            Verdict(row_id=r.id, score=float(p), positive=p, confidence=c)
            for r, p, c in zip(
                rows,
                decisions.tolist(),
                [None] * len(rows) if sure is None else sure.tolist(),
                strict=True,
            )
        )
        return JudgedDataset(dataset=self.dataset, answers=tuple(answers), scale=BINARY)


def rows_with(labels: np.ndarray, groups: np.ndarray, columns: dict[str, np.ndarray]) -> Drawn:
    """Return rows with these labels, groups and columns."""
    names, values = (
        list(columns),
        list(zip(*(c.tolist() for c in columns.values()), strict=True)) or [()] * len(labels),
    )
    rows = tuple(
        Row(
            id=str(i),
            inputs={},
            label=float(y),
            group=f"g{g}",
            meta=dict(zip(names, v, strict=True)),
        )
        for i, (y, g, v) in enumerate(zip(labels, groups, values, strict=True))
    )
    return Drawn(Dataset(rows=rows, labels=BINARY), labels, groups)


def real_rows(name: str, group: str, positive: float) -> Drawn:
    """Return the labels and groups of a real file, with columns of noise for the veto to search."""
    lines = [json.loads(line) for line in (DATA / name).read_text().splitlines()]
    cells = [line["inputs"]["query"] if group == "query" else line[group] for line in lines]
    labels = np.array([float(line["label"]) >= positive for line in lines])
    rng = np.random.default_rng(0)
    columns = {f"c{k}": rng.integers(0, k, len(lines)) for k in (2, 3, 5)}
    return rows_with(labels, np.unique(cells, return_inverse=True)[1], columns)


def made_rows(n: int, rng: np.random.Generator) -> Drawn:
    """Return rows in groups of two, half of them positive, with columns of noise."""
    columns = {f"c{k}": rng.integers(0, k, n) for k in (2, 3, 5, 8)}
    return rows_with(rng.random(n) < 0.5, np.arange(n) // 2, columns)


def noisy(drawn: Drawn, spread: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw verdicts that are wrong on a fifth of the rows, by group more or less, as a logit of its
    own says.
    """
    chance = 1 / (1 + np.exp(1.4 - spread[drawn.groups]))
    return drawn.labels ^ (rng.random(len(drawn.labels)) < chance)


FILES = {
    "TREC-DL": ("context_relevance_trec_dl.jsonl", "group_id", 2),
    "DIRAS": ("verdicts/diras_chatreport.gpt-4-nodef.jsonl", "query", 1),
    "RAGTruth responses": ("groundedness_ragtruth_qa_response.jsonl", "group_id", 1),
    "RAGTruth sentences": ("groundedness_ragtruth_qa_sentence.jsonl", "group_id", 1),
}


def decisions(
    title: str,
    draw: Callable[[np.random.Generator], Pair],
    objective: Objective,
    runs: int,
    seed: int,
) -> Counter[str]:
    """Take first looks at drawn pairs, print what was decided, and return how often."""
    rng = np.random.default_rng(seed)
    outcomes = Counter(
        decide(*draw(rng), objective, alpha=alpha_of_look(1)).outcome for _ in range(runs)
    )
    counts = (f"{outcomes[name]} {name}" for name in ("accepted", "refused", "undecided"))
    print(f"{title}: {', '.join(counts)}", flush=True)
    return outcomes


def accepts_few(
    title: str,
    draw: Callable[[np.random.Generator], Pair],
    objective: Objective,
    runs: int,
    seed: int,
    *,
    most: float = 33 / 500,
) -> bool:
    """Say whether few enough of the pairs of equal judges were accepted."""
    return decisions(title, draw, objective, runs, seed)["accepted"] <= most * runs


def alike(runs: int) -> bool:
    """Compare judges of one quality; print how many were accepted."""

    def pair(drawn: Drawn, kind: str, rng: np.random.Generator) -> Pair:
        count = int(drawn.groups.max()) + 1
        spread = rng.normal(0, 1, count)
        own = 0.0 if kind == "asked twice" else 0.7
        one, other = (
            drawn.judged(noisy(drawn, spread + rng.normal(0, own, count), rng)) for _ in range(2)
        )
        return one, other

    return on_real_rows("alike", ("asked twice", "two wordings"), pair, F1, runs, seed=1)


def honest(runs: int) -> bool:
    """Compare judges of one quality and one calibration by the Brier score; print how many were
    accepted.
    """

    def pair(drawn: Drawn, kind: str, rng: np.random.Generator) -> Pair:
        count = int(drawn.groups.max()) + 1
        spread, errs = rng.normal(0, 1, count), rng.normal(0, 1, count)
        shared = noisy(drawn, spread, rng)

        def side() -> JudgedDataset:
            decisions = shared
            if kind == "two wordings":
                decisions = noisy(drawn, spread + rng.normal(0, 0.7, count), rng)
            # Surer in some groups than in others, and overconfident on the whole.
            logits = (
                2.2
                + (errs + rng.normal(0, 0.7, count))[drawn.groups]
                + rng.normal(0, 0.5, len(decisions))
            )
            return drawn.judged(decisions, 0.5 + 0.5 / (1 + np.exp(-logits)))

        return side(), side()

    # The same verdicts with another confidence, and other verdicts too.
    objective = replace(read_objective("", target="brier"), guards=())
    return on_real_rows(
        "honest", ("confidence alone", "two wordings"), pair, objective, runs, seed=3
    )


def on_real_rows(
    said: str,
    kinds: Sequence[str],
    pair: Callable[[Drawn, str, np.random.Generator], Pair],
    objective: Objective,
    runs: int,
    seed: int,
) -> bool:
    """Compare pairs of each kind on the labels and groups of each of `FILES`."""
    good = True
    for name, (file, group, positive) in FILES.items():
        drawn = real_rows(file, group, positive)
        rows = f"{len(drawn.labels):>5,} rows, {int(drawn.groups.max()) + 1:>3} groups"
        for kind in kinds:
            title = f"{said}: {name:18} {rows}, {kind:16}"
            good &= accepts_few(title, partial(pair, drawn, kind), objective, runs, seed)
    return good


def choices(runs: int) -> bool:
    """Compare judges of one quality that choose among classes; print how many were accepted for
    each target.
    """
    recall = Objective(
        text="",
        target="recall[stock]",
        direction=None,
        guards=(Guard(metric="f1_macro_grades", margin=0.05),),
    )
    objectives = {
        "macro F1": Objective(text="", target="f1_macro_grades", direction=None),
        "accuracy": Objective(text="", target="accuracy_grades", direction=None),
        "recall of a class, macro F1 guarded": recall,
    }
    good = True
    for n, each in ((240, 1), (600, 1), (600, 3)):
        for name, objective in objectives.items():
            title = f"choices: {n} rows in {n // each} groups, {name}"
            good &= accepts_few(title, partial(choosing_pair, n, each), objective, runs, seed=2)
    return good


def search(runs: int) -> bool:
    """Compare judges each of which is good on queries of its own; print how many were accepted, and
    without groups.
    """
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for target in ("f1", "accuracy"):
            objective = read_objective("", target=target)
            pair = partial(search_pair, Path(folder), VerdictColumns())
            accepted = accepts_few(
                f"search: {target}, no column of the group",
                pair,
                objective,
                runs,
                seed=5,
                most=0.08,
            )
            alone = partial(search_pair, Path(folder), VerdictColumns(group="none"))
            accepts_few(f"search: {target}, --group none", alone, objective, runs, seed=5)
            good &= accepted
    return good


def search_pair(folder: Path, columns: VerdictColumns, rng: np.random.Generator) -> Pair:
    """Write two judges' verdicts on 60 queries with ten passages each, and read them as the gate
    does.
    """
    query = np.arange(600) // 10
    label = rng.random(600) < rng.beta(2, 2, 60)[query]
    judges: list[JudgedDataset] = []
    for name in ("before", "after"):
        wrong = rng.random(600) < rng.beta(0.4, 1.6, 60)[query]
        lines = [
            {
                "id": i,
                "query": f"hotels in town {q}",
                "passage": f"House {i} stands at the lake and has {i} beds.",
                "label": int(y),
                "score": int(y ^ w),
            }
            for i, (q, y, w) in enumerate(zip(query.tolist(), label, wrong, strict=True))
        ]
        path = folder / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)))
        judges += load_judges(path, columns).values()
    return pair_verdicts(*judges)


def choosing_pair(n: int, each: int, rng: np.random.Generator) -> Pair:
    """Draw two judges of one quality on n rows of five classes, in groups of `each`."""
    scale = OutputScale(kind="choice", labels=("orders", "support", "stock", "staff", "other"))
    labels, groups = rng.choice(5, n, p=(0.45, 0.25, 0.16, 0.10, 0.04)), np.arange(n) // each
    columns = {f"c{k}": rng.integers(0, k, n).tolist() for k in (2, 3, 5)}
    rows = tuple(
        Row(
            id=str(i),
            inputs={},
            label=float(labels[i]),
            group=f"g{groups[i]}",
            meta={column: values[i] for column, values in columns.items()},
        )
        for i in range(n)
    )
    dataset = Dataset(rows=rows, labels=scale)
    # The classes that a wrong row may be called: what a row resembles is the same for both judges.
    like = (labels + rng.integers(1, 5, n)) % 5
    spread = rng.normal(0, 1, groups[-1] + 1)

    def side() -> JudgedDataset:
        own = spread + rng.normal(0, 0.7, len(spread))
        wrong = rng.random(n) < 1 / (1 + np.exp(1.4 - own[groups]))
        codes = np.where(wrong, like, labels).tolist()
        answers = tuple(
            Verdict(row_id=row.id, score=float(code), positive=code >= 1)
            for row, code in zip(rows, codes, strict=True)
        )
        return JudgedDataset(dataset=dataset, answers=answers, scale=scale)

    return side(), side()


def real_pairs() -> Iterator[tuple[str, str, str, JudgedDataset, JudgedDataset]]:
    """Yield metric, the two names and both judges, the poorer one first where they stand in a
    matrix.
    """
    diras = {
        name: next(
            iter(
                load_judges(
                    DATA / f"verdicts/diras_chatreport.{name}.jsonl", VerdictColumns()
                ).values()
            )
        )
        for name in ("gpt-4-nodef", "gpt-4-nocot", "gpt-4-0125-preview")
    }
    for before in ("gpt-4-nodef", "gpt-4-nocot"):
        yield (
            "f1",
            before,
            "gpt-4-0125-preview",
            *pair_verdicts(diras[before], diras["gpt-4-0125-preview"]),
        )
        yield (
            "f1",
            "gpt-4-0125-preview",
            before,
            *pair_verdicts(diras["gpt-4-0125-preview"], diras[before]),
        )
    columns = VerdictColumns(score="verdicts.*", threshold=2)
    judges = load_judges(DATA / "verdicts/llmjudge_test.verdicts_matrix_dev12.jsonl", columns)
    for first, second in combinations(judges, 2):
        change = compare("kappa", judges[first], judges[second])
        order = (
            (first, second) if change is not None and change.difference >= 0 else (second, first)
        )
        yield "kappa", *order, judges[order[0]], judges[order[1]]


def real(runs: int) -> bool:
    """Print the decision on each real pair."""
    outcomes = Counter[str]()
    for metric, first, second, before, after in real_pairs():
        decision = decide(before, after, read_objective("", target=metric), alpha=alpha_of_look(1))
        outcomes[decision.outcome] += 1
        more_rows = needed(read_as(GateDecided, decision.to_json()).decision)
        c = decision.target
        shown = (
            ""
            if c is None
            else f"{metric} {c.before:.3f} -> {c.after:.3f} (p {c.p:.4f}, {c.groups} groups)"
        )
        more = (
            ""
            if more_rows is None
            else f"; about {more_rows['rows']:,} rows in {more_rows['groups']:,} groups would tell"
        )
        veto = f"; veto: {decision.veto}" if decision.veto else ""
        print(
            f"real: {first:>22} -> {second:22} {shown}: {decision.outcome}{more}{veto}", flush=True
        )
    print(f"real: {dict(outcomes)}")
    return True


def reuse(runs: int) -> bool:
    """Throw edits at one holdout; print how many seeds had a false accept."""
    good = True
    for kind, allowed in (("random", 0.01), ("idle", 0.05)):
        for looks in (MAX_LOOKS, EDITS):
            false = accepts = 0
            for seed in range(runs):
                accepted = _accepts(kind, looks, np.random.default_rng(seed))
                false, accepts = false + (accepted > 0), accepts + accepted
            # What is allowed, and two standard errors of so many seeds where the gate's own level
            # is.
            limit = allowed * runs + (2 * (runs * allowed) ** 0.5 if kind == "idle" else 0)
            good &= false <= limit
            print(f"reuse: {EDITS} {kind} edits, {looks} looks allowed: ", end="")
            print(
                f"a false accept in {false} of {runs} seeds ({accepts} in all; at most {limit:.0f}"
                " seeds)",
                flush=True,
            )
    return good


def _accepts(kind: str, looks: int, rng: np.random.Generator) -> int:
    """Count the false accepts among the edits that a holdout lets in."""
    drawn = made_rows(300, rng)
    current, look, accepts = noisy(drawn, np.zeros(len(drawn.labels)), rng), 0, 0
    before = drawn.judged(current)
    for _ in range(min(EDITS, looks)):
        proposed = current ^ _flips(kind, drawn.labels == current, rng)
        after = drawn.judged(proposed)
        look += 1
        decision = decide(before, after, ACCURACY, alpha=alpha_of_look(look), look=look)
        if decision.accepted:
            # An accept starts the count of looks anew.
            current, before, look, accepts = proposed, after, 0, accepts + 1
    return accepts


def cuts(runs: int) -> bool:
    """Decide on ten pieces of a holdout, one after the other, for a judge no better; print in how
    many some accept.
    """
    some = numbers = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        drawn = made_rows(1_000, rng)
        spread = rng.normal(0, 1, 500)
        sides = [
            drawn.judged(noisy(drawn, spread + rng.normal(0, 0.7, 500), rng)) for _ in range(2)
        ]
        history, accepted = History(), False
        for piece in range(10):
            before, after = (side.only(range(100 * piece, 100 * piece + 100)) for side in sides)
            look = requested_look(history, _look_at(before.dataset, piece))
            decision = decide(before, after, ACCURACY, alpha=look.alpha, look=look.number)
            accepted |= decision.accepted
            records = (*history.records, LookRecord(look=look, outcome="refused", reason=""))
            history = replace(history, records=records)
        some, numbers = some + accepted, max(numbers, look.number)
    print(
        f"cuts: ten pieces of a holdout, a judge no better: some accepted in {some} of {runs}, ",
        end="",
    )
    print(f"the last at look {numbers}", flush=True)
    return some <= 17 * runs / 200


def _look_at(piece: Dataset, number: int) -> LookRequest:
    run_id = str(number)
    return LookRequest(
        holdout=piece.content_hash,
        run_id=run_id,
        before="old",
        after="new",
        purpose="gate",
        line="",
    )


def _flips(kind: str, right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    rate = rng.uniform(0.01, 0.15)
    if kind == "random":
        return rng.random(len(right)) < rate
    # As many flips to the right as to the wrong, by the chance of each row before anything was
    # drawn.
    share = 0.8
    return rng.random(len(right)) < rate * np.where(right, 0.5 / share, 0.5 / (1 - share))


def planted(runs: int) -> bool:
    """Print how often a gain of six points is accepted."""
    good = True
    for n in (2_000, 600):
        for churn in (0.04, 0.10):
            title = f"planted: +6 points, {n:,} holdout rows, {churn:.0%} of rows churned beside"
            outcomes = decisions(title, partial(better_pair, n, churn), F1, runs, seed=3)
            good &= outcomes["accepted"] >= 0.90 * runs or n < 2_000
    return good


def better_pair(n: int, churn: float, rng: np.random.Generator) -> Pair:
    """Draw a judge and one that is six points better, beside so many rows that merely change."""
    drawn = made_rows(n, rng)
    old = noisy(drawn, np.zeros(n), rng)
    mends, breaks = (0.06 + churn / 2) / 0.2, (churn / 2) / 0.8
    new = old ^ (rng.random(n) < np.where(old == drawn.labels, breaks, mends))
    return drawn.judged(old), drawn.judged(new)


def refusals(runs: int) -> bool:
    """Print what is decided of judges whose true changes of precision and recall are known."""
    good = True
    for precision, recall in ((0.04, 0.0), (0.04, -0.02), (-0.10, 0.0), (0.04, -0.10)):
        for n in (60, 120, 300):
            title = f"refusals: precision {precision:+.2f}, recall {recall:+.2f}, {n} rows"
            pair = partial(changed_pair, n, precision, recall)
            share = decisions(title, pair, GUARDED, runs, seed=5)["refused"] / runs
            worse = precision < 0 or recall < -GUARDED.guards[0].margin
            good &= share > 0.5 or n < 300 if worse else share < 0.06
    return good


def changed_pair(n: int, precision: float, recall: float, rng: np.random.Generator) -> Pair:
    """Draw a judge with a precision of .73 and a recall of .8, and one with these true changes of
    both.

    Beside what it takes for the changes, one verdict in fifty is turned each way.
    """
    drawn = rows_with(rng.random(n) < 0.5, np.arange(n), {})
    rates = {True: 0.8, False: 0.3}
    wanted = {True: 0.8 + recall, False: (0.8 + recall) * (1 / (0.8 / 1.1 + precision) - 1)}
    old = rng.random(n) < np.where(drawn.labels, rates[True], rates[False])
    flips = np.zeros(n)
    for label, rate in rates.items():
        more = wanted[label] - rate
        to_yes, to_no = 0.02 + max(more, 0.0), 0.02 + max(-more, 0.0)
        flips[drawn.labels == label] = np.where(old, to_no / rate, to_yes / (1 - rate))[
            drawn.labels == label
        ]
    return drawn.judged(old), drawn.judged(old ^ (rng.random(n) < flips))


def silent(runs: int) -> bool:
    """Hide a new judge's false positives on a share of the rows; print how often the equal judge is
    accepted.
    """
    good = True
    for share in (0.045, 0.02, 0.01):
        title = f"silent: false positives unreadable in {share:.1%} of the rows"
        pair = partial(silent_pair, share)
        good &= accepts_few(title, pair, GUARDED, runs, seed=3, most=15 / 300)
    return good


def silent_pair(share: float, rng: np.random.Generator) -> Pair:
    """Draw two equal judges, the second one's false positives hidden on a share of the rows."""
    drawn = made_rows(2_000, rng)
    old = noisy(drawn, np.zeros(2_000), rng)
    new = old ^ (rng.random(2_000) < np.where(old == drawn.labels, 0.05 / 0.8, 0.05 / 0.2))
    false_positives = rng.permutation(np.flatnonzero(new & ~drawn.labels))
    hidden = np.isin(np.arange(2_000), false_positives[: int(share * 2_000)])
    return drawn.judged(old), unread(drawn.judged(new), hidden)


def unread(judged: JudgedDataset, hidden: np.ndarray) -> JudgedDataset:
    """Return the answers without those at the hidden rows; shape (rows,)."""
    answers = tuple(
        Unscored(row_id=answer.row_id, reason="parse") if gone else answer
        for answer, gone in zip(judged.answers, hidden.tolist(), strict=True)
    )
    return replace(judged, answers=answers)


PARTS = {
    "alike": (alike, 500),
    "honest": (honest, 500),
    "choices": (choices, 500),
    "search": (search, 100),
    "real": (real, 1),
    "reuse": (reuse, 100),
    "cuts": (cuts, 200),
    "planted": (planted, 200),
    "refusals": (refusals, 150),
    "silent": (silent, 300),
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--runs", type=int)
    options = parser.parse_args()
    held = [PARTS[name][0](options.runs or PARTS[name][1]) for name in options.parts or PARTS]
    sys.exit(0 if all(held) else 1)
