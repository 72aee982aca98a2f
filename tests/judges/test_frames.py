"""Tables for notebooks: what they hold, that they are short, and that no text of a row acts in
them.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from judgewright.judges import (
    BINARY,
    FIRST_ROWS,
    MOST_CHARACTERS,
    MOST_LINES,
    Dataset,
    JudgedDataset,
    Registry,
    Row,
    Unscored,
    Verdict,
    calibrate,
    html_table,
    rank_judges,
    split_dataset,
)
from judgewright.judges.claims import ClaimedResponses, ClaimSettings
from judgewright.judges.files import RawRows
from judgewright.judges.metrics import measure
from judgewright.judges.published import load_published
from judgewright.judges.reliability import likely_label_errors

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "published" / "diras.yaml"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> $x$ \u202e"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(name for name, _ in attrs if name.startswith("on"))}


def tags(html: str) -> set[str]:
    """Every tag of a text, and every attribute that would run code."""
    parser = _Tags()
    parser.feed(html)
    return parser.found


ALLOWED = {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}


def judged(n: int, *, seed: int = 0, text: str = "said", simulated: bool = False) -> JudgedDataset:
    """A judge that is wrong on a fifth of the rows; the first answer is missing."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.5
    said = labels ^ (rng.random(n) < 0.2)
    rows = tuple(
        Row(
            id=f"r{i}",
            inputs={"claim": f"{text} {i}"},
            label=float(y),
            meta={"kind": text},
            group=f"g{i // 2}",
        )
        for i, y in enumerate(labels)
    )
    answers = tuple(
        (
            Verdict(
                row_id=f"r{i}",
                score=float(s),
                positive=bool(s),
                confidence=float(rng.uniform(0.5, 1)),
                rationale=text,
            )
            if i
            else Unscored(row_id="r0", reason="parse")
        )
        for i, s in enumerate(said)
    )
    data = Dataset.of(rows, labels=BINARY, name="rows", notes=[text])
    return JudgedDataset(
        dataset=data, answers=answers, scale=BINARY, judge=text, model="m", simulated=simulated
    )


def test_every_text_of_a_table_is_escaped() -> None:
    """Title, column, cell and note with tags in them make no tag; dollar signs make no
    mathematics.
    """
    html = html_table(pd.DataFrame({HOSTILE: [HOSTILE]}), title=HOSTILE, notes=[HOSTILE])
    assert tags(html) <= ALLOWED
    assert html.count("&lt;script&gt;") == 4
    assert 'class="tex2jax_ignore mathjax_ignore"' in html


def test_long_tables_and_cells_are_cut_and_it_is_said() -> None:
    """The first lines, short cells in one line, missing values empty, and how much is left out."""
    frame = pd.DataFrame(
        {"a": ["x" * 1000] * 50, "b": [None, float("nan"), "1\n2"] * 16 + [0.123456, 7]}
    )
    html = html_table(frame, title="t")
    assert html.count("<tr") == MOST_LINES + 1
    assert "30 more lines; to_frame() has all of them" in html
    assert "x" * (MOST_CHARACTERS - 1) + "…" in html
    assert "x" * MOST_CHARACTERS not in html
    assert "None" not in html
    assert "nan" not in html
    assert "<td>1 2</td>" in html
    assert "<td>0.1235</td>" in html_table(frame.tail(2), title="t")


def test_ten_thousand_rows_print_as_one_line_and_show_their_first() -> None:
    """Neither the data set nor what was judged writes itself out; the frames hold every row."""
    table = judged(10_000)
    for shown, rows in ((table.dataset, 10_000), (table, 10_000)):
        assert len(repr(shown)) < 150
        assert "10,000 rows" in repr(shown)
        assert shown._repr_html_().count("<tr") == FIRST_ROWS + 1
        assert f"{rows - FIRST_ROWS:,} more lines" in shown._repr_html_()
        assert len(shown.to_frame()) == rows
    assert "9,999 verdicts, 10,000 labels" in repr(table)
    assert (
        len(repr(RawRows(rows=table.dataset.rows, lines=(), group=None, guessed=None, notes=())))
        < 60
    )
    claimed = ClaimedResponses(judged=table, responses=(), settings=ClaimSettings(trivial="none"))
    assert repr(claimed) == f"ClaimedResponses({table!r}, 0 claims)"


