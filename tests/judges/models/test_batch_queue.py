"""A batch queue over HTTP: handed over once, fetched whole, whatever falls over between."""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from judgewright.judges import Completion, InputError, ModelError, Waiting
from judgewright.judges.models import (
    BatchQueue,
    Client,
    Endpoint,
    Exchange,
    MemoryRecord,
    Message,
    Price,
    Prices,
    Request,
    RequestFile,
    Spending,
)
from judgewright.judges.simulated import Server

from ...batch_server import BatchServer

KEY = "sk-test-CANARY-91c2e7d0aa"


def rows(n: int) -> list[Request]:
    """Distinct requests."""
    return [Request(messages=(Message("user", f"Is this a question, row {i}?"),)) for i in range(n)]


class Cut:
    """An app whose answer to some request is lost on the way, after the app has done what was
    asked.
    """

    def __init__(self, app: Starlette) -> None:
        self.app = app
        self.lose: Callable[[Scope], bool] = lambda _: False
        self.seen: list[tuple[str, str]] = []
        self.keys: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self.seen.append((scope["method"], scope["path"]))
        self.keys.add(dict(scope["headers"]).get(b"authorization", b"").decode())
        lost = self.lose(scope)

        async def answer(message: object) -> None:
            if lost:
                raise ConnectionError("the answer is lost")
            await send(message)  # type: ignore[arg-type]

        await self.app(scope, receive, answer)


class Place:
    """A served queue, a folder and a record: what outlives a process."""

    def __init__(self, stack: ExitStack, folder: Path, batches: BatchServer) -> None:
        self.batches = batches
        self.cut = Cut(batches.app())
        self.server = stack.enter_context(Server(self.cut))  # type: ignore[arg-type]
        self.folder = folder
        self.record = MemoryRecord()
        self.slept: list[float] = []

    def client(self, *, wait: bool = True, sleep: Callable[[float], None] | None = None) -> Client:
        """A new process on the same folder and record."""
        url = self.server.base_url
        queue = BatchQueue(base_url=url, api_key=KEY, wait=wait, sleep=sleep or self.slept.append)
        model = Endpoint(name="simulated", base_url=url, api_key=KEY)
        return Client(
            model,
            record=self.record,
            exchange=Exchange(self.folder, courier=queue, price_share=0.5),
        )

    def require_once(self, answers: int, batches: int) -> None:
        """Check that each request was answered once, and how many batches there were."""
        assert list(self.batches.billed.values()) == [1] * answers
        assert len(self.batches.batches) == batches


Places = Callable[[BatchServer], Place]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Places]:
    """Makes places that end with the test."""
    with ExitStack() as stack:
        yield lambda batches: Place(stack, tmp_path / "batches", batches)


def test_a_batch_is_handed_over_awaited_and_fetched(place: Places) -> None:
    """The key goes to the endpoint, the progress says what is waited for, and each request is made
    once.
    """
    here = place(BatchServer(looks=3))
    notes: list[str] = []
    outcomes = here.client().ask(rows(5), progress=lambda progress: notes.append(progress.note))
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    assert len(here.slept) == 3
    assert here.slept == sorted(here.slept)
    assert "batch_000001 validating; next look in 10 s" in notes[0]
    here.require_once(5, batches=1)
    assert here.cut.keys == {f"Bearer {KEY}"}
    assert KEY not in "".join(path.read_text() for path in here.folder.iterdir())


def test_who_does_not_wait_goes_on_later(place: Places) -> None:
    """The batch's id is kept, so that nothing is handed over twice."""
    here = place(BatchServer(looks=2))
    for status in ("validating", "validating"):
        with pytest.raises(Waiting) as caught:
            here.client(wait=False).ask(rows(4))
        (batch,) = caught.value.awaits["batches"]
        assert (batch["batch"], batch["status"], batch["requests"]) == ("batch_000001", status, 4)
    assert here.record.spending().in_doubt_tokens > 0, (
        "an outstanding batch holds its part of the budget"
    )
    assert len(here.client(wait=False).ask(rows(4))) == 4
    here.require_once(4, batches=1)
    assert here.record.spending().in_doubt_tokens == 0


def test_ctrl_c_while_waiting_ends_and_keeps_the_batch(place: Places) -> None:
    """It raises what `--no-wait` raises."""
    here = place(BatchServer(looks=1))

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Waiting, match="batch_000001 validating"):
        here.client(sleep=interrupt).ask(rows(2))
    here.client().ask(rows(2))
    here.require_once(2, batches=1)


