"""A folder of request files and reply files, in the format of OpenAI's batch files.

Whoever answers needs no program of ours: a request file has one chat completion a line, a reply
file one answer a line, and the `custom_id` says what belongs together. The folder is the only
memory of an exchange: it is read anew whenever something is asked, so that a crash at any moment
loses nothing.
"""

from __future__ import annotations

import codecs
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from ..errors import InputError, ModelError
from ..files.write_beside import write_beside
from .ladder import may_mean_a_parameter, next_step
from .model import REFUSABLE, Completion, Request
from .wire import read_answer, read_completion, read_fault

MOST_REQUESTS = 50_000
"""Requests in one file; OpenAI takes no more in a batch."""
MOST_BYTES = 190_000_000
"""Bytes in one file; OpenAI takes 200 MB."""
URL = "/v1/chat/completions"
README = "README.txt"
_ID = re.compile(r"jw-([0-9a-f]{32})-(\d{1,6})")
_REQUESTS = re.compile(r"requests-(\d{4,})-.*\.jsonl")
_REPLY_FIELDS = {"content", "response", "error"}
"""A line of a reply file has one of them."""
_OF_A_ROW = ("", "max_tokens", "max_completion_tokens")
"""What a refusal names that may be about its own row."""
_SHOWN = 3
"""Line numbers that a note about unreadable lines names."""

RequestLine: TypeAlias = tuple[str, int, Mapping[str, Any]]
"""Call, number of asking, and the body; Any: JSON."""


def call_id(key: bytes) -> str:
    """Return 32 hexadecimal digits that stand for a request in every folder."""
    return key[:16].hex()


def shown(path: Path | str) -> str:
    """Return a path, or a name, for a message; with escapes where somebody put a line end or the
    like into it.
    """
    text = str(path)
    return text if text.isprintable() else repr(text)


@dataclass(frozen=True, slots=True)
class RequestFile:
    """A file of requests, whoever wrote it."""

    path: Path
    model: str
    calls: Mapping[str, int]
    """Which call, and at which number of asking, each line is about."""


@dataclass(frozen=True, slots=True)
class Line:
    """Where one request or reply stands."""

    path: Path
    offset: int
    call: str
    asking: int
    """A reply answers the request that was written at this number of asking, from 1."""
    refused: str | None
    """The parameter that a reply refuses, empty where it names none; None where it refuses none."""

    def body(self) -> dict[str, Any]:  # Any: JSON
        """Read the line again; it was readable when the folder was."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            return orjson.loads(file.readline())


@dataclass(slots=True)
class _File:
    """A file as it was when it was read last."""

    size: int
    changed: int
    lines: list[Line] = field(default_factory=list[Line])
    model: str = ""
    unknown: int = 0
    """Lines whose `custom_id` is none that we write."""
    unreadable: list[int] = field(default_factory=list[int])
    """Line numbers."""
    utf_16: bool = False


@dataclass(slots=True)
class Contents:
    """What a folder holds now."""

    requests: list[RequestFile] = field(default_factory=list[RequestFile])
    replies: defaultdict[str, list[Line]] = field(default_factory=lambda: defaultdict(list))
    """By call, in the order of the files' names."""
    answered: dict[tuple[str, int], str | None] = field(default_factory=dict)
    """By call and asking, as `Line.refused` of the last reply."""
    notes: list[str] = field(default_factory=list[str])
    """What was passed over, a line each."""

    def trials(self, model: str) -> tuple[frozenset[str], set[tuple[str, int]]]:
        """Return what requests of a model are sent without, as the replies to one file after the
        other show.

        And the askings that it is left out for, which are asked once more.
        """
        omitted: frozenset[str] = frozenset()
        on_trial: set[tuple[str, int]] = set()
        for file in self.requests:
            answers = {one: self.answered[one] for one in self._answered_of(file)}
            refused = {one: name for one, name in answers.items() if name is not None}
            for name in sorted({*refused.values()} if file.model == model else ()):
                # Where others got through, a refusal that names nothing, or the room for a reply,
                # is the row's own.
                if len(refused) < len(answers) and name in (
                    "",
                    "max_tokens",
                    "max_completion_tokens",
                ):
                    continue
                before, omitted = omitted, next_step(omitted, name)
                if omitted != before:
                    on_trial.update(one for one, named in refused.items() if named == name)
        return omitted, on_trial

    def open_files(self) -> list[RequestFile]:
        """Return the request files of which no line has a reply yet: somebody may be at work on
        them.
        """
        return [file for file in self.requests if not self._answered_of(file)]

    def calls_out(self) -> set[str]:
        """Return the calls that stand in a request file without any reply."""
        return {call for file in self.open_files() for call in file.calls}

    def askings(self, call: str) -> int:
        """Return how often a call was written into a request file."""
        return max((file.calls.get(call, 0) for file in self.requests), default=0)

    def _answered_of(self, file: RequestFile) -> set[tuple[str, int]]:
        return file.calls.items() & self.answered.keys()


