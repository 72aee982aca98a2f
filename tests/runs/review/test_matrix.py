"""The matrix of rows by judges, and any two judges compared: true to the record, narrowed as asked,
and never a sealed row.
"""

import json
import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from starlette.testclient import TestClient

from judgewright.judges import InputError, JudgedDataset, Registry, Verdict
from judgewright.runs.actions import read_run
from judgewright.runs.actions.compare_runs import compare_runs, parse_side, rows_of_side
from judgewright.runs.actions.show_rows import shown_rows
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.store import Workspace
from judgewright.runs.store.sealed_rows import seal_first

from ..run_command import invoke
from .conftest import HEADERS, Elements, Workbench, judged, serving, visit, when_done
from .test_walk import browser, open_page, sync_api
from .test_walk import pytestmark as with_browser

__all__ = ["browser"]
SIGNS = {"✗": False, "✓": True}


@pytest.fixture
def reader(bench_made: Workbench) -> Iterator[TestClient]:
    """A visitor who reads."""
    with visit(bench_made.root) as client:
        yield client


@pytest.fixture
def verdicts(bench_made: Workbench) -> tuple[JudgedDataset, JudgedDataset]:
    """What both benchmarks said of the rows that may be shown."""
    with Workspace(bench_made.root) as place:
        before, after = (
            shown_rows(place, read_run(place, run)).judged
            for run in (bench_made.before, bench_made.after)
        )
    return before, after


def asked(work: Workbench, **wanted: str) -> str:
    """Return a query for both benchmarks."""
    return urlencode([("judge", work.before), ("judge", work.after), *wanted.items()])


def ids(client: TestClient, query: str) -> list[str]:
    """Return the ids of all rows that a query finds, window by window."""
    found: list[str] = []
    for page in range(1, 100):
        answer = client.get(f"/matrix/rows?{query}&page={page}")
        assert answer.status_code == 200, answer.text
        rows = re.findall(r'aria-rowindex="(\d+)".*?<a [^>]*>(.*?)</a>', answer.text)
        if not rows or int(rows[0][0]) != len(found) + 2:  # the last window stands for later ones
            return found
        found += [unescape(row_id) for _, row_id in rows]
    raise AssertionError(found)