def test_half_the_price(place: Places) -> None:
    """Of what is reserved, and of what was spent."""
    here = place(BatchServer())
    prices = Prices(Price(input=1_000_000, output=1_000_000))
    url = here.server.base_url
    queue = BatchQueue(base_url=url, api_key=None)
    model = Endpoint(name="simulated", base_url=url, api_key=None)
    exchange = Exchange(here.folder, courier=queue, price_share=0.5)
    with Client(model, record=here.record, prices=prices, exchange=exchange) as client:
        (outcome,) = client.ask(rows(1))
        assert isinstance(outcome, Completion)
        assert client.stats.cost == (outcome.tokens_in + outcome.tokens_out) / 2
    assert here.record.spending() == Spending(
        settled_cost=client.stats.cost, settled_tokens=outcome.tokens_in + outcome.tokens_out
    )


def first(fate: str) -> Callable[[int], str]:
    """Something goes wrong with the first batch."""
    return lambda number: fate if number == 1 else ""


LEAKS = (
    BatchServer(line_fate=lambda batch, _: first("lost")(batch)),
    BatchServer(line_fate=lambda batch, _: first("failed")(batch)),
    BatchServer(line_fate=lambda batch, line: first(("lost", "failed")[line % 2])(batch)),
    BatchServer(batch_fate=first("expired")),
)


@pytest.mark.parametrize("batches", LEAKS)
def test_what_a_batch_leaves_open_is_asked_again(place: Places, batches: BatchServer) -> None:
    """Partial output, failed requests, expired batches: the next batch has the rest, and nothing is
    paid twice.
    """
    here = place(batches)
    outcomes = here.client().ask(rows(12))
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    here.require_once(12, batches=2)
    assert here.record.spending().in_doubt_tokens == 0


def test_batches_that_come_back_empty_again_and_again_end_the_command(
    place: Places,
) -> None:
    """Whoever wants to go on gives it again: no loop runs by itself for days."""
    here = place(BatchServer(batch_fate=lambda _: "expired"))
    for _ in range(2):
        with pytest.raises(ModelError, match="3 times in a row"):
            here.client().ask(rows(1))
    here.require_once(0, batches=6)


def test_a_batch_that_is_rejected_is_an_error_with_its_reason_and_may_be_sent_again(
    place: Places,
) -> None:
    """Nothing of it was worked on; the file is handed over again by the next command."""
    here = place(BatchServer(batch_fate=first("rejected")))
    with pytest.raises(ModelError, match=r"the file is rejected \(line 1\)"):
        here.client().ask(rows(3))
    assert len(here.client().ask(rows(3))) == 3
    here.require_once(3, batches=2)


@pytest.mark.parametrize("lost", ["/v1/files", "/v1/batches"])
def test_an_answer_that_is_lost_does_not_make_a_second_batch(place: Places, lost: str) -> None:
    """The provider has made the batch, and we never heard its id: it is found by its token."""
    here = place(BatchServer())
    losses = iter([True])
    here.cut.lose = lambda scope: (
        scope["method"] == "POST" and scope["path"] == lost and next(losses, False)
    )
    assert len(here.client().ask(rows(3))) == 3
    here.require_once(3, batches=1)


@pytest.mark.parametrize("step", ["upload", "create", "look", "fetch"])
def test_a_crash_at_any_step_loses_and_repeats_nothing(place: Places, step: str) -> None:
    """The process dies where it stands: what it has written down is what the next one knows."""
    here = place(BatchServer())

    class Dead(BaseException):
        pass

    def die(scope: Scope) -> bool:
        method, path = scope["method"], scope["path"]
        return {
            "upload": (method, path) == ("POST", "/v1/files"),
            "create": (method, path) == ("POST", "/v1/batches"),
            "look": method == "GET" and path.startswith("/v1/batches/"),
            "fetch": path.endswith("/content"),
        }[step]

    here.cut.lose = die

    def dead(_: float) -> None:
        raise Dead

    with pytest.raises(Dead):
        here.client(sleep=dead).ask(rows(3))
    here.cut.lose = lambda _: False
    assert len(here.client().ask(rows(3))) == 3
    here.require_once(3, batches=1)


