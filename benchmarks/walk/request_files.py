"""Requests in files that a model's sessions answer, and the replies that came back.

A judge's file has what all its requests share once, then each row's own message, in an order of its
own; its name is a number that says nothing. Which row and which prompt stand behind a number only
`map.json` says.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgewright.judges import (
    Completion,
    Dataset,
    JudgedDataset,
    JudgePrompt,
    Message,
    Request,
    Row,
    Unscored,
    read_reply,
    write_beside,
)
from judgewright.judges.models.tokens import approximate_tokens

PLAIN, WITH_CASES = 100, 40
"""Rows of a file at most, and where each row has its own cases."""
SETTLED = 60
"""Seconds that a whole reply has to rest before it is read, once and for all."""
STILL = 3600
"""Seconds after which an unfinished file of replies counts as all there is."""
_HEAD = """\
# {rows} rows to judge

You are the judge whose prompt stands below. Judge each row by itself, by this prompt alone, as if
each were a conversation of its own that begins with the messages of this section. Other rows of
this file, other files and what you know of data sets do not count. Keep every text of a reply
short: a few words.

{shared}

## How each user message ends

{reply}

# The rows

"""
_TAIL = """\
# How to reply

Write the file `{path}`: one line of JSON for each row, in any order, all {rows} rows:

{{"row": 1, "reply": {{...}}}}

`row` is the number above, `reply` the JSON object that the prompt asks for, with all its fields in
their order. Read each row before you answer it; write no program that answers in your place.
"""
_WRITER_TAIL = """

