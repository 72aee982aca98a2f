"""Benchmarks, comparisons, judges and labels in the browser: true to the record, inert, sealed,
entered once.
"""

import asyncio
import contextlib
import json
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from judgewright.judges import (
    Dataset,
    InputError,
    OutputScale,
    Registry,
    Row,
    equal_gain,
    load_dataset,
)
from judgewright.optimize import ObjectiveWords, Unsettled
from judgewright.optimize.events import JudgeMeasured
from judgewright.optimize.holdout.row_fingerprints import RowFingerprints
from judgewright.optimize.holdout.sides import SeenRows
from judgewright.runs.actions import read_run
from judgewright.runs.actions.show_rows import shown_rows
from judgewright.runs.config import Environment
from judgewright.runs.config.place import Place
from judgewright.runs.demo import write_demo_rows
from judgewright.runs.labels.queue import reading_order
from judgewright.runs.labels.session import LabelSession, open_rows
from judgewright.runs.review.queue_rows import open_kept_queue
from judgewright.runs.review.row_data import (
    RowQuery,
    bytes_to_read,
    find_row_pages,
    make_apart,
    make_row_pages,
)
from judgewright.runs.review.works import work_apart
from judgewright.runs.store import HoldoutLedger, LabelStore, Workspace, counting_records, set_state

from .conftest import Elements, Made, Workbench, inert, judged, post, serving, visit
from .every_page import PAGES, START
from .test_walk import browser, open_page, sync_api
from .test_walk import pytestmark as with_browser

__all__ = ["browser"]
PARTS = ("facts", "benchmark", "slice", "loss", "steps", "gate", "threshold", "closing", "flips")
FOLDED = tuple(f"/runs/{{run}}/evidence/{part}" for part in PARTS)
"""What the page of a run fetches when a person unfolds it."""
HOSTILE_ADDRESSES = (
    "/?words=groundedness&sort=change",
    "/runs/{run}/flips?page=2",
    "/runs/{after}/rows?slice=channel%3D%3Cscript%3E",
    "/compare?run={run}:before&run={run}",
    "/matrix/rows?rows=differ&words=%3Cscript%3E",
    "/matrix?before={before}&after={after}&words=%22%3E%3Cimg%20src=x%3E",
    "/label/{queue}?annotator=%3Cscript%3Ealert(1)%3C/script%3E",
)
SHOWN = [path for path in PAGES if not path.endswith(("/{job}", "/here", "/push"))]


@pytest.fixture
def reader(bench_made: Workbench) -> Iterator[TestClient]:
    """A visitor who reads."""
    with visit(bench_made.root) as client:
        yield client


@pytest.fixture
def writer(bench_own: Workbench) -> Iterator[TestClient]:
    """A visitor who writes, in a copy."""
    with visit(bench_own.root) as client:
        yield client


def at(page: TestClient, path: str, work: Workbench) -> str:
    """Return a page that must be there."""
    first, second = (
        prompt.version for prompt in Registry(work.root / "prompts").versions("groundedness")[:2]
    )
    names = {"before": work.before, "after": work.after, "run": work.run_id, "queue": work.queue}
    if "{row}" in path:
        names["row"] = re.findall("row=([0-9a-f]{16})", page.get("/matrix").text)[0]
    answer = page.get(path.format(**names, first=first, second=second, start=START))
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize("path", [*SHOWN, *HOSTILE_ADDRESSES, *FOLDED])
def test_nothing_hostile_becomes_markup_and_no_sealed_row_is_shown(
    reader: TestClient, bench_made: Workbench, path: str
) -> None:
    """On every page there is, and in every part of one."""
    text = at(reader, path, bench_made)
    inert(text, scripts=0 if path in FOLDED or "/matrix/rows" in path else 1)
    if "/label/" not in path:  # a row to label is one that nobody sealed yet, whatever its text
        assert [mark for mark in bench_made.sealed if mark in text] == []


def test_a_benchmark_is_told_as_it_was_measured(reader: TestClient, bench_made: Workbench) -> None:
    """Every figure of the page stands in the event; the model, the coverage and the confusion are
    there.
    """
    text = Elements(at(reader, "/runs/{after}", bench_made)).text
    with Workspace(bench_made.root) as place:
        measured = read_run(place, bench_made.after).last(JudgeMeasured)
    assert measured is not None
    for name in ("precision", "recall", "f1", "kappa"):
        figure = measured.benchmark["metrics"][name]
        assert f"{figure['value']:.3f}" in text
        assert f"{figure['low']:.3f} .. {figure['high']:.3f}" in text
    assert f"{measured.benchmark['n']:,} labelled rows" in text
    assert "SIMULATED" in text