def test_an_endpoint_without_a_queue_is_told(tmp_path: Path) -> None:
    """A 404 names the ways that are left."""

    async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send(
            {
                "type": "http.response.body",
                "body": orjson.dumps({"error": {"message": "no such route"}}),
            }
        )

    with Server(nothing) as server:  # type: ignore[arg-type]
        queue = BatchQueue(base_url=server.base_url, api_key=KEY)
        model = Endpoint(name="m", base_url=server.base_url, api_key=KEY)
        with pytest.raises(ModelError, match="404") as caught:
            Client(model, exchange=Exchange(tmp_path, courier=queue)).ask(rows(1))
    assert "--via files" in (caught.value.hint or "")
    assert KEY not in str(caught.value)
    assert caught.value.__context__ is None


def test_without_the_key_nothing_is_sent(tmp_path: Path) -> None:
    """The message says where it belongs."""
    queue = BatchQueue(
        base_url="http://127.0.0.1:9/v1", api_key=None, needs_key=True, key_hint="put it into X"
    )
    model = Endpoint(name="m", base_url="http://127.0.0.1:9/v1", api_key=None)
    with pytest.raises(ModelError, match="needs a key") as caught:
        Client(model, exchange=Exchange(tmp_path, courier=queue)).ask(rows(1))
    assert caught.value.hint == "put it into X"


class Scripted:
    """An app that answers a batch queue's requests with given bodies."""

    def __init__(
        self, batch: object, results: list[bytes] | None = None, length: int | None = None
    ) -> None:
        self.batch = batch
        self.created: object = {"id": "b"}
        self.uploaded: object = {"id": "file-1"}
        self.results = results or []
        self.length = length
        """What the results' header says, where it is not true."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        more = True
        while more:
            more = (await receive()).get("more_body", False)
        body = self.created if scope["method"] == "POST" else self.batch
        chunks = [orjson.dumps(self.uploaded if scope["path"].endswith("/files") else body)]
        headers: list[tuple[bytes, bytes]] = []
        if scope["path"].endswith("/content"):
            chunks = self.results
            headers = [(b"content-length", str(self.length).encode())] if self.length else []
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def carry(app: Scripted, folder: Path) -> None:
    """Ask one row through a queue."""
    with Server(app) as server:  # type: ignore[arg-type]
        queue = BatchQueue(base_url=server.base_url, api_key=KEY, wait=False, sleep=lambda _: None)
        model = Endpoint(name="m", base_url=server.base_url, api_key=KEY)
        Client(model, exchange=Exchange(folder, courier=queue)).ask(rows(1))


def test_a_refusal_that_quotes_the_key_is_shown_without_it(tmp_path: Path) -> None:
    """A gateway may quote what it was sent."""
    failed = {
        "id": "b",
        "status": "failed",
        "errors": {"data": [{"message": f"bad key {KEY}", "line": 1}]},
    }
    with pytest.raises(ModelError, match=r"bad key \[key\]"):
        carry(Scripted(failed), tmp_path)


def test_results_that_answer_no_request_are_not_fetched_for_ever(tmp_path: Path) -> None:
    """They count as a batch without results: asked again, and given up after three batches."""
    done = {"id": "b", "status": "completed", "output_file_id": "o"}
    with pytest.raises((Waiting, ModelError)):
        carry(Scripted(done, [b'{"a": 1}\n{}']), tmp_path)
    assert len(list(tmp_path.glob("replies-*"))) <= 4


def test_results_that_break_off_are_fetched_again_and_then_named(tmp_path: Path) -> None:
    """As an error of the connection."""
    done = {"id": "b", "status": "completed", "output_file_id": "o"}
    with pytest.raises(ModelError, match="broke"):
        carry(Scripted(done, [b"{}"], length=5000), tmp_path)
    assert not list(tmp_path.glob("replies-*"))


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_key_is_taken_out_of_results_wherever_the_stream_is_cut(
    tmp_path: Path, size: int
) -> None:
    """A gateway that quotes what it was sent may send the first half of the key in one chunk, the
    rest in the next.
    """
    done = {"id": "b", "status": "completed", "output_file_id": "o"}
    results = b'{"custom_id": "jw-%s-1", "content": "you sent %s"}\n{}' % (b"0" * 32, KEY.encode())
    with pytest.raises((Waiting, ModelError)):
        carry(
            Scripted(done, [results[i : i + size] for i in range(0, len(results), size)]), tmp_path
        )
    written = "".join(path.read_text() for path in tmp_path.glob("replies-*"))
    assert "you sent [key]" in written
    assert KEY not in written


def test_results_are_not_written_through_a_link(tmp_path: Path) -> None:
    """What lies under the name of the unfinished file is removed, and not followed."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "batches"
    folder.mkdir()
    (folder / ".replies-0001-m.jsonl.part").symlink_to(precious)
    done = {"id": "b", "status": "completed", "output_file_id": "o"}
    with pytest.raises((Waiting, ModelError)):
        carry(Scripted(done, [b'{"a": 1}\n']), folder)
    assert precious.read_text() == "mine"
    assert list(folder.glob("replies-0001-*"))


