"""The report of a measurement: complete, self-contained, and deaf to what the rows say."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from judgewright.judges import (
    BINARY,
    PROBABILITY,
    Benchmark,
    Dataset,
    JudgedDataset,
    OutputScale,
    Row,
    Unscored,
    Verdict,
    by_column,
    measure,
)
from judgewright.runs.reports import DISAGREEMENTS, MOST_CHARTED, MOST_LISTED, render_score_report
from judgewright.runs.reports.numbers import number

GRADED = OutputScale(kind="graded", low=0, high=3, threshold=2)
VOID = ("meta", "br", "img", "input", "link", "hr")
HOSTILE = (
    "<script>alert(1)</script>",
    "</textarea></pre></details><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    '" onmouseover="alert(1)',
    "{{ 7 * 191 }}{% raw %}",
    "</style><style>body{display:none}",
    "]]><svg/onload=alert(1)>",
    "<!--",
    "bidi \u202e override \u2066",
    "control \x00\x1b[31m\x85",
    "half a pair \ud800",
    "\ufffe",
)


class Page(HTMLParser):
    """What a browser would find in the page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.crossed: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1:] == [tag]:
            self.open.pop()
        else:
            self.crossed.append(tag)

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def values(self, attribute: str) -> list[str]:
        """Return every value of an attribute."""
        return [value for _, attrs in self.tags if (value := attrs.get(attribute)) is not None]


def table(
    answers: Sequence[tuple[float, float | None]],
    *,
    scale: OutputScale = BINARY,
    confidence: Sequence[float | None] = (),
    texts: Sequence[str] = (),
    values: Sequence[str] = (),
    simulated: bool = False,
) -> JudgedDataset:
    """Return rows of (label, score), None for unscored, with a text and a value of column `kind`
    each.
    """
    rows: list[Row] = []
    verdicts: list[Verdict | Unscored] = []
    for i, (label, score) in enumerate(answers):
        inputs = {"answer": texts[i] if texts else f"the answer {i}"}
        meta = {"kind": values[i] if values else "one"}
        rows.append(Row(id=f"row-{i}", inputs=inputs, label=label, meta=meta))
        if score is None:
            verdicts.append(Unscored(row_id=f"row-{i}", reason="parse"))
            continue
        sure = {
            "positive": scale.positive(score),
            "confidence": confidence[i] if confidence else None,
        }
        verdicts.append(Verdict(row_id=f"row-{i}", score=score, **sure))
    labels = BINARY if scale is PROBABILITY else scale
    data = Dataset.of(rows, labels=labels, name="made here")
    about = {"judge": "made@1", "model": "none", "simulated": simulated}
    return JudgedDataset(dataset=data, answers=tuple(verdicts), scale=scale, **about)


def render(judged: JudgedDataset, by: dict[str, Benchmark] | None = None) -> str:
    """Return the page of a table."""
    return render_score_report(
        judged,
        measure(judged),
        by=by or {},
        by_column="kind" if by else None,
        title="A title",
    )


MIXED: list[tuple[float, float | None]] = [
    (1, 1),
    (0, 0),
    (1, 0),
    (0, 1),
    (1, 1),
    (0, 0),
    (1, None),
] * 5


def test_the_page_is_one_file_that_fetches_nothing() -> None:
    """No script, handler, frame, link or address of the outside; the policy forbids them as
    well.
    """
    judged = table(MIXED, confidence=[0.5 + i / 100 for i in range(35)])
    html = render_score_report(judged, measure(judged), by={}, by_column=None, title="A title")
    page = Page(html)
    found = {tag for tag, _ in page.tags}
    assert not found & {"script", "link", "iframe", "object", "embed", "img", "form", "base"}
    assert not [
        name for _, attrs in page.tags for name in attrs if name.startswith("on") or name == "src"
    ]
    assert all(value.startswith("#") for value in page.values("href"))
    assert "default-src 'none'; style-src 'unsafe-inline'" in page.values("content")
    assert html.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_the_page_can_be_walked_without_eyes() -> None:
    """One first heading, none skipped, headers with a scope, ids once each and every reference
    found.
    """
    page = Page(
        render(
            table(MIXED, values=["a", "b"] * 17 + ["a"]),
            by_column(table(MIXED), "kind"),
        )
    )
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in page.tags if tag == "th")
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    wanted = {value.removeprefix("#") for value in page.values("href")}
    assert wanted | set(page.values("aria-labelledby")) | set(
        page.values("aria-describedby")
    ) <= set(ids)
    assert (page.open, page.crossed) == ([], [])