def test_the_rows_of_a_benchmark_are_those_of_its_file_less_the_sealed_ones(
    bench_made: Workbench,
) -> None:
    """Judged again from the record alone, each verdict is the one that was measured."""
    with Workspace(bench_made.root) as place:
        run = read_run(place, bench_made.after)
        rows = shown_rows(place, run)
        calls = run.calls.done
        assert read_run(place, bench_made.after).calls.done == calls
    marks = " ".join(row.inputs["source"] for row in rows.judged.dataset.rows)
    assert all(mark in marks for mark in bench_made.opened)
    assert not any(mark in marks for mark in bench_made.sealed)
    assert rows.sealed == len(bench_made.sealed)


def test_the_differences_are_those_counted_by_hand(
    reader: TestClient, bench_made: Workbench
) -> None:
    """Precision of both on the open rows, and every row that changed sides, from the verdicts row
    by row.
    """
    with Workspace(bench_made.root) as place:
        sides = [
            shown_rows(place, read_run(place, run)).judged
            for run in (bench_made.before, bench_made.after)
        ]
    values, wrong = [], []
    for side in sides:
        called = [i for i, predicted in enumerate(side.predicted) if predicted]
        values.append(np.mean([bool(side.positive[i]) for i in called]))
        wrong.append({row.id for row, bad in zip(side.rows, side.wrong, strict=True) if bad})
    text = at(reader, "/compare?run={before}&run={after}", bench_made)
    line = re.search(r'<th scope="row">precision</th>(.*?)</tr>', text)
    assert line
    assert [f"{values[0]:.3f}", f"{values[1]:.3f}", f"{values[1] - values[0]:+.3f}"] == re.findall(
        r'<td class="n(?: strong)?">([+-]?[\d.]+)</td>', line[1]
    )[:3]
    left = equal_gain("precision", *sides).change
    assert left is None or f"{left.difference:+.3f}" in line[1]
    assert "at the same recall" in text
    flipped = wrong[0] ^ wrong[1]
    rows = at(reader, "/matrix/rows?judge={before}&judge={after}&rows=flips", bench_made)
    assert sorted(re.findall(r"<a [^>]*>(.*?)</a>", rows)) == sorted(flipped)


def test_each_column_says_how_many_values_it_has(reader: TestClient, bench_made: Workbench) -> None:
    """As many as the table of that column has lines."""
    shown = at(reader, "/runs/{after}/slices?column=channel", bench_made)
    told = re.search(r"channel \((\d+) values\)", shown)
    assert told
    assert int(told[1]) == shown.count('<tr data-item tabindex="-1">')


def test_only_a_value_whose_rows_can_be_chosen_leads_to_them(tmp_path: Path) -> None:
    """Rare values are measured together, and their rows are of no one slice."""
    path = tmp_path / "rows.jsonl"
    write_demo_rows(path, documents=60)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kinds = ["rare"] * 3 + ["odd", "even"] * len(rows)
    lines = [json.dumps({**row, "kind": kind}) for row, kind in zip(rows, kinds, strict=False)]
    path.write_text("\n".join(lines), encoding="utf-8")
    with Workspace(tmp_path) as place:
        run = judged(place, Registry().get("groundedness"), path)
    with visit(tmp_path) as client:
        shown = client.get(f"/runs/{run}/slices?column=kind").text
    assert "(fewer than 10 rows)</th>" in shown
    assert re.findall(r"slice=kind%3D(.*?)\"", shown) == ["even", "odd"]


def test_runs_are_sorted_and_narrowed(reader: TestClient, bench_made: Workbench) -> None:
    """By change the run with one comes first; words and kind leave what fits; what is unknown is
    passed over.
    """

    def listed(query: str) -> list[str]:
        return re.findall(
            r'<th scope="row"><a href="/runs/([^"]+)"', at(reader, f"/?{query}", bench_made)
        )

    assert listed("sort=change")[0] == bench_made.run_id
    assert set(listed("kind=bench")) == {bench_made.before, bench_made.after}
    assert listed("kind=bench&sort=started&rising=1")[0] == bench_made.before
    assert listed("words=nothing+like+this") == []
    assert len(listed("sort=%3Cscript%3E&page=99999999999")) == 4