# Request files that somebody else put there.


def twice(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first request again."""
    return [*lines, lines[0]]


def dearer(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Another body under the id of one of the requests."""
    body = {"model": "dearest", "messages": [{"role": "user", "content": "Write a novel."}]}
    return [{**lines[0], "body": body}, *lines[1:]]


def more(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A request that nobody asks for."""
    return [*lines, {**lines[0], "custom_id": f"jw-{'0' * 32}-1"}]


def elsewhere(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Another address of the provider."""
    return [{**line, "url": "/v1/images/generations"} for line in lines]


@pytest.mark.parametrize("change", [twice, dearer, more, elsewhere])
def test_a_request_file_of_somebody_else_is_not_handed_over(
    place: Places, tmp_path: Path, change: Callable[[list[Any]], list[Any]]
) -> None:
    """It came with the workspace: its requests would be paid for with this user's key."""
    here = place(BatchServer(looks=2))
    path = written_before(here, tmp_path / "written")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in change(lines)))
    one, again = here.client(wait=False), here.client()
    with pytest.raises(
        Waiting, match=r"batch_000001 validating; .*\.jsonl has other requests than .* written anew"
    ):
        one.ask(rows(4))
    assert [path.name in note for note in one.stats.notes] == [True]
    assert all(isinstance(outcome, Completion) for outcome in again.ask(rows(4)))
    assert not again.stats.notes
    here.require_once(4, batches=1)


def test_a_request_file_that_a_crash_left_behind_is_handed_over(
    place: Places, tmp_path: Path
) -> None:
    """It has what is to be asked, and is not written a second time; also where more is to be asked
    now.
    """
    here = place(BatchServer())
    path = written_before(here, tmp_path / "written")
    one = here.client()
    assert len(one.ask(rows(6))) == 6
    assert not one.stats.notes
    assert path.exists()
    here.require_once(6, batches=2)


def written_before(here: Place, folder: Path) -> Path:
    """Put the request file of four rows into a place, as a command leaves it that died before it
    handed it over.
    """
    model = Endpoint(name="simulated", base_url=here.server.base_url, api_key=KEY)
    with pytest.raises(Waiting):
        Client(model, exchange=Exchange(folder)).ask(rows(4))
    (written,) = folder.glob("requests-*")
    here.folder.mkdir()
    return written.rename(here.folder / written.name)


# Answers of another form.

NAMED = [
    ({"created": {"id": ""}}, "id: .*''"),
    ({"created": {"id": "../files/x"}}, "id: .*'../files/x'"),
    ({"created": []}, r"the answer: .*\[\]"),
    ({"uploaded": {"id": 7}}, "id: .*7"),
    ({"uploaded": {"object": "file"}}, "id: Field required"),
    ({"batch": {"id": "b"}}, "status: Field required"),
    ({"batch": {"id": "b", "status": "in\nprogress"}}, "status: "),
    ({"batch": {"status": "in_progress", "request_counts": [1, 2]}}, r"request_counts: .*\[1, 2\]"),
    (
        {"batch": {"status": "in_progress", "request_counts": {"completed": "3"}}},
        "request_counts.completed: .*'3'",
    ),
    ({"batch": {"status": "completed", "output_file_id": 7}}, "output_file_id: .*7"),
    ({"batch": {"status": "failed", "errors": "the quota is used up"}}, "'the quota is used up'"),
    ({"batch": {"status": "failed", "errors": {"data": ["quota"]}}}, "quota"),
]