def test_a_data_set_as_a_frame_keeps_its_own_columns() -> None:
    """A metadata column called like one of the row's own does not take its place."""
    rows = [
        Row(id="a", inputs={"claim": "c"}, label=1.0, meta={"label": 9, "kind": "k"}, group="g"),
        Row(id="b", inputs={"claim": "d"}),
    ]
    frame = Dataset.of(rows, labels=BINARY).to_frame()
    assert list(frame.columns) == ["id", "group", "label", "positive", "claim", "kind"]
    assert frame.loc[0].tolist() == ["a", "g", 1.0, True, "c", "k"]
    assert frame.loc[1, ["label", "positive"]].isna().all()


def test_a_benchmark_as_a_frame_has_every_metric_with_interval_and_n() -> None:
    """The numbers are those of its metrics; what was simulated says so where it is shown."""
    benchmark = measure(judged(200, simulated=True))
    frame = benchmark.to_frame().set_index("metric")
    assert list(frame.index) == list(benchmark.metrics)
    precision = benchmark.metrics["precision"]
    assert frame.loc["precision", ["value", "low", "high", "n"]].tolist() == [
        precision.value,
        precision.low,
        precision.high,
        benchmark.confusion["tp"] + benchmark.confusion["fp"],
    ]
    assert "SIMULATED" in benchmark._repr_html_()
    assert "SIMULATED" in repr(benchmark)
    assert "SIMULATED" not in repr(measure(judged(20)))


def test_a_leaderboard_as_frames_has_judges_and_pairs() -> None:
    """Judges by rank, figures that others printed without one, and each pair with its corrected p
    and n.
    """
    tables = {name: judged(300, seed=i) for i, name in enumerate(("a", "b"))}
    tables["b"] = JudgedDataset(
        dataset=tables["a"].dataset, answers=tables["b"].answers, scale=BINARY
    )
    benchmarks = {name: measure(table) for name, table in tables.items()}
    board = rank_judges(tables, benchmarks, metric="f1", published=load_published([PUBLISHED]))
    frame = board.to_frame()
    assert frame["rank"].tolist()[:2] == [1, 2]
    assert frame[frame.published][["rank", "low", "high", "n"]].isna().all(axis=None)
    assert frame.loc[frame.judge == "a", "value"].item() == benchmarks["a"].metrics["f1"].value
    pair, line = board.pairs[0], board.pairs_to_frame().iloc[0]
    assert (line["first"], line.second, line.p_holm, line.n) == (
        pair.first,
        pair.second,
        pair.p_holm,
        299,
    )
    assert line.difference == pytest.approx(line.first_value - line.second_value)
    assert tags(board._repr_html_()) <= ALLOWED


def test_splits_tell_of_sealed_rows_their_number_alone() -> None:
    """Sizes and groups of the four parts; no id and no text of a sealed row."""
    parts = split_dataset(judged(200).dataset, near_duplicates=False)
    frame = parts.to_frame().set_index("part")
    assert frame.rows.sum() == 200
    assert frame.groups.sum() == 100
    assert frame.sealed.tolist() == [False, False, True, True]
    shown = repr(parts) + parts._repr_html_()
    assert "said" not in shown
    assert "r1" not in shown


def test_a_prompt_prints_what_it_is_and_not_its_text() -> None:
    """Name, version, inputs and scale in a line."""
    prompt = Registry().get("groundedness")
    assert f"groundedness@{prompt.version}" in repr(prompt)
    assert "source, statement" in repr(prompt)
    assert len(repr(prompt)) < 150


def test_a_calibration_as_a_frame_has_before_and_after() -> None:
    """Two lines a metric, as `shown` has them."""
    found = calibrate(judged(200), method="platt")
    frame = found.to_frame()
    assert frame.rule.tolist() == ["before", "after"] * 4
    after = found.after.metrics["ece"]
    assert frame[(frame.metric == "ece") & (frame.rule == "after")].value.item() == after.value
    assert len(repr(found)) < 150
    assert tags(found._repr_html_()) <= ALLOWED


def test_suspects_are_shown_with_hostile_texts_inert() -> None:
    """Ids, both sides and the row's inputs; tags in a text, a reason or a group make no tag."""
    table = judged(200, text=HOSTILE)
    audit = likely_label_errors(table, limit=7)
    assert audit.to_frame().id.tolist() == [suspect.row.id for suspect in audit.suspects]
    for shown in (audit, table, table.dataset, measure(table)):
        assert len(repr(shown)) < 250
        assert "\u202e" not in repr(shown)
        assert tags(shown._repr_html_()) <= ALLOWED