def write(root: Path, name: str, lines: list[dict]) -> str:
    """Write a verdict file into a workspace, and return how a side names it."""
    (root / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return f"file:{name}"


def test_each_row_is_there_with_each_verdict_and_its_sign(
    reader: TestClient, bench_made: Workbench, verdicts: tuple[JudgedDataset, JudgedDataset]
) -> None:
    """In the order of the data; the sign says whether the judge agrees with people."""
    rows = verdicts[0].dataset.rows
    assert ids(reader, asked(bench_made)) == [row.id for row in rows]
    page = reader.get(f"/matrix/rows?{asked(bench_made)}&page=2").text
    lines = re.findall(r"<tr data-item.*?</tr>", page, re.DOTALL)
    assert len(lines) == len(rows) - 200
    for i, line in enumerate(lines, start=200):
        cells = re.findall(r"<td>(.*?)</td>", line, re.DOTALL)
        for side, cell in zip(verdicts, cells[1:3], strict=True):
            answer = side.answers[i]
            assert isinstance(answer, Verdict)
            sign = next(sign for sign in SIGNS if sign in cell)
            assert SIGNS[sign] == side.is_right(rows[i], answer)
            assert f"{'yes' if answer.positive else 'no'} ({answer.score:g})" in cell
    shown = Elements(reader.get(f"/matrix?{asked(bench_made)}").text).text
    assert f"errs on {int(verdicts[0].wrong.sum())} of {len(verdicts[0].scored)}" in shown
    assert "SIMULATED" in shown


def test_rows_are_narrowed_as_they_would_be_by_hand(
    reader: TestClient, bench_made: Workbench, verdicts: tuple[JudgedDataset, JudgedDataset]
) -> None:
    """Errors of any judge or of one, flips, a slice, words, and all of them together."""
    rows = verdicts[0].dataset.rows
    said = [[answer.positive for answer in side.answers] for side in verdicts]  # type: ignore[union-attr]
    wrong = [
        {side.dataset.rows[i].id for i, bad in zip(side.scored, side.wrong, strict=True) if bad}
        for side in verdicts
    ]
    flipped = {row.id for row, one, other in zip(rows, *said, strict=True) if one != other}
    printed = {row.id for row in rows if row.meta["channel"] == "pdf"}
    worded = {row.id for row in rows if "library" in row.inputs["source"].casefold()}
    assert flipped
    assert worded
    assert printed
    assert wrong[0]
    flips = {"before": bench_made.before, "after": bench_made.after}
    for wanted, expected in (
        ({"rows": "errs"}, wrong[0] | wrong[1]),
        ({"rows": bench_made.after}, wrong[1]),
        ({"rows": "differ"}, flipped),
        ({"rows": "flips"}, wrong[0] ^ wrong[1]),
        (flips, flipped),
        ({"rows": "unscored"}, set()),
        ({"slice": "channel=pdf"}, printed),
        ({"words": "  LiBRary "}, worded),
        ({"words": rows[7].id}, {rows[7].id}),
        ({"words": "no such words"}, set()),
        ({**flips, "rows": "errs", "slice": "channel=pdf"}, flipped & printed),
        ({"rows": bench_made.before, "words": "library"}, wrong[0] & worded),
    ):
        found = ids(reader, asked(bench_made, **wanted))
        assert found == [row.id for row in rows if row.id in expected], wanted


def test_the_slice_of_an_optimization_is_one_to_choose(bench_own: Workbench) -> None:
    """As is every value of a column with few of them."""
    with visit(bench_own.root) as client:
        page = client.get(f"/matrix?judge={bench_own.run_id}").text
    assert 'value="channel=pdf"' in page
    with Workspace(bench_own.root) as place:
        run = read_run(place, bench_own.run_id)
    assert run.slice is not None
    assert (f"slice found in run {run.run_id}" in page) == (run.slice.predicate is not None)


def test_a_row_opens_with_what_each_judge_said(
    reader: TestClient, bench_made: Workbench, verdicts: tuple[JudgedDataset, JudgedDataset]
) -> None:
    """Its texts, each judge's reasons, and the way to the rows beside it."""
    page = reader.get(f"/matrix/rows?{asked(bench_made, rows='differ')}").text
    links = [unescape(link) for link in re.findall(r'href="(/matrix/row\?[^"]*)"', page)]
    text = reader.get(links[1]).text
    shown = Elements(text).text
    row_id = re.findall(r"<h1>Row (.*?)</h1>", text)[0]
    i = [row.id for row in verdicts[0].dataset.rows].index(row_id)
    assert verdicts[0].dataset.rows[i].inputs["statement"] in shown
    for side in verdicts:
        answer = side.answers[i]
        assert isinstance(answer, Verdict)
        assert answer.rationale in shown
    assert f"row 2 of {len(links)}" in shown
    beside = [unescape(link) for link in re.findall(r'rel="(?:prev|next)" href="([^"]*)"', text)]
    assert beside == [links[0], links[2]]


def everything(client: TestClient, work: Workbench, keys: list[str], words: str) -> Iterator[str]:
    """Yield whatever the pages of rows and of comparisons answer, asked in every way."""
    sides = [work.before, work.after, work.run_id, f"{work.run_id}:before"]
    for wanted in ({}, {"rows": "errs"}, {"rows": "differ"}, {"words": words}):
        for page in range(1, 5):
            query = urlencode([*(("judge", side) for side in sides), *wanted.items()])
            yield when_done(client, f"/matrix?{query}&page={page}").text
            yield when_done(client, f"/matrix/rows?{query}&page={page}").text
    for one in sides:
        for other in sides:
            yield when_done(client, f"/compare?run={one}&run={other}").text
            yield when_done(client, f"/matrix?judge={one}&judge={other}&rows=flips").text
    for key in keys:
        query = urlencode([*(("judge", side) for side in sides), ("row", key)])
        yield when_done(client, f"/matrix/row?{query}").text


def test_no_answer_has_a_sealed_row(reader: TestClient, bench_made: Workbench) -> None:
    """Not by any filter, and not by words that stand in it alone."""
    words = bench_made.sealed[0]
    keys = re.findall("row=([0-9a-f]{16})", reader.get("/matrix/rows?page=1").text)[:5]
    shown = "".join(everything(reader, bench_made, keys, words))
    assert any(mark in shown for mark in bench_made.opened)
    # What a visitor has typed stands in the field and in the links again.
    shown = shown.replace(f'value="{words}"', "").replace(quote(words), "")
    assert [mark for mark in bench_made.sealed if mark in shown] == []
    hidden = [mark.split()[1].strip("]") for mark in bench_made.sealed]
    assert [name for name in hidden if f">{name}<" in shown] == []
    assert ids(reader, asked(bench_made, words=words)) == []


def test_a_row_that_is_sealed_after_it_was_judged_is_gone(tmp_path: Path) -> None:
    """From every answer, by its address too, though it was shown and kept before."""
    path = tmp_path / "rows.jsonl"
    write_demo_rows(path, documents=120)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["source"] += f" [mark {row['id']}]"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    prompt = Registry().get("groundedness")
    edited = prompt.edited(criteria=f"{prompt.criteria}\nNumbers must match.")
    with Workspace(tmp_path) as place:
        before, after = (judged(place, one, path) for one in (prompt, edited))
        dataset = shown_rows(place, read_run(place, after)).judged.dataset
    assert len(dataset) == len(rows)
    work = Workbench(
        root=tmp_path, run_id=after, before=before, after=after, queue="", sealed=(), opened=()
    )
    copy = write(
        tmp_path, "copy.jsonl", [{"id": r.id, "label": r.label, "score": 1} for r in dataset.rows]
    )
    with visit(tmp_path) as client:
        everywhere = asked(work) + f"&judge={copy}"
        assert len(ids(client, everywhere)) == len(rows)
        page = client.get(f"/matrix/rows?{everywhere}").text
        keys = dict(re.findall(r'row=([0-9a-f]{16})">(.*?)</a>', page))
        with Workspace(tmp_path) as place:
            seal_first(place, dataset)
            still = {
                row.id for row in shown_rows(place, read_run(place, after)).judged.dataset.rows
            }
        gone = [row["id"] for row in rows if row["id"] not in still]
        assert 0 < len(gone) < len(rows)
        assert set(ids(client, everywhere)) == still
        assert set(ids(client, f"judge={copy}")) == still
        for key, name in keys.items():
            answer = client.get(f"/matrix/row?{everywhere}&row={key}")
            assert answer.status_code == (404 if name in gone else 200)
        shown = "".join(everything(client, work, list(keys), "leaflet"))
        shown += client.get(f"/compare?run={copy}&run={after}").text
    assert [name for name in gone if f"[mark {name}]" in shown or f">{name}<" in shown] == []


def test_a_verdict_file_stands_beside_runs(
    bench_own: Workbench, verdicts: tuple[JudgedDataset, JudgedDataset]
) -> None:
    """Joined by ids: two verdicts of it are others, one is missing, one row is nobody's."""
    root, side = bench_own.root, verdicts[1]
    lines = [
        {"id": row.id, "label": row.label, "score": int(answer.positive)}
        for row, answer in zip(side.dataset.rows, side.answers, strict=True)
        if isinstance(answer, Verdict)
    ]
    for line in lines[:2]:
        line["score"] = 1 - line["score"]
    lines[5]["score"] = None
    hidden = [mark.split()[1].strip("]") for mark in bench_own.sealed]
    others = [{"id": name, "label": 1, "score": 0} for name in hidden[:40]]
    name = write(root, "theirs.jsonl", [*lines, *others, {"id": "nobody", "label": 0, "score": 0}])
    query = urlencode([("judge", bench_own.after), ("judge", name)])
    with visit(root) as client:
        assert ids(client, query) == [row.id for row in side.dataset.rows]
        assert ids(client, f"{query}&rows=differ") == [line["id"] for line in lines[:2]]
        assert ids(client, f"{query}&rows=unscored") == [lines[5]["id"]]
        assert "no verdict" in client.get(f"/matrix/rows?{query}&rows=unscored").text
        assert name in client.get("/matrix").text
        assert name in client.get("/compare").text
        text = Elements(client.get(f"/compare?run={bench_own.after}&run={name}").text).text
        assert "no decision of the gate" in text
        assert ids(client, f"{query}&rows=flips") == [line["id"] for line in lines[:2]]
        shown = client.get(f"/matrix/rows?judge={name}").text
    assert [one for one in hidden if f">{one}<" in shown] == []
    plain = [{k: v for k, v in line.items() if k != "label"} for line in lines]
    unlabelled = write(root, "unlabelled.jsonl", plain)
    with Workspace(root) as place:
        for one, other in ((unlabelled, bench_own.after), (bench_own.after, unlabelled)):
            comparison = compare_runs(place, parse_side(one), parse_side(other))
            assert (comparison.flips.n, len(comparison.flips.rows)) == (len(lines) - 1, 2)
            assert all(flip.inputs for flip in comparison.flips.rows)
    with visit(root) as client:
        query = urlencode([("judge", unlabelled), ("judge", bench_own.after)])
        wrong = {side.dataset.rows[i].id for i in side.scored[side.wrong]}
        wrong = (wrong ^ {line["id"] for line in lines[:2]}) - {lines[5]["id"]}
        assert set(ids(client, f"{query}&rows={quote(unlabelled)}")) == wrong
        assert "✗" not in client.get(f"/matrix/rows?judge={unlabelled}").text
    with Workspace(root) as place:
        looks = len(place.database.read("SELECT * FROM ledger"))
        sides = [parse_side(text) for text in (bench_own.after, name)]
        comparison = compare_runs(place, *sides)
        assert len(place.database.read("SELECT * FROM ledger")) == looks
        asked_for = (bench_own.after, f"file:{root / 'theirs.jsonl'}", "--json")
        printed = json.loads(invoke(place, "runs", "show", *asked_for).output)
    assert (comparison.flips.n, len(comparison.flips.rows)) == (len(lines) - 1, 2)
    assert printed["n"] == len(lines) - 1
    assert printed["right"] + printed["wrong"] == 2
    assert any("ids" in note for note in comparison.notes)


def test_a_file_whose_rows_nobody_could_recognize_is_refused(bench_own: Workbench) -> None:
    """Line numbers tell nobody which rows are sealed; so does no file outside of the workspace."""
    name = write(bench_own.root, "bare.jsonl", [{"label": i % 2, "score": 1} for i in range(9)])
    with Workspace(bench_own.root) as place, pytest.raises(InputError, match="could tell which"):
        rows_of_side(place, parse_side(name))
    outside = bench_own.root.parent / "outside.jsonl"
    shutil.copy(bench_own.root / "bare.jsonl", outside)
    with visit(bench_own.root) as client:
        assert "could tell which" in client.get(f"/matrix?judge={name}").text
        for path in ("../outside.jsonl", str(outside), ".judgewright/judgewright.db", "no.jsonl"):
            side = quote(f"file:{path}")
            for address in (f"/matrix?judge={side}", f"/compare?run={side}&run={bench_own.after}"):
                assert client.get(address).status_code == 404


def test_a_file_of_several_judges_is_compared_with_itself(tmp_path: Path) -> None:
    """Without a run, with grades, without a label; and a file that is dropped on the page."""
    lines = [
        {"id": f"r{i}", "label": i % 4, "verdicts": {"ann": (i * 7) % 4, "bo b": i % 4}}
        for i in range(80)
    ]
    del lines[3]["label"]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    with visit(tmp_path) as client:
        assert "No judge has verdicts" in client.get("/matrix").text
        files = {"data": ("graded.jsonl", body)}
        answer = client.post("/compare/upload", files=files, headers=HEADERS)
        assert answer.headers["location"] == "/compare?run=file%3Adata%2Fgraded.jsonl"
        sides = [f"file:data/graded.jsonl:{judge}" for judge in ("ann", "bo b")]
        query = urlencode([("judge", side) for side in sides])
        differ = [i for i in range(80) if ((i * 7) % 4 >= 2) != (i % 4 >= 2)]
        assert ids(client, query) == [line["id"] for line in lines]
        assert ids(client, f"{query}&rows=differ") == [f"r{i}" for i in differ]
        assert all(quote(side) in quote(client.get("/matrix").text) for side in sides)
        text = Elements(client.get(f"/compare?{urlencode([('run', s) for s in sides])}").text).text
        row = Elements(client.get(f"/matrix/rows?{query}").text).text
    assert "On 79 labelled rows that both judged" in text
    assert "r3yes (3)" not in row.replace("\n", "")


def test_classes_are_named(tmp_path: Path) -> None:
    """A choice agrees where the class is the same, and differs where another is chosen."""
    classes = json.dumps(["bad", "fair", "good"])
    lines = [
        {"id": f"r{i}", "label": i % 3, "score": (i // 2) % 3, "classes": classes}
        for i in range(30)
    ]
    name = write(tmp_path, "classes.jsonl", lines)
    other = write(tmp_path, "others.jsonl", [{**line, "score": 2} for line in lines])
    query = urlencode([("judge", name), ("judge", other)])
    with visit(tmp_path) as client:
        page = client.get(f"/matrix/rows?{query}").text
        lines_shown = re.findall(r"<tr data-item.*?</tr>", page, re.DOTALL)
        for line, shown in zip(lines, lines_shown, strict=True):
            cells = re.findall(r"<td>(.*?)</td>", shown, re.DOTALL)
            words = ["bad", "fair", "good"]
            assert cells[0] == words[line["label"]]
            assert cells[1].endswith(words[line["score"]])
            assert ("✓" in cells[1]) == (line["score"] == line["label"])
        differ = [line["id"] for line in lines if line["score"] != 2]
        assert ids(client, f"{query}&rows=differ") == differ


def test_each_error_is_named_by_the_classes_of_the_judge_that_makes_it(tmp_path: Path) -> None:
    """Judges may have more classes than the one before them, or others of the same number."""
    sides: list[str] = []
    for at, classes in enumerate((["bad", "good"], ["no", "yes"], ["x", "y", "bad", "good"])):
        last, named = len(classes) - 1, json.dumps(classes)
        lines = [
            {"id": f"r{i}", "label": last, "score": last - (i % 3 == at), "classes": named}
            for i in range(30)
        ]
        sides.append(write(tmp_path, f"judge{at}.jsonl", lines))
    lacking = [{"id": f"r{i}", "score": 1, "classes": '["a", "b"]'} for i in range(30)]
    sides.append(write(tmp_path, "lacking.jsonl", lacking))
    query = urlencode([("judge", side) for side in sides])
    with visit(tmp_path) as client:
        assert client.get(f"/matrix?{query}").status_code == 200
        for error, judges in (("good called bad", (0, 2)), ("yes called no", (1,))):
            found = ids(client, f"{query}&{urlencode({'error': error})}")
            assert found == [f"r{i}" for i in range(30) if i % 3 in judges]
        # Nobody else has its classes, so nobody's labels are its own.
        assert ids(client, f"{query}&{urlencode({'rows': sides[-1]})}") == []


@with_browser
def test_the_matrix_is_scrolled_opened_and_left_by_keys(
    bench_own: Workbench, browser: "sync_api.Browser"
) -> None:
    """Windows of rows come as one scrolls, the address follows, and the way back leads there."""
    with serving(bench_own.root) as link:
        complaints: list[str] = []
        page = open_page(browser, complaints, viewport={"width": 1200, "height": 800})
        page.goto(link)
        page.goto(link.partition("/?")[0] + f"/matrix?judge={bench_own.after}")
        box = page.locator(".matrix")
        total = int(box.get_attribute("data-total") or 0)
        assert total > 300
        box.focus()
        page.keyboard.press("End")
        page.wait_for_selector(f'.matrix tr[aria-rowindex="{total + 1}"]')
        page.wait_for_url("**page=*")
        last = page.locator(f'.matrix tr[aria-rowindex="{total + 1}"]')
        assert last.is_visible()
        last.locator("a").focus()
        name = last.locator("a").inner_text()
        page.keyboard.press("Enter")
        page.wait_for_selector("h1")
        assert page.locator("h1").inner_text() == f"Row {name}"
        page.go_back()
        page.wait_for_selector(f'.matrix tr[aria-rowindex="{total + 1}"]')
        page.locator(f'.matrix tr[aria-rowindex="{total}"] td').nth(1).click()
        page.wait_for_selector("h1:has-text('Row ')")
        assert complaints == []
