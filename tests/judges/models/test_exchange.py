"""Requests that go out as files and replies that come back as files: nothing lost, nothing asked
twice.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgewright.judges import BudgetSpent, InputError, ModelError, Waiting
from judgewright.judges.models import (
    Budget,
    Client,
    Completion,
    Endpoint,
    Exchange,
    MemoryRecord,
    Message,
    Price,
    Prices,
    Request,
    RequestFile,
    Spending,
    ask_together,
)

NOWHERE = "http://127.0.0.1:9/v1"


def rows(n: int, start: int = 0) -> list[Request]:
    """Distinct requests."""
    return [Request(messages=(Message("user", f"row {i}"),)) for i in range(start, start + n)]


def client(folder: Path, record: MemoryRecord, **more: Any) -> Client:
    """A client whose model nobody can reach: it lives by files alone."""
    model = Endpoint(name=more.pop("model", "by-hand"), base_url=NOWHERE, api_key=None)
    return Client(model, record=record, exchange=Exchange(folder), **more)


def asked(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of each request file."""
    return {
        path.name: [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(folder.glob("requests-*.jsonl"))
    }


def newest(folder: Path) -> list[dict[str, Any]]:
    """The lines of the newest request file."""
    return list(asked(folder).values())[-1]


def echo(line: Mapping[str, Any]) -> dict[str, Any]:
    """The short form of a reply."""
    return {
        "custom_id": line["custom_id"],
        "content": f"echo {line['body']['messages'][0]['content']}",
    }


def batch_line(line: Mapping[str, Any], status: int = 200, body: object = None) -> dict[str, Any]:
    """A reply as the Batch API writes it."""
    if body is None:
        message = {"role": "assistant", "content": f"echo {line['body']['messages'][0]['content']}"}
        usage = {"prompt_tokens": 10, "completion_tokens": 2}
        body = {
            "choices": [{"message": message, "finish_reason": "stop"}],
            "model": "by-hand",
            "usage": usage,
        }
    return {
        "id": "r",
        "custom_id": line["custom_id"],
        "response": {"status_code": status, "body": body},
        "error": None,
    }


def write(path: Path, lines: Iterable[object]) -> None:
    """Write a reply file."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def waiting(one: Client, requests: list[Request]) -> Waiting:
    """Ask, and expect that the replies are missing."""
    with pytest.raises(Waiting) as caught:
        one.ask(requests)
    return caught.value


def texts(outcomes: Iterable[object]) -> list[str]:
    """What was answered; an error is its message."""
    return [
        outcome.text if isinstance(outcome, Completion) else str(outcome) for outcome in outcomes
    ]


@pytest.mark.parametrize("form", [echo, batch_line])
def test_requests_go_out_as_one_file_and_replies_come_back(
    tmp_path: Path, form: Callable[..., Any]
) -> None:
    """The format is that of batch files; a short form is read as well; the order of the replies
    does not matter.
    """
    record = MemoryRecord()
    error = waiting(client(tmp_path / "x", record), rows(3))
    assert error.awaits["requests"] == 3
    (name,) = asked(tmp_path / "x")
    assert name == "requests-0001-by-hand.jsonl"
    assert name in str(error)
    first = newest(tmp_path / "x")[0]
    assert first["method"] == "POST"
    assert first["url"] == "/v1/chat/completions"
    assert first["body"] == {"model": "by-hand", **rows(1)[0].body()}
    write(
        tmp_path / "x" / "replies.jsonl", [form(line) for line in reversed(newest(tmp_path / "x"))]
    )
    one = client(tmp_path / "x", record)
    assert texts(one.ask(rows(3))) == ["echo row 0", "echo row 1", "echo row 2"]
    assert one.stats.calls == 3
    (tmp_path / "x" / "replies.jsonl").unlink()
    again = client(tmp_path / "x", record)
    assert texts(again.ask(rows(3))) == [
        "echo row 0",
        "echo row 1",
        "echo row 2",
    ], "they are in the record"
    assert again.stats.calls == 0


def test_a_mark_before_the_first_reply_loses_no_line_and_utf_16_is_named(tmp_path: Path) -> None:
    """Editors and shells on Windows write both."""
    record = MemoryRecord()
    waiting(client(tmp_path, record), rows(2))
    replies = "".join(f"{json.dumps(echo(line))}\n" for line in newest(tmp_path))
    path = tmp_path / "replies.jsonl"
    path.write_bytes(replies.encode("utf-16"))
    error = waiting(client(tmp_path, record), rows(2))
    assert error.awaits["notes"] == ["replies.jsonl is UTF-16 text, and not read: save it as UTF-8"]
    path.write_bytes(replies.encode("utf-8-sig"))
    assert texts(client(tmp_path, record).ask(rows(2))) == ["echo row 0", "echo row 1"]


def test_asking_again_without_replies_changes_nothing(tmp_path: Path) -> None:
    """A resumed command waits for the same file; only what is new goes into another one."""
    record = MemoryRecord()
    waiting(client(tmp_path, record), rows(2))
    before = asked(tmp_path)
    message = str(waiting(client(tmp_path, record), rows(2)))
    assert message.startswith("waiting for 2 replies for the judge: requests-0001")
    assert asked(tmp_path) == before
    waiting(client(tmp_path, record), rows(4))
    assert [len(lines) for lines in asked(tmp_path).values()] == [2, 2]


def test_what_a_reply_file_leaves_out_is_asked_again_in_the_next_request_file(
    tmp_path: Path,
) -> None:
    """What is answered counts; a late answer to the first asking still does."""
    record = MemoryRecord()
    waiting(client(tmp_path, record), rows(4))
    first = newest(tmp_path)
    write(tmp_path / "a.jsonl", [echo(first[0])])
    waiting(client(tmp_path, record), rows(4))
    assert [len(lines) for lines in asked(tmp_path).values()] == [4, 3]
    assert not {line["custom_id"] for line in newest(tmp_path)} & {
        line["custom_id"] for line in first
    }
    write(tmp_path / "b.jsonl", [echo(first[1])])
    write(tmp_path / "c.jsonl", [echo(line) for line in newest(tmp_path)[1:]])
    assert texts(client(tmp_path, record).ask(rows(4))) == [f"echo row {i}" for i in range(4)]


def test_what_cannot_be_used_is_passed_over_and_counted(tmp_path: Path) -> None:
    """Torn lines, unknown ids, copies, foreign files, requests under another name: none of them is
    an answer.
    """
    record = MemoryRecord()
    waiting(client(tmp_path, record), rows(3))
    lines = newest(tmp_path)
    good = json.dumps(echo(lines[0]))
    strange = json.dumps({"custom_id": f"jw-{'0' * 32}-1", "content": "?"})
    other = json.dumps({"custom_id": "mine-7", "content": "?"})
    torn = json.dumps(echo(lines[1]))[:-9]
    (tmp_path / "a.jsonl").write_text("\n".join((good, strange, other, json.dumps(lines[2]), torn)))
    (tmp_path / "b.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
    (tmp_path / "notes.txt").write_text("foreign")
    error = waiting(client(tmp_path, record), rows(3))
    assert set(error.awaits["notes"]) == {
        "a.jsonl: 2 lines have a custom_id of no request here",
        "a.jsonl: 2 lines cannot be read (line 4, 5)",
        "b.jsonl: 2 lines have a custom_id of no request here",
        "b.jsonl: 2 lines cannot be read (line 4, 5)",
        "1 other files are not read",
    }
    assert error.awaits["requests"] == 2
    write(
        tmp_path / "d.jsonl",
        [{**echo(lines[0]), "content": "another answer"}, *map(echo, newest(tmp_path))],
    )
    assert texts(client(tmp_path, record).ask(rows(3)))[0] == "echo row 0", "the first answer stays"


def test_the_name_of_a_file_cannot_write_lines_of_its_own(tmp_path: Path) -> None:
    """A line end, an escape sequence or what is no character in a name is spelled out, in one
    line.
    """
    record = MemoryRecord()
    waiting(client(tmp_path, record), rows(2))
    (request,) = tmp_path.glob("requests-*.jsonl")
    request.rename(tmp_path / "requests-0001-\nerror: \x1b[2J.jsonl")
    for name in (b"a\nb.jsonl", b"c\x1b[2Jd.jsonl", b"\xff.jsonl"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text(f"garbage of {name!r}")
    message = str(waiting(client(tmp_path, record), rows(2)))
    assert message.isprintable()
    for spelled in (
        r"\nerror: \x1b[2J",
        r"a\nb.jsonl",
        r"c\x1b[2Jd.jsonl",
        r"\udcff.jsonl",
    ):
        assert spelled in message


def test_a_reply_with_an_error_is_asked_again_or_given_up_as_the_error_says(tmp_path: Path) -> None:
    """A server's fault is asked again, three times; a refusal of the request is final, and kept as
    such.
    """
    record = MemoryRecord()
    requests = rows(3)
    waiting(client(tmp_path, record), requests)
    for number in range(3):
        lines = {line["body"]["messages"][0]["content"]: line for line in newest(tmp_path)}
        replies: list[object] = []
        for text, line in lines.items():
            if text == "row 0":
                replies.append(batch_line(line))
            elif text == "row 1":
                replies.append(batch_line(line, 400, {"error": {"message": "no such tool"}}))
            else:
                replies.append(batch_line(line, 500, {"error": {"message": "broken"}}))
        write(tmp_path / f"{number}.jsonl", replies)
        if number < 2:
            waiting(client(tmp_path, record), requests)
            assert [line["body"]["messages"][0]["content"] for line in newest(tmp_path)] == [
                "row 2"
            ]
    outcomes = client(tmp_path, record).ask(requests)
    assert [type(outcome) for outcome in outcomes] == [Completion, ModelError, ModelError]
    assert "given up after 3 tries" in str(outcomes[2])
    assert record.spending().in_doubt_tokens == 0


@pytest.mark.parametrize(
    "field",
    ['"content": %s', '"response": {"status_code": 400, "body": %s}', '"response": {"body": %s}'],
)
def test_a_reply_nested_too_deep_is_no_answer(tmp_path: Path, field: str) -> None:
    """It is asked again or given up, and no end of the command in a traceback."""
    record = MemoryRecord()
    waiting(client(tmp_path, record), rows(1))
    deep = field % ("[" * 600 + "]" * 600)
    custom_id = newest(tmp_path)[0]["custom_id"]
    (tmp_path / "r.jsonl").write_text(f'{{"custom_id": "{custom_id}", {deep}}}')
    with suppress(Waiting):
        (outcome,) = client(tmp_path, record).ask(rows(1))
        assert not isinstance(outcome, Completion) or outcome.text == "null"


def test_an_expired_batch_s_requests_are_asked_again_without_a_limit(tmp_path: Path) -> None:
    """An error of the whole batch says nothing about a request."""
    record = MemoryRecord()
    waiting(client(tmp_path, record), rows(1))
    for number in range(5):
        write(
            tmp_path / f"{number}.jsonl",
            [{**newest(tmp_path)[0], "error": {"code": "batch_expired"}}],
        )
        waiting(client(tmp_path, record), rows(1))
    write(tmp_path / "z.jsonl", map(echo, newest(tmp_path)))
    assert texts(client(tmp_path, record).ask(rows(1))) == ["echo row 0"]


def test_a_refused_parameter_is_left_out_of_the_next_file_and_of_later_ones(tmp_path: Path) -> None:
    """It is learnt from the folder, so that another session does not ask with it again."""
    record = MemoryRecord()
    waiting(client(tmp_path, record), rows(1))
    fault = {
        "error": {
            "message": "Unsupported parameter: 'temperature'",
            "code": "unsupported_parameter",
        }
    }
    write(tmp_path / "a.jsonl", [batch_line(newest(tmp_path)[0], 400, fault)])
    waiting(client(tmp_path, record), rows(1))
    assert "temperature" not in newest(tmp_path)[0]["body"]
    write(tmp_path / "b.jsonl", map(echo, newest(tmp_path)))
    (answer,) = client(tmp_path, record).ask(rows(1))
    assert isinstance(answer, Completion)
    assert answer.dropped == ("temperature",)
    waiting(client(tmp_path, record), rows(1, start=7))
    assert "temperature" not in newest(tmp_path)[0]["body"]
    waiting(client(tmp_path, record, model="another"), rows(1))
    assert "temperature" in newest(tmp_path)[0]["body"]


def test_tasks_that_do_not_need_each_other_share_one_file(tmp_path: Path) -> None:
    """Also tasks within tasks; each gets its own results."""
    record = MemoryRecord()
    one = client(tmp_path, record)
    tasks = [
        partial(one.ask, rows(2)),
        lambda: ask_together([partial(one.ask, rows(1, 5)), partial(one.ask, rows(1, 6))]),
    ]
    with pytest.raises(Waiting):
        ask_together(tasks)
    assert [len(lines) for lines in asked(tmp_path).values()] == [4]
    write(tmp_path / "a.jsonl", map(echo, newest(tmp_path)))
    first, second = ask_together(tasks)
    assert texts(first) == ["echo row 0", "echo row 1"]
    assert [texts(outcomes) for outcomes in second] == [["echo row 5"], ["echo row 6"]]


def test_two_models_have_files_of_their_own_in_one_folder(tmp_path: Path) -> None:
    """A batch is for one model."""
    judge, writer = (
        client(tmp_path, MemoryRecord(), model=name) for name in ("judge", "org/writer 2")
    )
    with pytest.raises(Waiting):
        ask_together([partial(judge.ask, rows(2)), partial(writer.ask, rows(1))])
    assert list(asked(tmp_path)) == ["requests-0001-judge.jsonl"]
    waiting(writer, rows(1))
    assert list(asked(tmp_path)) == [
        "requests-0001-judge.jsonl",
        "requests-0002-org-writer-2.jsonl",
    ]
    write(tmp_path / "a.jsonl", map(echo, newest(tmp_path)))
    assert texts(writer.ask(rows(1))) == ["echo row 0"]
    assert "requests-0001" in str(waiting(judge, rows(2)))


def test_what_is_out_holds_its_part_of_the_budget(tmp_path: Path) -> None:
    """What fits goes out; the rest follows once replies have cost less, and is without an answer
    when nothing fits.
    """
    record = MemoryRecord()
    budget = partial(Budget, money=None, tokens=2500)
    waiting(client(tmp_path, record, budget=budget(spent=record.spending())), rows(9))
    out = len(newest(tmp_path))
    assert 0 < out < 9
    assert record.spending().in_doubt_tokens > 1000
    error = waiting(client(tmp_path, record, budget=budget(spent=record.spending())), rows(9))
    assert error.awaits["requests"] == out, "an outstanding request is not reserved for twice"
    write(tmp_path / "a.jsonl", map(batch_line, newest(tmp_path)))
    waiting(client(tmp_path, record, budget=budget(spent=record.spending())), rows(9))
    assert len(asked(tmp_path)) == 2
    none = Budget(money=None, tokens=5, spent=Spending())
    outcomes = client(tmp_path / "other", MemoryRecord(), budget=none).ask(rows(2))
    assert [type(outcome) for outcome in outcomes] == [BudgetSpent, BudgetSpent]


def test_a_reply_that_this_workspace_never_asked_for_counts_and_costs(tmp_path: Path) -> None:
    """Somebody brings an exchange folder from another machine: the answers are good, and are
    entered.
    """
    waiting(client(tmp_path, MemoryRecord()), rows(2))
    write(tmp_path / "a.jsonl", map(batch_line, newest(tmp_path)))
    record = MemoryRecord()
    prices = Prices(Price(input=1_000_000, output=1_000_000))
    one = client(tmp_path, record, prices=prices)
    assert texts(one.ask(rows(2))) == ["echo row 0", "echo row 1"]
    assert record.spending() == Spending(settled_cost=24.0, settled_tokens=24)
    assert one.stats.cost == 24.0


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    """Before anything is asked."""
    (tmp_path / "x").write_text("")
    with pytest.raises(InputError, match="is not a folder"):
        Exchange(tmp_path / "x")


FATES = st.sampled_from(["answered", "missing", "torn", "error", "twice"])


@settings(max_examples=40)
@given(st.lists(st.lists(FATES, min_size=6, max_size=6), max_size=5))
def test_however_replies_come_each_request_is_open_in_one_place_or_answered(
    tmp_path_factory: pytest.TempPathFactory, sittings: list[list[str]]
) -> None:
    """No request stands in two open files, none is forgotten, and an answered one is not asked
    again.
    """
    folder = tmp_path_factory.mktemp("x")
    record, answered = MemoryRecord(), set[str]()
    for number, fates in enumerate(sittings):
        if len(answered) == 6:
            break
        waiting(client(folder, record), rows(6))
        lines = newest(folder)
        open_now = [line["body"]["messages"][0]["content"] for line in lines]
        if any(fate != "missing" for fate in fates[: len(lines)]) or number == 0:
            assert len(open_now) == len(set(open_now))
            assert not answered & set(open_now)
        text = ""
        for line, fate in zip(lines, fates, strict=False):
            whole = json.dumps(echo(line))
            if fate in ("answered", "twice"):
                answered.add(line["body"]["messages"][0]["content"])
                text += f"{whole}\n" * (1 + (fate == "twice"))
            elif fate == "torn":
                text += f"{whole[:-5]}\n"
            elif fate == "error":
                text += (
                    json.dumps({"custom_id": line["custom_id"], "error": {"message": "lost"}})
                    + "\n"
                )
        (folder / f"replies-{number}.jsonl").write_text(text)
    if len(answered) < 6:
        try:
            client(folder, record).ask(rows(6))
        except Waiting:
            write(
                folder / "rest.jsonl",
                [echo(line) for lines in asked(folder).values() for line in lines],
            )
    assert texts(client(folder, record).ask(rows(6))) == [f"echo row {i}" for i in range(6)]


class Nobody:
    """A courier whose files a person answers."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []

    def carries(self, file: RequestFile) -> bool:
        """Everything is on its way."""
        return True

    def carry(self, files: Sequence[RequestFile], report: Callable[[str], None]) -> None:
        """It takes a while."""
        raise Waiting(f"{len(files)} files", awaits={})

    def forget(self, file: RequestFile) -> None:
        """Note it."""
        self.forgotten.append(file.path.name)


def test_files_go_once_every_call_of_theirs_is_recorded(tmp_path: Path) -> None:
    """One that is on its way stays, and so does one with a call that has no answer; nothing is
    asked twice for it.
    """
    courier, record = Nobody(), MemoryRecord()
    exchange = Exchange(tmp_path, courier=courier)
    model = Endpoint(name="by-hand", base_url=NOWHERE, api_key=None)
    asker = Client(model, record=record, exchange=exchange)
    for start in (0, 10, 20):
        waiting(asker, rows(3, start))
    first, second, third = asked(tmp_path).values()
    write(tmp_path / "replies-0001.jsonl", map(echo, first))
    write(tmp_path / "replies-0002.jsonl", map(echo, second[:2]))
    asker.ask(rows(3))
    waiting(asker, rows(3, 10))
    answered = {line["custom_id"][3:35] for line in (*first, *second[:2], *third)}
    exchange.tidy(answered.intersection)
    assert [name[:13] for name in courier.forgotten] == ["requests-0001"]
    kept = sorted(path.name[:13] for path in tmp_path.glob("*.jsonl"))
    assert kept == ["replies-0002.", "requests-0002", "requests-0003", "requests-0004"]
