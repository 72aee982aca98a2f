"""A judge that Judgewright exported, as `judge.json` beside this file says it: what it is shown,
how it is asked, and how its replies are read.

It needs Python 3.11 and `reply_reading.py` beside it; where the judge shows decided cases, also
`plain_cases.py` and the bank. Nothing of it is made for one judge: the same files lie in every
export.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reply_reading import Reading, Unreadable, plain_finish, read_text, require_whole, turned

if TYPE_CHECKING:
    from plain_cases import CaseChoice

__all__ = ["Judge", "Unreadable", "joined", "judge_beside", "turned"]
SCHEMA = 1
PLACEHOLDER = re.compile(r"\{\{([^\W\d]\w*)\}\}")


def judge_beside(file: str) -> Judge:
    """Return the judge whose `judge.json` lies in the folder of a file."""
    return Judge(Path(file).with_name("judge.json"))


class Judge:
    """A judge; its grades run from `low` to `high`, and one at or above `threshold` is positive.

    Args:
        path: Its `judge.json`.
    """

    def __init__(self, path: str | Path) -> None:
        judge: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        if judge["schema_version"] != SCHEMA:
            raise ValueError(f"{path} is not of the version of Judgewright that {__file__} is of")
        self.name: str = judge["name"]
        self.version: str = judge["version"]
        self.origin: str = judge["origin"]
        """Where it was gated and how, in a line."""
        self.inputs: list[str] = judge["inputs"]
        """What a row has to hold."""
        self.system: str = judge["system"]
        self.fields: dict[str, str] = judge["fields"]
        """The fields of a reply that is JSON: `score`, `confidence` or `text`."""
        self.defaults: dict[str, Any] = judge["request"]
        """What a request says besides the model and the messages, as the judge was asked when it
        was measured.
        """
        self.kind: str = judge["form"]["kind"]
        """`graded`, `binary`, `probability` or `choice`."""
        self.low: int = judge["form"]["low"]
        self.high: int = judge["form"]["high"]
        self.labels: list[str] = judge["form"]["labels"]
        self.low_is_good: bool = judge["form"].get("low_is_good", False)
        """Whether a grade is 1 minus the number of a reply."""
        self.chooses: bool = self.kind == "choice"
        """Whether it names a label, of which none is better than another."""
        threshold: float | None = judge["threshold"]
        self.threshold = math.inf if threshold is None else threshold
        self._template: str = judge["template"]
        self._reply: str = judge["reply"]
        self._form: Any = judge["form"]
        self._question: dict[str, Any] | None = judge.get("question")
        """What a decision model is asked; None where chat models judge."""
        self.asks_question = self._question is not None
        self.slow: Judge | None = None
        """Who decides where the probability of a decision model lies in the band of a cascade."""
        self.slow_client: Any = None
        """An OpenAI client for the slow model; that of the fast one unless it is set."""
        self.slow_model: str = ""
        if "cascade" in judge:
            self.slow = Judge(Path(path).with_name("slow_judge.json"))
            self.slow_model = judge["cascade"]["model"]
            self._band: list[float] = judge["cascade"]["band"]
        self._cases: CaseChoice | None = None
        if "cases" in judge:
            from plain_cases import read_choice  # which lies beside judges that have cases

            self._cases = read_choice(judge["cases"], Path(path).parent)

    def user_text(self, row: Mapping[str, str]) -> str:
        """Return the message that shows a row, and before it the decided cases of a judge that has
        any.
        """
        texts = {name: row[name] for name in self.inputs}
        if self._cases is None:
            return self.row_text(texts)
        return self._cases.text(texts) + self.row_text(self._cases.without_tag(texts))

    def row_text(self, row: Mapping[str, str]) -> str:
        """Return the message without cases; a row's text stands in fences whose tag it cannot
        know.
        """
        return self._filled(row, salt=self.version) + self._reply

    def _filled(self, row: Mapping[str, str], salt: str) -> str:
        texts = {name: row[name] for name in self.inputs}
        content = json.dumps(
            [salt, sorted(texts.items())], ensure_ascii=False, separators=(",", ":")
        )
        tag = hashlib.blake2b(content.encode(), digest_size=4).hexdigest()

        def fenced(placeholder: re.Match[str]) -> str:
            name = placeholder.group(1)
            text = texts[name].replace(tag, tag[:4] + " " + tag[4:])
            return f"<{name}-{tag}>\n{text}\n</{name}-{tag}>"

        return PLACEHOLDER.sub(fenced, self._template)

    def open_messages(
        self, literal: Callable[[str], str], field: Callable[[str], str]
    ) -> list[dict[str, str]]:
        """Return the chat messages as templates of another syntax, with fixed tags as fences.

        Args:
            literal: Returns literal text as the syntax has it.
            field: Returns the place of a field, given its name.
        """
        user = "" if self._cases is None else literal(self._cases.first_text())
        for number, piece in enumerate(PLACEHOLDER.split(self._template)):
            user += f"<{piece}>\n{field(piece)}\n</{piece}>" if number % 2 else literal(piece)
        return self._chat(literal(self.system), user + literal(self._reply))

    def messages(self, row: Mapping[str, str]) -> list[dict[str, str]]:
        """Return the chat messages for a row, a mapping with the inputs."""
        return self._chat(self.system, self.user_text(row))

    def _chat(self, system: str, user: str) -> list[dict[str, str]]:
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]

    def settings(self, **parameters: Any) -> dict[str, Any]:
        """Return what a request says besides the model and the messages.

        Args:
            parameters: What it says otherwise than `defaults`; None leaves a part of it out.
        """
        settings = {**self.defaults, **parameters}
        return {name: value for name, value in settings.items() if value is not None}

    def request(self, row: Mapping[str, str], **parameters: Any) -> dict[str, Any]:
        """Return the arguments of `chat.completions.create` for a row, all but the model."""
        return {"messages": self.messages(row), **self.settings(**parameters)}

    def ask(
        self, client: Any, model: str, row: Mapping[str, str], parameters: Mapping[str, Any] = {}
    ) -> tuple[float, str]:
        """Ask a model about a row, and return its grade and its reasons.

        Args:
            client: An OpenAI client; its address may be any endpoint that speaks the protocol.
            model: The model's name there.
            row: The inputs by name; others are not read.
            parameters: What the request says otherwise than `defaults`; None leaves a part of it
                out.

        Raises:
            Unreadable: The reply gives no grade; such a row has no score, not a zero.
        """
        if self._question is not None:
            grade, reasons = self._ask_question(self._question, client, model, row)
            if self.slow is None or not self._band[0] <= grade <= self._band[1]:
                return grade, reasons
            slow_client = self.slow_client or client
            grade, reasons = self.slow.ask(slow_client, self.slow_model, row, parameters)
            return float(self.high if self.slow.positive(grade) else self.low), reasons
        request = self.request(row, **parameters)
        return self.read_completion(client.chat.completions.create(model=model, **request))

    def question(self, model: str, row: Mapping[str, str]) -> dict[str, Any]:
        """Return the body that asks a decision model about a row."""
        assert self._question is not None, "the judge was exported for chat models"
        body = {"model": model, "questions": self._question["questions"]}
        if self._question["by_name"]:
            return {**body, "state": {name: row[name] for name in self.inputs}}
        return {**body, "input": self._filled(row, salt="")}

    def _ask_question(
        self, question: Mapping[str, Any], client: Any, model: str, row: Mapping[str, str]
    ) -> tuple[float, str]:
        body = self.question(model, row)
        reply = client.post(question["path"], cast_to=object, body=body)
        return self.read_distribution(reply)

    def read_distribution(self, reply: Any) -> tuple[float, str]:
        """Return the grade that a decision model's reply gives: the probability of what is good, or
        the place of the most probable label; it gives no reasons.
        """
        from distribution_reading import NoDistribution, distribution_of  # beside such judges

        assert self._question is not None, "the judge was exported for chat models"
        reply = reply.get("result", reply) if isinstance(reply, dict) else {}
        answers, question = reply.get("answers"), self._question
        if isinstance(answers, list):
            answer = answers[0] if len(answers) == 1 else None
        else:
            answer = answers.get("q0") if isinstance(answers, dict) else None
        if isinstance(answer, dict) and answer.get("type") == "refusal":
            raise Unreadable("the model refuses the question", "refused")
        try:
            shares = distribution_of(
                answer, api=question["api"], kind=question["kind"], names=question["names"]
            )
        except NoDistribution as error:
            raise Unreadable(str(error), "parse") from None
        if self.chooses:
            return float(max(range(len(shares)), key=shares.__getitem__)), ""
        return min(1.0, sum(shares[number] for number in question["good"])), ""

    def read_completion(self, completion: Any) -> tuple[float, str]:
        """Return the grade and the reasons of a chat completion: an object of the openai package,
        or its JSON.
        """

        def part(of: Any, name: str) -> Any:
            return of.get(name) if isinstance(of, dict) else getattr(of, name, None)

        choices = part(completion, "choices")
        if not choices:
            raise Unreadable("the endpoint gave no reply", "endpoint")
        message, text = part(choices[0], "message"), part(part(choices[0], "message"), "content")
        if isinstance(text, list):
            text = "".join(part(piece, "text") or "" for piece in text)
        ending = plain_finish(part(choices[0], "finish_reason") or "")
        if ending == "stop" and (part(message, "tool_calls") or part(message, "function_call")):
            ending = "tool_calls"
        refusal = part(message, "refusal")
        refusal = refusal or part(part(message, "provider_specific_fields"), "refusal")  # LiteLLM's
        return self.read_reply(text, ending, refusal)

    def read_message(self, message: Any) -> tuple[float, str]:
        """Return the grade and the reasons of a message of LangChain's."""
        metadata = message.response_metadata
        ending = metadata.get("finish_reason") or metadata.get("stop_reason") or ""
        if message.tool_calls:
            ending = "tool_calls"
        return self.read_reply(str(message.text), ending, message.additional_kwargs.get("refusal"))

    def read_reply(
        self, reply: str | None, finish_reason: str = "stop", refusal: str | None = None
    ) -> tuple[float, str]:
        """Return the grade that a reply gives, and its reasons.

        Args:
            reply: Its text.
            finish_reason: Why it ended, as the endpoint says; a reply that was cut off has no
                grade.
            refusal: What the endpoint says instead of a reply.
        """
        require_whole(finish_reason, refusal)
        reading = self.reading(reply or "")
        return reading.score, reading.rationale

    def reading(self, text: str) -> Reading:
        """Return all that a reply's text says."""
        return read_text(text, self._form)

    def positive(self, grade: float) -> bool:
        """Return the decision for a grade."""
        return grade >= self.threshold

    def share(self, grade: float) -> float:
        """Return where a grade stands between the lowest, 0, and the highest, 1."""
        return (grade - self.low) / (self.high - self.low)

    def label(self, grade: float) -> str:
        """Return the label of a grade."""
        return self.labels[int(grade)]


def joined(text: str | Sequence[object]) -> str:
    """Return a text; several pieces, such as passages, are joined by an empty line."""
    return text if isinstance(text, str) else "\n\n".join(map(str, text))
