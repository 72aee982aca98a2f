"""A data report and an import, printed for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from ...judges.datasets import SOURCES
from ...judges.files import KINDS, DataReport
from ..actions.check_data import RunPrice
from ..actions.make_data import Imported
from ..labels.export import QueueSummary
from ..terminal import inline, say, say_table

_MOST_LABELS = 12


def say_import(done: Imported) -> None:
    """Print what an import wrote, what was assumed, and what to heed."""
    shown = SOURCES[done.source]
    say(f"{done.path}: {done.rows:,} rows in {done.groups:,} groups from {done.source}")
    say(f"  labels   {_counts(dict(sorted(done.labels.items())), done.rows)}")
    if len(done.datasets) > 1:
        say(f"  dataset  {_counts(dict(done.datasets.most_common()), done.rows)}")
    for note in done.notes:
        say(f"note: {note}")
    say(f"licence: {shown.licence}")
    say(f"next: judgewright data check {done.path}")


def _counts(counts: dict[str, int], n: int) -> str:
    shown = [
        f"{inline(value)}: {count:,} ({count / n:.0%})"
        for value, count in list(counts.items())[:_MOST_LABELS]
    ]
    return "   ".join(shown) + (
        f"   and {len(counts) - _MOST_LABELS} more" if len(counts) > _MOST_LABELS else ""
    )


def say_data_report(report: DataReport, price: RunPrice | None) -> None:
    """Print what was seen of a data file."""
    g = report.groups
    say(f"{report.name}: {report.rows:,} rows\n")
    labels = _counts(dict(report.labels), report.rows) or "none"
    say(f"  labels  {labels}" + (f"   missing: {report.unlabelled:,}" if report.unlabelled else ""))
    named = f" ({inline(g.largest_name)})" if g.largest_name and g.largest > 1 else ""
    sizes = f"rows in one: median {g.median}, at most {g.largest:,}{named}"
    say(f"  groups  {g.count:,} by {g.column or g.guessed or 'row'}; {sizes}")
    if g.alone:
        say(f"          {g.alone:,} rows have no group and stand alone")
    say()
    lines = [
        (c, f"{x.median:,}", f"{x.p95:,}", f"{x.longest:,}", x.longest_id)
        for c, x in report.lengths.items()
    ]
    say_table(("characters", "median", "95 %", "longest", "row"), lines)
    _say_tokens(report, price)
    _say_sightings(report)
    if report.leaks:
        say()
        say_table(("not to be shown to a judge", "why"), report.leaks.items(), left=2)
    say()
    for note in report.notes:
        say(f"note: {note}")


def _say_tokens(report: DataReport, price: RunPrice | None) -> None:
    t = report.tokens
    if t is None:
        return
    about = "" if t.counted == t.calls else f", from {t.counted:,} rows evenly spread"
    what = "of the inputs" if t.of == "inputs" else f"of a run of {t.of}"
    say(
        f"\n  tokens {what}: {t.total:,} (a row: median {t.median:,}, 95 % {t.p95:,}, longest"
        f" {t.longest:,}{about})"
    )
    say(f"  counted by {t.method}")
    if price is not None and price.low is not None and price.high is not None:
        say(
            f"  price with {price.model}: ${price.low:.2f} for the prompts, at most"
            f" ${price.high:.2f} with the replies"
        )
    elif price is not None:
        say(f"  the price of {price.model} is not known; JUDGEWRIGHT_PRICES names a file of prices")


def _say_sightings(report: DataReport) -> None:
    seen = [(kind, s) for kind, s in report.sightings.items() if s.rows]
    say()
    if seen:
        lines = [
            (f"{s.rows:,}", KINDS[kind], ", ".join(s.columns[:3]) or "-", ", ".join(s.first[:2]))
            for kind, s in seen
        ]
        widest = max(len(line[0]) for line in (("rows",), *lines))
        say_table(
            ("rows".rjust(widest), "to look at", "in", "first"),
            [(n.rjust(widest), *rest) for n, *rest in lines],
            left=4,
        )
    clean = [kind.replace("_", " ") for kind, s in report.sightings.items() if not s.rows]
    if clean:
        say(
            fill(
                f"not seen: {', '.join(clean)}", 110, initial_indent="  ", subsequent_indent="    "
            )
        )


def say_label_queues(queues: Sequence[QueueSummary]) -> None:
    """Print a line for each queue of labels."""
    lines: list[tuple[str, ...]] = []
    for one in queues:
        missing, minutes = sum(one.missing.values()), one.seconds / 60
        who = ", ".join(one.annotators) or "-"
        lines.append(
            (
                one.run_id,
                Path(one.data).name,
                who,
                f"{one.labelled:,}",
                f"{missing:,}",
                f"{minutes:.1f}",
            )
        )
    say_table(
        ("queue", "rows of", "annotators", "labelled", "without a label", "minutes"), lines, left=3
    )