@pytest.mark.parametrize(("odd", "message"), NAMED)
def test_an_odd_answer_is_named_by_its_field(
    tmp_path: Path, odd: dict[str, object], message: str
) -> None:
    """What is no batch queue, or one with fields of its own, ends in an error that says which and
    what.
    """
    app = Scripted({"id": "b", "status": "validating"})
    for name, body in odd.items():
        setattr(app, name, body)
    with pytest.raises(ModelError, match=message) as caught:
        carry(app, tmp_path)
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
COUNTS = st.fixed_dictionaries({}, optional={"completed": JSON, "failed": JSON})
ERRORS = st.fixed_dictionaries(
    {
        "data": JSON
        | st.lists(st.fixed_dictionaries({}, optional={"message": JSON, "line": JSON}), max_size=4)
    }
)
STATUS = JSON | st.sampled_from(["validating", "failed", "completed", "expired", "in_progress"])
BATCH = JSON | st.fixed_dictionaries(
    {},
    optional={
        "id": JSON | st.just("b"),
        "status": STATUS,
        "request_counts": JSON | COUNTS,
        "output_file_id": JSON | st.just("o"),
        "error_file_id": JSON,
        "errors": JSON | ERRORS,
    },
)
LISTED = st.fixed_dictionaries(
    {}, optional={"id": JSON | st.just("b"), "metadata": JSON | st.just({"judgewright": "t"})}
)
PAGE = JSON | st.fixed_dictionaries(
    {"data": JSON | st.lists(LISTED, max_size=2)}, optional={"has_more": JSON}
)
CREATED = JSON | st.fixed_dictionaries(
    {"id": JSON | st.sampled_from(["b", "", ".", "a?b", "a/../b", "a\nb"])}
)


@pytest.fixture(scope="module")
def queue_of_anything() -> Iterator[tuple[Scripted, str]]:
    """A served queue whose answers a test sets."""
    app = Scripted({})
    with Server(app) as server:  # type: ignore[arg-type]
        yield app, server.base_url


@pytest.mark.slow
@settings(max_examples=120)
@given(uploaded=CREATED, created=CREATED, batch=BATCH, listed=st.booleans(), page=PAGE)
@example(
    uploaded={"id": "f"}, created={"id": "b"}, batch={"status": "validating"}, listed=False, page={}
)
def test_no_answer_of_a_queue_ends_in_a_defect(
    queue_of_anything: tuple[Scripted, str],
    tmp_path_factory: pytest.TempPathFactory,
    uploaded: object,
    created: object,
    batch: object,
    listed: bool,
    page: object,
) -> None:
    """Whatever JSON comes with a 200: an error of ours, or the command waits."""
    app, url = queue_of_anything
    folder = tmp_path_factory.mktemp("anything")
    path = folder / "requests-0001-m.jsonl"
    path.write_text("{}\n")
    app.uploaded, app.created, app.batch = uploaded, created, batch
    if listed:
        # The upload is over, and the batch may have been created.
        way = {"token": "t", "step": "creating", "since": 0.0, "input_file": "f"}
        (folder / f".{path.name}.batch.json").write_bytes(orjson.dumps(way))
        app.batch = page
    file = RequestFile(path, "m", {"0" * 32: 1})
    queue = BatchQueue(base_url=url, api_key=KEY, wait=False, sleep=lambda _: None)
    with contextlib.suppress(ModelError, Waiting):
        queue.carry([file], lambda _: None)


# What is kept beside a request file.

ODD_WAYS = [b"", b"garbage", b"[]", b"{}", b'{"token": 7}', b"\xff\xfe", b" " * 100_000]


@pytest.mark.parametrize("content", ODD_WAYS)
def test_a_file_that_says_nothing_about_its_batch_is_named(tmp_path: Path, content: bytes) -> None:
    """With what to do, and before anything is sent."""
    path = tmp_path / ".requests-0001-m.jsonl.batch.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(path.name)) as caught:
        carry(Scripted({}), tmp_path)
    assert "delete it" in (caught.value.hint or "")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "link to nothing"])
def test_what_is_no_file_beside_a_request_file_is_not_opened(tmp_path: Path, kind: str) -> None:
    """A pipe would be read for ever, and a link leads out of the workspace."""
    path = tmp_path / ".requests-0001-m.jsonl.batch.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "link" else tmp_path / "nothing")
    with pytest.raises(InputError, match=re.escape(path.name)):
        carry(Scripted({}), tmp_path)
