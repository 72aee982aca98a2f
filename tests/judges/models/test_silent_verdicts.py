"""Replies whose verdict must not count unseen, over a real connection: doubled keys, tool calls,
unknown ends.
"""

from __future__ import annotations

from typing import Any

from judgewright.judges import (
    BINARY,
    Client,
    Dataset,
    Endpoint,
    JudgedDataset,
    JudgePrompt,
    Row,
    Unscored,
    Verdict,
    judge,
)

PROMPT = JudgePrompt(
    name="j",
    system="You judge.",
    criteria="c",
    template="{{text}}",
    reply="r",
    scale=BINARY,
    reply_schema={"reason": "text", "score": "score"},
)
VERDICT = '{"reason": "so it says", "score": 0}'
CALL = {"id": "t1", "type": "function", "function": {"name": "verdict", "arguments": VERDICT}}


def choice(finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """The only choice of a reply."""
    return {
        "index": 0,
        "message": {"role": "assistant", "content": None, **message},
        "finish_reason": finish,
    }


REPLIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "plain": (choice(content=VERDICT), "", ""),
    "no reason for the end": (choice(None, content=VERDICT), "", ""),
    "no tool after all": (choice(content=VERDICT, tool_calls=[]), "", ""),
    "doubled": (
        choice(content='{"score": 1, "score": 0}'),
        "parse",
        "'score' stands more than once",
    ),
    "tool": (choice("tool_calls", tool_calls=[CALL]), "parse", "calls a tool"),
    "tool at a stop": (choice(tool_calls=[CALL]), "parse", "calls a tool"),
    "tool beside a text": (
        choice(content='{"score": 1}', tool_calls=[CALL]),
        "parse",
        "calls a tool",
    ),
    "function": (choice("function_call", function_call=CALL["function"]), "parse", "calls a tool"),
    "cut tool": (choice("length", tool_calls=[CALL]), "truncated", "max_tokens"),
    "unsafe": (choice("SAFETY", content=VERDICT), "refused", "content filter"),
}
"""By name: what the endpoint sends, and why it is unscored, empty where it is a verdict."""


def ask(fake: Any, texts: list[str]) -> JudgedDataset:
    """Judge a row for each text; the endpoint answers it by the reply of that name."""

    def answer(seen: Any) -> Any:
        name = next(name for name in sorted(REPLIES, key=len, reverse=True) if name in seen.text)
        return fake.Reply(body={**fake.completion(), "choices": [REPLIES[name][0]]})

    fake.answer = answer
    rows = [Row(id=text, inputs={"text": text}, label=1.0) for text in texts]
    with Client(Endpoint(name="m", base_url=fake.url, api_key="k")) as client:
        return judge(PROMPT, Dataset.of(rows, labels=BINARY), client)


def test_no_verdict_counts_that_the_reply_does_not_plainly_give(fake: Any) -> None:
    """Each is unscored with its reason, and only the one that was cut is asked again."""
    judged = ask(fake, list(REPLIES))
    answers = {answer.row_id: answer for answer in judged.answers}
    for name, (_, reason, detail) in REPLIES.items():
        found = answers[name]
        if not reason:
            assert isinstance(found, Verdict), name
            assert found.score == 0
            continue
        assert isinstance(found, Unscored), name
        assert (found.reason, detail in found.detail) == (reason, True), found
    assert len(fake.seen) == len(REPLIES) + 1