def test_hostile_rows_are_shown_and_do_nothing() -> None:
    """Markup is text; control and bidirectional characters are visible escapes; no tag is added by
    any row.
    """
    answers: list[tuple[float, float | None]] = [(1, 0)] * len(HOSTILE)
    tame = table(
        answers,
        texts=[f"x {i}" for i in range(len(HOSTILE))],
        values=[f"v{i:02}" for i in range(len(HOSTILE))],
    )
    wild = table(answers, texts=HOSTILE, values=HOSTILE)
    html = render(wild, by_column(wild, "kind"))
    page = Page(html)
    expected = Page(render(tame, by_column(tame, "kind")))
    count = {tag for tag, _ in expected.tags}
    assert {tag for tag, _ in page.tags} == count
    for tag in ("details", "pre", "style", "svg", "script", "td", "h3", "article"):
        assert sum(t == tag for t, _ in page.tags) == sum(t == tag for t, _ in expected.tags), tag
    for text in HOSTILE[:8]:
        assert text in page.text
    assert r"bidi \u{202e} override \u{2066}" in page.text
    assert r"control \x00\x1b[31m\x85" in page.text
    assert r"half a pair \u{d800}" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
    assert "1337" not in page.text
    assert page.crossed == []


@pytest.mark.parametrize(
    "field", ["title", "judge", "model", "data", "note", "id", "input", "group", "column"]
)
def test_hostile_names_do_nothing_either(field: str) -> None:
    """Whatever names a person's files bring: they are text."""
    names = dict.fromkeys(
        ("title", "judge", "model", "data", "id", "input", "group", "column"), "a"
    )
    names |= {field: "<script>x</script>\u202e"}
    inputs = {names["input"]: "a\nb"}
    row = Row(id=names["id"], inputs=inputs, label=1.0, group=names["group"])
    notes = [names["note"]] if field == "note" else []
    judged = JudgedDataset(
        dataset=Dataset.of([row], labels=BINARY, name=names["data"], notes=notes),
        answers=(Verdict(row_id=row.id, score=0, positive=False),),
        scale=BINARY,
        judge=names["judge"],
        model=names["model"],
    )
    every = measure(judged)
    about = {"by": {"v": every}, "by_column": names["column"], "title": names["title"]}
    html = render_score_report(judged, every, **about)
    assert "<script" not in html
    assert r"&lt;script&gt;x&lt;/script&gt;\u{202e}" in html