class ExchangeFolder:
    """The files of one folder; made when the first request file is written.

    Args:
        path: The folder.

    Raises:
        InputError: It is a file.
    """

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise InputError(
                f"{shown(path)} is not a folder",
                hint="request and reply files need a folder: --via files=DIR",
            )
        self.path = path
        self._read: dict[Path, _File] = {}

    def read(self) -> Contents:
        """Read every request and reply file that has changed since the last time."""
        contents = Contents()
        replies: list[tuple[Path, _File]] = []
        foreign = 0
        for path in sorted(self.path.iterdir()) if self.path.is_dir() else ():
            if path.name == README or path.name.startswith("."):
                continue
            if path.suffix != ".jsonl" or not path.is_file():
                foreign += 1
                continue
            file, stat = self._read.get(path), path.stat()
            if file is None or (file.size, file.changed) != (stat.st_size, stat.st_mtime_ns):
                file = self._read[path] = _read_file(path)
            if _REQUESTS.fullmatch(path.name):
                calls = {line.call: line.asking for line in file.lines}
                contents.requests.append(RequestFile(path, file.model, calls))
            else:
                replies.append((path, file))
        if foreign:
            contents.notes.append(f"{foreign} other files are not read")
        for path, file in replies:
            _sort_replies(contents, path.name, file)
        return contents

    def write(self, model: str, requests: Sequence[RequestLine]) -> list[Path]:
        """Write requests into new files, each of them whole or not at all.

        Args:
            model: Its name; a file has the requests of one model.
            requests: A line each.

        Returns:
            The files, in order.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        write_beside(self.path / README, _README)
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", model)[:60].strip("-.")
        numbers = (_REQUESTS.fullmatch(path.name) for path in self.path.iterdir())
        first = 1 + max((int(number[1]) for number in numbers if number), default=0)
        paths: list[Path] = []
        for number, text in enumerate(_files(requests), first):
            paths.append(self.path / f"requests-{number:04d}-{slug}.jsonl")
            write_beside(paths[-1], text)
        return paths

    def asks(self, file: RequestFile, bodies: Mapping[str, Mapping[str, Any]]) -> bool:  # Any: JSON
        """Return whether a request file has nothing but lines that we write for these calls, each
        once.
        """
        expected = {
            _line(call, asking, bodies[call])
            for call, asking in file.calls.items()
            if call in bodies
        }
        with file.path.open("rb") as lines:
            for line in lines:
                if line.rstrip(b"\n") not in expected:
                    return False
                expected.remove(line.rstrip(b"\n"))
        return True

    def remove(self, recorded: Collection[str], forget: Callable[[RequestFile], None]) -> None:
        """Remove the request files whose every call is recorded, and their replies, which nobody
        reads again.

        Args:
            recorded: Calls.
            forget: Called with each request file before it goes.
        """
        contents = self.read()
        open_files = contents.open_files()
        needed: set[str] = set()
        for file in contents.requests:
            if file not in open_files and file.calls.keys() <= set(recorded):
                forget(file)
                file.path.unlink(missing_ok=True)
            else:
                needed |= file.calls.keys()
        for path in {line.path for lines in contents.replies.values() for line in lines}:
            calls = {line.call for line in self._read[path].lines}
            if calls <= set(recorded) and not calls & needed:
                path.unlink(missing_ok=True)


def _sort_replies(contents: Contents, name: str, file: _File) -> None:
    """Add the replies of a file to what a folder holds, and say what of it was passed over."""
    if file.utf_16:
        contents.notes.append(f"{shown(name)} is UTF-16 text, and not read: save it as UTF-8")
        return
    requested = {call for requests in contents.requests for call in requests.calls}
    unknown = file.unknown
    for line in file.lines:
        unknown += line.call not in requested
        contents.replies[line.call].append(line)
        contents.answered[line.call, line.asking] = line.refused
    if unknown:
        contents.notes.append(f"{shown(name)}: {unknown} lines have a custom_id of no request here")
    if file.unreadable:
        numbers = ", ".join(map(str, file.unreadable[:_SHOWN]))
        more = ", ..." if len(file.unreadable) > _SHOWN else ""
        contents.notes.append(
            f"{shown(name)}: {len(file.unreadable)} lines cannot be read (line {numbers}{more})"
        )


def answers_any(path: Path, requests: RequestFile) -> bool:
    """Return whether a file of replies has a readable line for any request of a file."""
    return any(requests.calls.get(line.call) == line.asking for line in _read_file(path).lines)


def read_reply(body: Mapping[str, Any], request: Request) -> Completion:  # Any: JSON
    """Read one line of a reply file: a batch's output, a batch's error, or the short form with
    `content`.

    Raises:
        ModelError: It is an error, or no chat completion; the error says whether asking again may
            help.
    """
    if "content" in body:
        content = body["content"]
        # A model that answers by hand may leave its JSON unquoted.
        text = content if isinstance(content, str) else _dump(content).decode()
        return read_completion(orjson.dumps({"choices": [{"message": {"content": text}}]}), request)
    response, error = body.get("response"), body.get("error")
    if not isinstance(response, dict):
        message = error.get("message") or error.get("code") if isinstance(error, dict) else error
        raise ModelError(f"the reply is an error: {str(message)[:300]}", retryable=True)
    status = response.get("status_code", 200)
    raw = _dump(response.get("body"))
    if not isinstance(status, int):
        raise ModelError(
            f"the reply's status_code is {str(status)[:20]!r}, and no number", retryable=True
        )
    return read_answer(status, raw, {}, request, sent=request.body())


def _read_file(path: Path) -> _File:
    fields = {"body"} if _REQUESTS.fullmatch(path.name) else _REPLY_FIELDS
    with path.open("rb") as lines:
        stat = os.fstat(lines.fileno())
        file, offset = _File(stat.st_size, stat.st_mtime_ns), 0
        for number, line in enumerate(lines, 1):
            start, offset = offset, offset + len(line)
            if number == 1:
                file.utf_16 = line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
                start += len(line) - len(line := line.removeprefix(codecs.BOM_UTF8))
            if not line.strip():
                continue
            body = _object(line)
            custom_id = body.get("custom_id")
            if not isinstance(custom_id, str) or not body.keys() & fields:
                file.unreadable.append(number)
            elif match := _ID.fullmatch(custom_id):
                refused = _refused_parameter(body)
                file.lines.append(Line(path, start, match[1], int(match[2]), refused))
            else:
                file.unknown += 1
            if not file.model and isinstance(request := body.get("body"), dict):
                file.model = str(request.get("model", ""))
    return file


def _refused_parameter(body: Mapping[str, Any]) -> str | None:  # Any: JSON
    response = body.get("response")
    if not isinstance(response, dict):
        return None
    status = response.get("status_code")
    if not isinstance(status, int) or status < 400:
        return None
    error = read_fault(status, _dump(response.get("body")), {}, sent=REFUSABLE)
    return (
        (error.refused_parameter or "") if may_mean_a_parameter(error) and not error.fatal else None
    )


def _dump(value: Any) -> bytes:  # Any: JSON
    """Return JSON text; `null` for what is nested deeper than orjson writes, though it reads
    that.
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return b"null"