def test_a_label_is_entered_once_whatever_two_tabs_do(
    writer: TestClient, bench_own: Workbench
) -> None:
    """Two tabs show the same row: the second answer about it is not entered, nor a double click,
    nor a stale undo.
    """
    path, page = f"/label/{bench_own.queue}", f"/label/{bench_own.queue}?annotator=ann"

    def form() -> dict[str, str]:
        found = Elements(writer.get(page).text).found
        hidden = [attrs for tag, attrs in found if tag == "input" and attrs.get("type") == "hidden"]
        return {
            str(a["name"]): str(a["value"])
            for a in hidden
            if a["name"] in ("row", "record", "annotator", "shown")
        }

    def kept() -> list[tuple[str, str, float | None]]:
        with Workspace(bench_own.root) as place:
            records = LabelStore(place.database).records(bench_own.queue)
        return [(record.action, record.row_id, record.label) for record in records]

    first = form()
    assert post(writer, path, verb="label", grade="1", **first) == (303, page)
    assert post(writer, path, verb="label", grade="0", **first) == (303, f"{page}&said=late")
    assert kept() == [("label", first["row"], 1.0)]
    second = form()
    assert second["row"] != first["row"]
    assert post(writer, path, verb="undo", **second)[1].endswith("undone")
    assert post(writer, path, verb="undo", **second)[1].endswith("late")
    assert post(writer, path, verb="label", grade="0", **first)[1].endswith("late")
    again = form()
    assert again["row"] == first["row"]
    assert post(writer, path, verb="skip", reason="cannot tell", **again) == (303, page)
    assert [one[0] for one in kept()] == ["label", "undo", "skip"]
    status, said = post(writer, path, verb="label", grade="7", **form())
    assert status == 404
    assert "not on" in said
    with Workspace(bench_own.root) as place:
        session = LabelSession(place, bench_own.queue, "ann")
        row = session.next()
        assert row is not None
        stale = form()
        assert session.label(1.0, seconds=1.0)
    assert post(writer, path, verb="label", grade="0", **stale)[1].endswith("late")
    assert len(kept()) == 4


def test_a_queue_is_made_labelled_and_comes_to_its_end(
    writer: TestClient, bench_own: Workbench
) -> None:
    """From a file of the folder to the last row, in another order than the file's; verdicts are
    nowhere.
    """
    status, where = post(
        writer, "/label", data="more.jsonl", question="Supported?", second="none", annotator="bo"
    )
    assert status == 303
    order: list[str] = []
    while (
        row := re.search(r'name="row" value="([^"]+)"', text := writer.get(where).text)
    ) is not None:
        assert "Supported?" in text
        record = re.search(r'name="record" value="(\d+)"', text)
        assert record
        order.append(row[1])
        fields = {"annotator": "bo", "record": record[1], "row": row[1], "shown": "0"}
        assert post(writer, where.partition("?")[0], verb="label", grade="1", **fields)[0] == 303
    assert "Nothing is left to label" in text
    queue = where.partition("?")[0]
    status, onward = post(writer, f"{queue}/use", verb="")
    assert (status, onward.partition("=")[0]) == (303, "/start?data")
    written = (bench_own.root / "data" / f"labels-{queue.rpartition('/')[2]}.jsonl").read_text()
    assert [(row["id"], row["label"]) for row in map(json.loads, written.splitlines())] == [
        (one, 1) for one in order
    ]
    assert "<dt>rows</dt><dd>12</dd>" in writer.get(onward).text
    assert len(order) == len(set(order)) == 12
    assert order != sorted(order)
    for name in (
        "../rows.jsonl",
        "/etc/passwd",
        ".judgewright/judgewright.db",
        "nothing.jsonl",
        "",
    ):
        assert post(writer, "/label", data=name, annotator="bo")[0] == 404
    with Workspace(bench_own.root) as place:
        queue = where.partition("?")[0].rpartition("/")[2]
        assert len(counting_records(LabelStore(place.database).records(queue))) == 12


