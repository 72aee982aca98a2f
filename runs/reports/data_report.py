"""A data report, an import and the queues of labels, printed for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill

from ...judges.files import KINDS, DataReport
from ..actions.check_data import RunPrice
from ..actions.make_data import Imported
from ..labels.export import QueueSummary
from .printing import say_template
from .rendering import Exact

_MOST_LABELS = 12


def say_import(done: Imported) -> None:
    """Print what an import wrote, and what was assumed."""
    labels = _counts(dict(sorted(done.labels.items())), done.rows)
    say_template("import", done=done, path=str(done.path), labels=labels)


def _counts(counts: Mapping[str, int], n: int) -> str:
    first = list(counts.items())[:_MOST_LABELS]
    texts = [f"{value}: {count:,} ({count / n:.0%})" for value, count in first]
    more = [f"and {len(counts) - len(first)} more"] if len(counts) > len(first) else []
    return "   ".join((*texts, *more))


def say_data_report(report: DataReport, price: RunPrice | None) -> None:
    """Print what was seen of a data file."""
    lengths = [
        (name, f"{one.median:,}", f"{one.p95:,}", f"{one.longest:,}", one.longest_id)
        for name, one in report.lengths.items()
    ]
    seen: list[tuple[str, ...]] = []
    clean: list[str] = []
    for kind, one in report.sightings.items():
        if one.rows:
            columns = ", ".join(one.columns[:3]) or "-"
            seen.append((f"{one.rows:,}", KINDS[kind], columns, ", ".join(one.first[:2])))
        else:
            clean.append(kind.replace("_", " "))
    widest = max(len(line[0]) for line in (("rows",), *seen))
    text = fill(f"not seen: {', '.join(clean)}", 110, initial_indent="  ", subsequent_indent="    ")
    say_template(
        "data_report",
        report=report,
        price=price,
        labels=_counts(dict(report.labels), report.rows) or "none",
        lengths=lengths,
        seen=[(n.rjust(widest), *rest) for n, *rest in seen],
        rows_head="rows".rjust(widest),
        clean=Exact(text) if clean else "",
    )


def say_label_queues(queues: Sequence[QueueSummary]) -> None:
    """Print a line for each queue of labels."""
    lines = [
        (
            one.queue,
            Path(one.data).name,
            ", ".join(one.annotators) or "-",
            f"{one.labelled:,}",
            f"{sum(one.missing.values()):,}",
            f"{one.seconds / 60:.1f}",
        )
        for one in queues
    ]
    say_template("label_queues", lines=lines)