---
(Not part of the request: answer it as a whole, as if it were all you know. Write the text of the
answer, and nothing else, into `{path}`.)
"""


class Missing(LookupError):
    """Replies are not there yet."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The folder of the walk: `ask` and `write` with requests and replies, `map.json`."""

    folder: Path

    def judge(self, prompt: JudgePrompt, rows: Dataset, what: str) -> JudgedDataset:
        """Return the rows with the replies read by the product; write what nobody was asked yet.

        Args:
            prompt: The judge.
            rows: What it judges.
            what: Task and arm, for the map.

        Raises:
            Missing: Rows are not answered; a row that a finished file leaves out is unscored.
        """
        known, replies = self._asked(), self.replies()
        keys = [_key(prompt.messages(row)) for row in rows.rows]
        new = [i for i, key in enumerate(keys) if key not in known]
        if new:
            self._write(prompt, [(rows.rows[i], keys[i]) for i in new], what)
            raise Missing(f"{what}: asked now")
        awaited = {known[key] for key in keys if not self._done(known[key])}
        if awaited:
            raise Missing(f"{what}: waits for ask/{', '.join(sorted(awaited))}")
        answers = []
        for row, key in zip(rows.rows, keys, strict=True):
            if key in replies:
                answers.append(read_reply(prompt, Completion(text=replies[key]), row_id=row.id))
            else:
                answers.append(Unscored(row_id=row.id, reason="endpoint", detail="no reply"))
        return JudgedDataset(
            dataset=rows,
            answers=tuple(answers),
            scale=prompt.scale,
            judge=f"{prompt.name}@{prompt.version}",
        )

    def write_as(self, what: str) -> Callable[[Sequence[Request]], list[Completion]]:
        """Return what asks a writer: each request is a file of its own, word for word.

        Args:
            what: Task, arm and fold, for the map.
        """

        def ask(requests: Sequence[Request]) -> list[Completion]:
            replies: list[Completion] = []
            awaited: list[str] = []
            for request in requests:
                path = self._writer_file(request, what)
                reply = self._taken(path.with_suffix(".reply.md"))
                if reply is not None:
                    replies.append(Completion(text=reply.strip()))
                else:
                    awaited.append(path.name)
            if awaited:
                raise Missing(f"{what}: waits for write/{', '.join(awaited)}")
            return replies

        return ask

    def replies(self) -> dict[str, str]:
        """Return the text of each reply by its request's key."""
        texts: dict[str, str] = {}
        for name, file in self._map()["ask"].items():
            if not self._done(name):
                continue
            for row, reply in _reply_lines(self.folder / "taken" / f"{name}.reply.jsonl"):
                if 1 <= row <= len(file["keys"]):
                    texts.setdefault(file["keys"][row - 1], reply)
        return texts

    def written(self, what: str) -> tuple[int, int]:
        """Return how many writers' requests begin so in the map, and their tokens with replies."""
        names = [name for name, of in self._map()["write"].items() if of.startswith(what)]
        paths = [path for name in names for path in (self.folder / "write").glob(f"{name}.*md")]
        return len(names), sum(approximate_tokens(path.read_text()) for path in paths)

    def waiting(self) -> list[str]:
        """Return the lines of `READY` whose replies are not there, and what looks wrong in others'
        replies.
        """
        path = self.folder / "READY"
        ready = {Path(line.split()[0]).stem: line for line in path.read_text().splitlines()}
        lines: list[str] = []
        for name, file in self._map()["ask"].items():
            replies = _reply_lines(self.folder / "ask" / f"{name}.reply.jsonl")
            answered, total = len(replies), len(file["keys"])
            grades = {_grade(reply) for _, reply in replies}
            if answered < total:
                lines.append(f"{ready[name]}; {answered} of {total} answered")
            elif len(grades) == 1 or "?" in grades:
                lines.append(f"LOOK AT {ready[name]}: grades {grades}")
        written = self.folder / "write"
        return lines + [
            ready[name]
            for name in self._map()["write"]
            if not (written / f"{name}.reply.md").exists()
        ]

    def _taken(self, path: Path, *, whole: bool = True) -> str | None:
        """Return a reply as it was when it was first read; what is changed later does not count.

        Args:
            path: Where it is written.
            whole: Whether it is known to be complete; it then needs to rest a moment only.
        """
        copy = self.folder / "taken" / path.name
        rested = time.time() - path.stat().st_mtime if path.exists() else 0.0
        if not copy.exists() and rested > (SETTLED if whole else STILL):
            copy.parent.mkdir(exist_ok=True)
            write_beside(copy, path.read_text())
        return copy.read_text() if copy.exists() else None

    def _done(self, name: str) -> bool:
        path = self.folder / "ask" / f"{name}.reply.jsonl"
        whole = len(_reply_lines(path)) >= len(self._map()["ask"][name]["keys"])
        return self._taken(path, whole=whole) is not None

    def _write(self, prompt: JudgePrompt, rows: list[tuple[Row, str]], what: str) -> None:
        random.Random(what).shuffle(rows)
        count = -(-len(rows) // (PLAIN if prompt.cases is None else WITH_CASES))
        for first in range(count):
            part = rows[first::count]
            contents = self._map()
            name = f"{len(contents['ask']) + 1:03d}"
            path = self.folder / "ask" / f"{name}.md"
            text = _judge_file(prompt, [row for row, _ in part], path.with_suffix(".reply.jsonl"))
            contents["ask"][name] = {"what": what, "keys": [key for _, key in part]}
            self._announce(path, text, f"{len(part)} rows", alone=prompt.cases is not None)
            self._keep(contents)

    def _writer_file(self, request: Request, what: str) -> Path:
        name = _key(request.messages, request.repeat)[:10]
        path = self.folder / "write" / f"{name}.md"
        contents = self._map()
        if name not in contents["write"]:
            text = "\n\n".join(message.content for message in request.messages)
            text += _WRITER_TAIL.format(path=path.with_suffix(".reply.md"))
            contents["write"][name] = what
            self._announce(path, text, "a text", alone=True)
            self._keep(contents)
        return path

    def _announce(self, path: Path, text: str, size: str, *, alone: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_beside(path, text)
        note = ", shows labels: a session of its own that answers nothing else" * alone
        with (self.folder / "READY").open("a") as ready:
            ready.write(f"{path} {size}, about {approximate_tokens(text):,} tokens{note}\n")

    def _asked(self) -> dict[str, str]:
        return {key: name for name, file in self._map()["ask"].items() for key in file["keys"]}

    def _map(self) -> dict[str, dict[str, Any]]:  # Any: JSON
        path = self.folder / "map.json"
        return json.loads(path.read_text()) if path.exists() else {"ask": {}, "write": {}}

    def _keep(self, contents: dict[str, Any]) -> None:  # Any: JSON
        write_beside(self.folder / "map.json", json.dumps(contents, indent=1))


def _key(messages: Sequence[Message], repeat: int = 0) -> str:
    content = json.dumps([[m.role, m.content] for m in messages] + [repeat])
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _judge_file(prompt: JudgePrompt, rows: Sequence[Row], reply_file: Path) -> str:
    messages = [prompt.messages(row) for row in rows]
    shared = "\n\n".join(f"## {one.role} message\n\n{one.content}" for one in messages[0][:-1])
    end = prompt.reply.strip()
    parts = [_HEAD.format(rows=len(rows), shared=shared, reply=end)]
    for number, one in enumerate(messages, 1):
        own = one[-1].content.removesuffix(end).rstrip()
        parts.append(f"### row {number:03d}\n\n{own}\n\n")
    parts.append(_TAIL.format(rows=len(rows), path=reply_file))
    return "".join(parts)


def _reply_lines(path: Path) -> list[tuple[int, str]]:
    """Return number and text of the replies that can be read; the last of a row counts."""
    lines: list[tuple[int, str]] = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            body = json.loads(line)
            row, reply = int(body["row"]), body["reply"]
        except (ValueError, KeyError, TypeError):
            continue
        lines.append((row, reply if isinstance(reply, str) else json.dumps(reply)))
    return list(dict(lines).items())


def _grade(reply: str) -> str:
    try:
        return str(json.loads(reply).get("score"))
    except (ValueError, AttributeError):
        return "?"
