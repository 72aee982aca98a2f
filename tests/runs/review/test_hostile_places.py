"""Words from elsewhere in the places that the workbench has beside rows and names: none of them
becomes anything else.

Jobs that came with the workspace, what is told while one looks on, comments on hunks, labels,
packed uploads.
"""

import asyncio
import gzip
import re
import sqlite3
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from starlette.types import Message, Scope

from judgewright.runs.actions import read_optimization
from judgewright.runs.config import Environment
from judgewright.runs.reports import FORMATS, export_run
from judgewright.runs.review import review_app
from judgewright.runs.review.uploads import MAX_UPLOAD
from judgewright.runs.store import JobQueue, Workspace

from .conftest import HEADERS, HOSTILE, PORT, TOKEN, Made, inert, settled, visit

BREAKING = f"{HOSTILE}\r\nevent: reload\r\ndata: gone\r\n\r\nevent: end\ndata: \n\n"
"""What would be an event of its own, were it told as it is."""


def told(root: Path, path: str) -> dict[str, list[str]]:
    """Look on until the first news; return them as a browser reads them, by the names of the
    events.
    """
    app = review_app(root, token=TOKEN, port=PORT, environment=Environment())
    said = b""
    enough = asyncio.Event()

    async def receive() -> Message:
        await enough.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal said
        said += message.get("body", b"")
        if b"\n\n" in said:
            enough.set()

    head = {"host": f"127.0.0.1:{PORT}", "cookie": f"judgewright-{PORT}={TOKEN}"}
    scope: Scope = {"type": "http", "method": "GET", "path": path, "query_string": b""}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in head.items()]
    asyncio.run(app(scope, receive, send))
    app.state.pages.workspace.close()
    events: dict[str, list[str]] = {}
    for block in re.split(r"\n\n", said.decode()):
        lines = [
            re.match(r"(event|data): ?(.*)", line)
            for line in re.split(r"\r\n|\r|\n", block)
            if line
        ]
        assert all(lines), block
        fields = [(line[1], line[2]) for line in lines if line]
        names = [value for name, value in fields if name == "event"]
        if names:
            events.setdefault(names[-1], []).append(
                "\n".join(value for name, value in fields if name == "data")
            )
    return events


@pytest.fixture
def queue(own: Made) -> JobQueue:
    """The queue of a workspace that came from somebody else, with hostile words in each column that
    takes some.
    """
    foreign = JobQueue(own.root, own.root / "their-key")
    for number in range(4):
        foreign.add(
            f"{BREAKING} {number}",
            ["export", BREAKING, f"--to={BREAKING}", str(number)],
            about=f"{number}/..//x",
        )
    with sqlite3.connect(own.root / ".judgewright" / "jobs.db") as lines:
        words: dict[str, str] = dict.fromkeys(
            ("created", "started", "ended", "message", "run_id", "about"), BREAKING
        )
        sets = ", ".join(f"{name} = :{name}" for name in words)
        for number, state in enumerate(("queued", "failed", "stopped", "done"), start=1):
            where = f"UPDATE job SET {sets}, state = '{state}' WHERE seq = {number}"
            lines.execute(where, words)
        add = (
            "INSERT INTO job SELECT seq + 9, ?, title, about, ?, mark, 'failed', '', 0, 1, '', '',"
            " '', 1, run_id, ''"
        )
        lines.execute(f"{add} FROM job WHERE seq = 1", ("../../out", '["doctor"]'))
        lines.execute(f"{add} FROM job WHERE seq = 2", ("0000ffff", "7"))
        lines.execute("UPDATE job SET run_id = ? WHERE seq = 2", (own.run_id,))
    return JobQueue(own.root, Environment().jobs_key)


def test_jobs_that_came_with_the_workspace_are_shown_as_such_and_stay_text(
    own: Made, queue: JobQueue
) -> None:
    """On their pages and while one looks on; each says whose it is and what it would do, before it
    can be let go.
    """
    jobs = queue.list()
    assert len(jobs) == 4, "what no queue writes is passed over"
    with visit(own.root) as desk:
        listed = desk.get("/jobs").text
        inert(listed, scripts=1)
        assert listed.count("not yours") == 3
        for job in jobs:
            page = desk.get(f"/jobs/{job.job_id}").text
            inert(page, scripts=1)
            assert ("Somebody else put this into the workspace" in page) == (job.state != "done")
            assert ("Go on" in page) == (job.state != "done")
    for path in ("/jobs/live", *(f"/jobs/{job.job_id}/live" for job in jobs)):
        events = told(own.root, path)
        assert set(events) <= {"renew", "end"}
        assert len(events["renew"]) == 1
        inert(events["renew"][0], scripts=0)