def test_every_figure_of_the_benchmark_is_there() -> None:
    """Each metric stands with its value, interval and n; confusion and grades are counted in
    tables.
    """
    answers: list[tuple[float, float | None]] = [(i % 4, (i * 7 + i // 5) % 4) for i in range(60)]
    judged = table(answers, scale=GRADED)
    benchmark = measure(judged)
    html = render(judged)
    assert {benchmark.metrics[name].n for name in ("accuracy", "off_by_one", "pearson")} == {60}
    for name, found in benchmark.metrics.items():
        words = name.replace("_", " ")
        line = re.search(rf'<tr><th scope="row">{words}</th>(.*?)</tr>', html)
        assert line, name
        spread = f"{number(found.low)} .. {number(found.high)}"
        wanted = [
            number(found.value),
            found.reason if found.low is None else spread,
            f"{found.n:,}",
        ]
        assert re.findall(r">([^<]*)</td>", line[1])[:3] == wanted
    assert benchmark.grades is not None
    tables = re.findall(r"<tbody>(.*?)</tbody>", html.split("Grades: people in rows")[1], re.DOTALL)
    cells = [re.findall(r'"n">(\d+)', line) for line in tables[0].strip().splitlines()]
    assert [tuple(map(int, line)) for line in cells] == list(benchmark.grades.counts)


def test_unscored_rows_are_told_and_bounded() -> None:
    """Their reasons and the worst case are on the page; without any, it says that nothing is
    hidden.
    """
    html = render(table(MIXED))
    benchmark = measure(table(MIXED))
    assert "5 (5 parse): left out, not counted as wrong" in html
    low, high = benchmark.worst_case["recall"]
    assert f'<th scope="row">recall</th><td class="n">{number(low)}</td>' in html
    assert f'<td class="n">{number(high)}</td></tr>' in html
    assert "nothing is hidden in unscored rows" in render(table([(1, 1), (0, 0), (0, 1)]))


@pytest.mark.parametrize("simulated", [True, False])
def test_a_simulated_judge_is_called_simulated(simulated: bool) -> None:
    """The banner is there when the model was simulated, and only then."""
    assert ("SIMULATED" in render(table(MIXED, simulated=simulated))) is simulated


@pytest.mark.parametrize(
    ("judged", "said"),
    [
        (table([(1, None), (0, None)]), "there is nothing to measure"),
        (table([]), "there is nothing to measure"),
        (
            table([(0, 0), (0, 1)], confidence=[0.9, 0.8]),
            "No curve: no row with a score to cut is labelled positive.",
        ),
        (table([(1, 1), (0, 1)]), "No curve: the judge gives no score to cut."),
        (table([(1, 2), (3, 2)], scale=GRADED), "No curve: every row has the same score."),
        (table([(1, 1), (0, 1)]), "No verdict carries a confidence or a probability"),
        (table([(1, 1), (0, 0)]), "People and judge decided no row differently."),
        (
            table(
                [(1, 1), (1000, 0)], scale=OutputScale(kind="graded", low=0, high=1000, threshold=2)
            ),
            "The scale has 1001 grades",
        ),
    ],
)
def test_what_is_not_there_is_said(judged: JudgedDataset, said: str) -> None:
    """Nothing scored, one class, no confidence: the page is written and says why a part is
    missing.
    """
    page = Page(render(judged))
    assert said in " ".join(page.text.split())
    assert "nan" not in page.text.lower().split()


def test_the_surest_disagreements_come_first() -> None:
    """By confidence; those without come last, in the order of the file; at most twenty are on the
    page.
    """
    sure = [None, 0.6, 0.9, 0.9, None, 0.7] * 10
    judged = table([(1, 0), (0, 1), (1, 0), (1, 1), (0, 1), (0, 0)] * 10, confidence=sure)
    order = judged.disagreements
    assert len(order) == 40
    assert all(judged.positive[i] != judged.predicted[i] for i in order)
    assert [sure[i] for i in order] == [0.9] * 10 + [0.6] * 10 + [None] * 20
    assert order[:10] == sorted(order[:10])
    page = Page(render(judged))
    assert sum(tag == "article" for tag, _ in page.tags) == DISAGREEMENTS
    assert (
        "40 rows were decided differently by people and judge; 20 are here, the judge's surest"
        " first" in page.text
    )
    assert "people: no (0); judge: yes (1), confidence 0.60" in page.text


def test_without_confidence_the_farthest_grades_come_first() -> None:
    """0 against 3 before 1 against 2; a probability is its own confidence."""
    graded = table([(1, 2), (0, 3), (2, 1), (3, 3)], scale=GRADED)
    assert graded.disagreements == [1, 0, 2]
    assert "the farthest apart in grade first" in render(graded)
    probable = table([(1, 0.4), (0, 0.9), (1, 0.05), (1, 0.8)], scale=PROBABILITY)
    assert probable.disagreements == [2, 1, 0]


def test_the_threshold_in_use_is_marked_where_there_is_one() -> None:
    """A graded judge has one; a verdict with a confidence under one half does not follow from
    any.
    """
    graded = render(table([(1, 2), (0, 3), (2, 1), (3, 3)], scale=GRADED))
    assert "The threshold in use is 2." in graded
    assert "in use: 2</text>" in graded
    odd = render(table([(1, 1), (0, 0), (0, 1)], confidence=[0.9, 0.8, 0.3]))
    assert "No single threshold gives the verdicts." in odd
    assert "in use:" not in odd


def test_many_values_are_cut_to_the_largest_and_counted() -> None:
    """Values with long equal beginnings stay apart; the smallest are left out of chart and table,
    and told.
    """
    values = [f"{'v' * 100}{i}" for i in range(MOST_LISTED + 5)]
    values += values[5:]
    judged = table([(1, 1), (0, 1)] * ((len(values) + 1) // 2), values=[*values, "last"])
    parts = by_column(judged, "kind")
    html = render(judged, parts)
    left = len(parts) - MOST_LISTED
    assert f"{left} more values, with the fewest rows, are in the JSON output" in html
    assert f"{len(parts) - MOST_CHARTED} more values, with the fewest rows, are not drawn" in html
    assert html.count('<tr data-item tabindex="-1">') == MOST_LISTED


def test_enormous_rows_make_a_page_that_opens() -> None:
    """Twenty rows of a million characters each stay under a megabyte, and what is left out is
    counted.
    """
    judged = table([(1, 0)] * 25, texts=["<&\u202e" * 300_000] * 20 + ["short"] * 5)
    html = render(judged)
    assert len(html.encode()) < 1_000_000
    assert "more characters are in the file" in html
    assert render(judged) == html, "the same measurement gives the same page"