def _object(line: bytes) -> dict[str, Any]:  # Any: JSON
    try:
        body = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}


def _line(call: str, asking: int, body: Mapping[str, Any]) -> bytes:  # Any: JSON
    custom_id = f"jw-{call}-{asking}"
    return orjson.dumps({"custom_id": custom_id, "method": "POST", "url": URL, "body": body})


def _files(requests: Sequence[RequestLine]) -> Iterator[str]:
    """Yield the texts of as many files as the limits ask for."""
    lines: list[bytes] = []
    size = 0
    for call, asking, body in requests:
        line = _line(call, asking, body)
        if lines and (len(lines) == MOST_REQUESTS or size + len(line) > MOST_BYTES):
            yield b"\n".join([*lines, b""]).decode()
            lines, size = [], 0
        lines.append(line)
        size += len(line) + 1
    yield b"\n".join([*lines, b""]).decode()


_README = """\
Requests for a language model, and the place for its replies. Written by judgewright.

What to do
  1. Answer the newest file requests-*.jsonl. Each line is one request: `body.messages` is what the
     model is to be asked, `custom_id` is the request's name. The lines do not depend on each other.
  2. Put the answers into this folder as a file of any other name that ends in .jsonl, one line a
     request, in any order:

       {"custom_id": "jw-...", "content": "what the model answered"}

     Lines as OpenAI's Batch API writes them (its output file and its error file) are read as well:

       {"custom_id": "jw-...", "response": {"status_code": 200, "body": {...}}, "error": null}

  3. Go on with the command that judgewright printed when it stopped.

Good to know
  - Leave the request files here; carry copies away. They say what has been asked already.
  - Answer each request by its own messages alone, as a model without any other knowledge would.
    Where `body.response_format` has a JSON schema, the answer is a JSON text of that shape.
  - A file may be incomplete. What it answers counts; what it leaves out is asked again in the next
    request file. So put a reply file here when it is finished, or under a name that begins with a
    dot until it is.
  - The first readable answer to a request counts. Lines about other requests and lines that cannot
    be read are passed over and counted in the line that says what is waited for.
"""