def test_going_on_with_a_run_starts_no_job_that_came_with_the_workspace(
    own: Made, queue: JobQueue
) -> None:
    """Its button means the run: the command is ours, whatever the queue has of that run."""
    with visit(own.root) as desk:
        answer = desk.post(f"/runs/{own.run_id}/resume", data={"verb": ""}, headers=HEADERS)
        assert answer.status_code == 303
        job = settled(own.root)
        assert answer.headers["location"] == f"/jobs/{job.job_id}"
    assert job.arguments[:3] == ("runs", "resume", own.run_id)
    assert [one.state for one in queue.list() if not queue.is_ours(one)] == [
        "queued",
        "failed",
        "stopped",
        "done",
    ]


def test_comments_on_hunks_are_words_everywhere(own: Made, tmp_path: Path) -> None:
    """No option of the command, no markup on any page, none in what is written of the run."""
    comments = {
        "comment-1": f"--hunks=1 {BREAKING}",
        "comment-2": "'; touch /x; '",
        "comment": "--by=somebody",
    }
    with visit(own.root) as desk:
        form = {"verb": "reject", "who": HOSTILE, **comments}
        assert (
            desk.post(f"/runs/{own.run_id}/decide", data=form, headers=HEADERS).status_code == 303
        )
        job = settled(own.root)
        assert job.good, job.message
        inert(desk.get("/jobs").text, scripts=1)
        inert(desk.get(f"/jobs/{job.job_id}").text, scripts=1)
        inert(desk.get("/").text, scripts=1)
        page = desk.get(f"/runs/{own.run_id}").text
        assert "<script>document" not in page
        assert "&lt;script&gt;document" in page
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    assert set(told(own.root, f"/jobs/{job.job_id}/live")) == {"renew", "end"}
    with Workspace(own.root) as place:
        (verdict,) = read_optimization(place, own.run_id).reviews
        written = [
            path.read_text()
            for path in export_run(place, own.run_id, tmp_path / "out", formats=list(FORMATS))
        ]
    assert verdict.verb == "rejected"
    assert verdict.comment.startswith("--by=somebody; hunk 1: --hunks=1 <script>")
    assert "hunk 2: '; touch /x; '" in verdict.comment
    assert any("rejected" in text for text in written)
    html = next(text for text in written if text.startswith("<!doctype html>"))
    assert "<script>document" not in html


@pytest.mark.parametrize(
    "content",
    [b'{"source":"', b"source,statement,label\n", b"\n"],
    ids=["one row without end", "one cell without end", "lines alone"],
)
def test_a_packed_upload_takes_no_more_room_than_a_plain_one(
    made: Made, tmp_path: Path, content: bytes
) -> None:
    """A megabyte that unpacks to gigabytes is refused while it is unpacked, and nothing of it
    stays.
    """
    packed = tmp_path / "rows.gz"
    with gzip.open(packed, "wb", compresslevel=1) as file:
        file.write(content)
        for _ in range(MAX_UPLOAD // 10_000_000 + 1):
            file.write((b"x" if content != b"\n" else b"\n") * 10_000_000)
    (tmp_path / "work").mkdir()
    with visit(tmp_path / "work") as desk:
        files = {"data": ("rows.jsonl.gz", packed.read_bytes())}
        answer = desk.post("/start/upload", files=files, headers=HEADERS)
    assert answer.status_code == 413
    assert "unpacked" in answer.text
    assert list((tmp_path / "work" / "data").iterdir()) == []


def test_a_parquet_upload_takes_no_more_room_than_a_plain_one(tmp_path: Path) -> None:
    """A text that stands once in the file and in every row is counted as often as it will be
    read.
    """
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 2_100, pyarrow.int32()), ["x" * 100_000]
    )
    small = pyarrow.table({"source": column.slice(0, 4), "label": [0, 1, 0, 1]})
    large = pyarrow.table({"source": column, "label": [0] * len(column)})
    (tmp_path / "work").mkdir()
    statuses: list[int] = []
    with visit(tmp_path / "work") as desk:
        for name, table in (("small", small), ("large", large)):
            pyarrow.parquet.write_table(table, tmp_path / name)
            files = {"data": (f"{name}.parquet", (tmp_path / name).read_bytes())}
            statuses.append(desk.post("/start/upload", files=files, headers=HEADERS).status_code)
    assert statuses == [303, 413]
    assert (tmp_path / "large").stat().st_size < MAX_UPLOAD // 100
    assert [path.name for path in (tmp_path / "work" / "data").iterdir()] == ["small.parquet"]