def test_an_answer_is_not_lost_while_another_process_writes(
    writer: TestClient, bench_own: Workbench
) -> None:
    """It is said that it was not kept, with a button that sends the same again."""
    page = f"/label/{bench_own.queue}?annotator=ann"
    row = re.search(r'name="row" value="([^"]+)"', writer.get(page).text)
    assert row
    fields = {"annotator": "ann", "record": "0", "row": row[1], "shown": "0"}
    with Workspace(bench_own.root) as place:
        place.database.claim()
        status, said = post(writer, page.partition("?")[0], verb="label", grade="1", **fields)
        place.database.release()
    assert status == 503
    assert "not kept" in said
    assert post(writer, page.partition("?")[0], verb="label", grade="1", **fields)[0] == 303


def test_a_version_is_made_current_and_the_way_leads_back(
    writer: TestClient, bench_own: Workbench
) -> None:
    """What the name means moves from where the page showed it, and not from elsewhere."""
    registry = Registry(bench_own.root / "prompts")
    old, new = (prompt.version for prompt in registry.versions("groundedness")[:2])
    where = "/judges/groundedness"
    assert post(writer, f"{where}/use", version=new, expected=old) == (303, where)
    status, said = post(writer, f"{where}/use", version=new, expected=old)
    assert (status, "somebody else decided meanwhile" in said) == (404, True)
    assert registry.get("groundedness").version == new
    assert post(writer, f"{where}/use", version=old, expected=new) == (303, where)
    assert registry.get("groundedness").version == old
    for spec in ("x.yaml", "../../etc", "zzzz", ""):
        assert post(writer, f"{where}/use", version=spec, expected=old)[0] == 404


def test_a_judge_is_shown_without_reading_calls_or_queues(
    writer: TestClient, bench_own: Workbench
) -> None:
    """Both grow with the rows, and the page says nothing of either: it is the same where neither
    can be read.
    """
    before = at(writer, "/judges/groundedness", bench_own)
    with contextlib.closing(
        sqlite3.connect(bench_own.root / ".judgewright" / "judgewright.db")
    ) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("ALTER TABLE attempt RENAME TO gone")
        assert database.execute(
            "UPDATE run SET config_json = 'cut off' WHERE kind = 'queue'"
        ).rowcount
        database.commit()
    assert at(writer, "/judges/groundedness", bench_own) == before
    assert writer.get(f"/runs/{bench_own.before}").status_code != 200, (
        "the page of a run needs its calls"
    )


def test_a_benchmark_whose_file_changed_keeps_its_figures(
    writer: TestClient, bench_own: Workbench
) -> None:
    """The figures are those of the day; the rows are refused with the reason, and nothing else is
    shown for them.
    """
    path = bench_own.root / "changed.jsonl"
    lines = (Path(bench_own.root) / "rows.jsonl").read_text(encoding="utf-8").splitlines()[:40]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with Workspace(bench_own.root) as place:
        prompt = Registry().get("groundedness")
        run = judged(place, prompt, path)
        assert len(load_dataset(path, inputs=prompt.inputs, scale=prompt.scale)) == 40
    path.write_text("\n".join(lines[:39]) + "\n", encoding="utf-8")
    assert writer.get(f"/runs/{run}").status_code == 200
    answer = writer.get(f"/runs/{run}/rows")
    assert answer.status_code == 404
    assert "has changed since it was measured" in answer.text


def test_many_rows_are_worked_out_in_a_process_of_their_own(bench_own: Workbench) -> None:
    """What it keeps is what the server would; a new entry of rows in the ledger makes it old."""
    query, lost = RowQuery("judged", (bench_own.after,)), RowQuery("looks", (bench_own.after,))
    variables, where = Environment().process_variables, Place.of(bench_own.root)
    with Workspace(bench_own.root) as place:
        assert bytes_to_read(place, query) > 50_000
        make_row_pages(place, query)
        here = find_row_pages(place, query)
        assert here is not None
        expected = here.head, [here.at(i + 1) for i in range(here.count())]
        shutil.rmtree(bench_own.root / ".judgewright" / "pages")
        assert find_row_pages(place, query) is None
        asyncio.run(work_apart(make_apart, (where, query, ()), variables))
        found = find_row_pages(place, query)
        assert found is not None
        assert (found.head, [found.at(i + 1) for i in range(found.count())]) == expected
        with pytest.raises(InputError, match="no holdout"):
            asyncio.run(work_apart(make_apart, (where, lost, ()), variables))
        fresh = Dataset.of(
            [Row(id="x", inputs={"text": "nobody saw this"})], labels=OutputScale(kind="binary")
        )
        rows = RowFingerprints.of(fresh)
        HoldoutLedger(place.database).remember(SeenRows(run_id="another", open=rows))
        assert find_row_pages(place, query) is None
        make_row_pages(place, query)
        assert find_row_pages(place, query) is not None


