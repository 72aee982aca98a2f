"""How pages and files are made: templates that escape everything, and the few ways in which numbers
are written.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...optimize import BY_GATE
from ...optimize.options import option_fields, spelling
from ...slices.effect import CALIBRATION
from ..terminal import inline, visible
from . import numbers, tables
from .sentences import (
    closing_heading,
    describe_chance,
    describe_equal_gain,
    describe_evidence,
    describe_final,
    describe_threshold,
    judged_part,
    slice_heading,
    spread_of,
    step_name,
)

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from ...optimize.word_diff import Piece
    from .tables import Table


class Exact(str):
    """Text for a form field: escaped as all text is, with its control characters as they are."""

    __slots__ = ()


def open_templates(package: str = "", *, markup: bool = True, lines: bool = False) -> Environment:
    """Return the templates of a package; a name that is missing is an error, and no text from a row
    or a model is markup.

    Args:
        package: Whose folder `templates`; this one's unless given.
        markup: Whether they are HTML; Markdown has escapes of its own.
        lines: Whether a text stays on its line, as a terminal wants it.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    own = __package__ or ""
    templates = Environment(
        # What a page of the review shows of a run stands in a file to share, too.
        loader=ChoiceLoader([PackageLoader(room, "templates") for room in (package or own, own)]),
        autoescape=markup,  # noqa: S701  # see above
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=lines,  # of a template that stands in another one
        finalize=_stay_on_line if lines else _shown,
    )
    templates.filters |= {
        "number": numbers.number,
        "signed": numbers.signed,
        "interval": numbers.interval,
        "span": numbers.span,
        "p_value": numbers.p_value,
        "moment": numbers.moment,
        "count": numbers.count,
        "percent": numbers.percent,
        "price": numbers.price,
        "metrics": numbers.ordered_metrics,
        "plain": lambda value: f"{value:g}",
        "in_full": in_full,
        "exact": Exact,
        "drawn": drawn,
        "chance_sentences": describe_chance,
        "equal_gain_sentences": describe_equal_gain,
        "threshold_sentence": describe_threshold,
        "final_changes": describe_final,
        "evidence_sentences": describe_evidence,
        "spread": spread_of,
        "named_metrics": numbers.named_metrics,
        "word_diff": word_diff,
        "named_fields": named_fields,
        "code_spans": code_spans,
        "line": cut_line,
        "one_line": inline,
        "md": escape_markdown,
        "code": code,
        "fence": fence,
        "slice_heading": slice_heading,
        "step_name": step_name,
        "judged_part": judged_part,
        "closing_heading": closing_heading,
        "gate_changes": tables.gate_changes,
        "left_out": tables.left_out_columns,
        "table": markdown_table,
    }
    templates.filters |= {name: getattr(tables, name) for name in _TABLES}
    templates.globals |= {
        "by_gate": BY_GATE,
        "calibration": CALIBRATION,
        "served": bool(package),
    }
    return templates


def word_diff(old: str, new: str) -> tuple[Piece, ...]:
    """See `diff_words`."""
    from ...optimize.word_diff import diff_words

    return diff_words(old, new)


def page_style() -> str:
    """Return the style sheet of the page, which a file to share carries with it."""
    path = Path(__file__).parents[1] / "review" / "static" / "review.css"
    return path.read_text(encoding="utf-8")


_TABLES = (
    *("arms_table", "evidence_table", "slices_table", "outputs_table"),
    *("costs_table", "by_value_table", "pooled_table", "final_table", "bins_table"),
    *("confusion_table", "worst_table", "comparison_table"),
)
_MARKDOWN = re.compile(r"[\\`*_\[\]<#|~@!&$]|(?<=:)//|(?<=www)\.", re.IGNORECASE)
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


@cache
def _flags() -> frozenset[str]:
    # Here, because its options name what plug-ins bring, and finding those takes a while.
    from ..config.optimize_options import OptimizeOptions

    return frozenset(spelling(one) for one, _ in option_fields(OptimizeOptions))


def named_fields(text: str) -> str:
    """Name options of a run as the form that starts one does: “gate anyway” for `--gate-anyway`.

    Arrows become one letter: two would be torn apart at the end of a line.
    """

    def named(match: re.Match[str]) -> str:
        flag = match.group()
        return f"“{flag.removeprefix('--').replace('-', ' ')}”" if flag in _flags() else flag

    return _FLAG.sub(named, text).replace(" -> ", " → ")


def in_full(value: float) -> str:
    """Write a number so that it reads as itself, with all its digits where a few would round it."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def code_spans(text: str) -> Markup:
    """Write what stands between backticks as code; the text is escaped as all text is."""
    from markupsafe import Markup, escape

    pieces = str(escape(visible(text))).split("`")
    if len(pieces) % 2 == 0:  # a backtick without another
        return escape(visible(text))
    marked = (f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))
    return Markup("".join(marked))  # noqa: S704  # escaped above


def _shown(value: object) -> object:
    """Make control and bidirectional characters visible, as the terminal does."""
    # `Markup` says that it is markup by this method, and text does not have it.
    if isinstance(value, str) and not isinstance(value, Exact) and not hasattr(value, "__html__"):
        return visible(value)
    return value


def cut_line(text: str, most: int) -> str:
    """Return visible text on one line, cut to so many characters."""
    line = inline(text[: most + 1])
    return line if len(line) <= most else f"{line[: most - 1]}…"


def escape_markdown(text: str) -> str:
    """Write a text on one line so that Markdown shows it as it is: no markup, no mention, no
    link.
    """
    return _MARKDOWN.sub(
        lambda match: "".join(f"&#{ord(sign)};" for sign in match.group()), inline(text)
    )


def markdown_table(table: Table) -> str:
    """Write a table in Markdown; no cell is markup."""
    marks = ["---" if i < table.left else "--:" for i in range(len(table.head))]
    lines = [[escape_markdown(cell) for cell in line] for line in (table.head, *table.lines)]
    lines.insert(1, marks)
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return text + "".join(f"\n\n{escape_markdown(note)}" for note in table.notes)


def code(text: str) -> str:
    """Write a short text as a code span of Markdown, also in a table."""
    return "`" + inline(text).replace("`", "'").replace("|", "\\|") + "`"


def fence(text: str, language: str) -> str:
    """Write a text as a code block of Markdown, behind a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"


def _stay_on_line(value: object) -> object:
    return inline(value) if isinstance(value, str) and not isinstance(value, Exact) else value


def drawn(svg: str) -> Markup:
    """Let a picture of `charts.py` stand in the page; it escapes its own text, and nothing else
    comes here.
    """
    from markupsafe import Markup

    return Markup(svg)  # noqa: S704  # our own drawing