def test_an_error_of_another_process_is_the_same_here() -> None:
    """Also of a class that wants more than a message: the page catches it by its class."""
    words, variables = ObjectiveWords(text="make it nicer"), Environment().process_variables
    with pytest.raises(Unsettled) as here:
        words.read(None)
    with pytest.raises(Unsettled, match=re.escape(str(here.value))) as there:
        asyncio.run(work_apart(ObjectiveWords.read, (words, None), variables))
    assert there.value.hint == here.value.hint


def test_the_looks_at_a_holdout_stay_known_while_the_run_goes_on(own: Made) -> None:
    """Else a page that is told anew every second would find them changed while they were counted,
    and end.
    """
    query = RowQuery("looks", (own.run_id,))
    with Workspace(own.root) as place:
        make_row_pages(place, query)
        set_state(place.database, own.run_id, "running")
        found = find_row_pages(place, query)
        assert found is not None
        fresh = Dataset.of(
            [Row(id="x", inputs={"text": "nobody saw this"})], labels=OutputScale(kind="binary")
        )
        HoldoutLedger(place.database).remember(
            SeenRows(run_id="another", open=RowFingerprints.of(fresh))
        )
        assert find_row_pages(place, query) is None


def test_a_queue_that_is_read_row_by_row_is_the_one_that_is_read_whole(
    bench_own: Workbench,
) -> None:
    """The same rows in the same order, each with the key it is known by; two annotators, and what
    one takes back.
    """
    query = RowQuery("queue", (bench_own.queue,))
    with Workspace(bench_own.root) as place:
        make_row_pages(place, query)
        pages = find_row_pages(place, query)
        assert pages is not None
        opened, whole = (
            open_kept_queue(place, bench_own.queue, pages),
            open_rows(place, bench_own.queue),
        )
        assert list(opened.config.rows) == list(whole.config.rows)
        assert {name: opened.keys[name] for name in opened.keys} == whole.keys
        assert all(opened.rows[name].inputs == row.inputs for name, row in whole.rows.items())
        assert (len(opened.rows), opened.config.label_scale) == (
            len(whole.rows),
            whole.config.label_scale,
        )
        assert pages.head["order"] == list(reading_order(whole.rows.values()))
        kept, read = (
            LabelSession(place, bench_own.queue, "ann", opened=one) for one in (opened, whole)
        )
        while (row := kept.next()) is not None:
            again = read.next()
            assert again is not None
            assert (row.id, row.group, kept.progress()) == (again.id, again.group, read.progress())
            assert kept.label(1.0, seconds=1.0)
        assert read.next() is None
        assert kept.undo()
        assert kept.progress() == read.progress()
        with pytest.raises(KeyError):
            opened.rows["nobody"]


@pytest.mark.slow
@with_browser
def test_rows_are_labelled_by_keys_alone(bench_own: Workbench, browser: "sync_api.Browser") -> None:
    """One key labels a row; a key takes it back, another skips with a reason.

    Each key is pressed as soon as the page can be seen, however late its script arrives.
    """
    complaints: list[str] = []
    page = open_page(browser, complaints)
    page.route("**/review.js", lambda route: (time.sleep(0.2), route.continue_()))
    with serving(bench_own.root) as link:
        page.goto(link)
        home = page.url.rstrip("/")
        page.goto(f"{home}/label/{bench_own.queue}?annotator=ann")
        for key, said in (
            ("y", "1 labelled"),
            ("n", "2 labelled"),
            ("u", "1 labelled"),
            ("n", "2 labelled"),
        ):
            page.keyboard.press(key)
            page.wait_for_selector(f"[role=status]:has-text('ann: {said}')")
        page.keyboard.press("s")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=status]:has-text('1 skipped')")
        with Workspace(bench_own.root) as place:
            records = LabelStore(place.database).records(bench_own.queue)
        assert [(one.action, one.label) for one in records] == [
            ("label", 1.0),
            ("label", 0.0),
            ("undo", None),
            ("label", 0.0),
            ("skip", None),
        ]
        assert records[1].row_id == records[3].row_id != records[0].row_id
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert complaints == []
