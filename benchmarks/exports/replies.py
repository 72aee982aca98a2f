"""Replies to every judge of the table, each with the grade that it says; none where it must stay
unscored.

What each says is written down here, by the rules of the documentation: the last verdict of a whole
reply counts, thinking does not, an object is read before prose, and what is cut, refused, off the
scale or says two things has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tried import Tried

WHY = "Die Quelle says so: “ja”, 100 m²."
NO_REASON = "no reason for its end"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the endpoint answers, and what that says."""

    name: str
    body: dict[str, Any]
    grade: float | None


@dataclass(frozen=True, kw_only=True)
class Forms:
    """How a judge's verdicts are written."""

    tried: Tried
    lowest: str
    highest: str
    low_word: str
    high_word: str

    @property
    def low(self) -> float:
        """The lowest grade."""
        return self.tried.levels[0]

    @property
    def high(self) -> float:
        """The highest grade."""
        return self.tried.levels[-1]


def answer(content: str | None, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion."""
    said = {"role": "assistant", "content": content, "refusal": None, **message}
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "recorded",
        "choices": [{"index": 0, "finish_reason": finish, "logprobs": None, "message": said}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def replies(tried: Tried) -> list[Reply]:
    """Return every reply to a judge, the highest grade in its usual form first."""
    forms = Forms(
        tried=tried,
        lowest=write(tried, 0),
        highest=write(tried, -1),
        low_word=_word(tried, 0),
        high_word=_word(tried, -1),
    )
    found = [Reply(name="as asked for", body=answer(forms.highest), grade=forms.high)]
    for place, grade in enumerate(tried.levels):
        found.append(Reply(name=f"grade {grade:g}", body=answer(write(tried, place)), grade=grade))
    found += _bodies(forms)
    texts = [
        *_around(forms),
        *_prose(forms),
        *(_objects(forms) if tried.prompt.reply_schema else _marked(forms)),
    ]
    return found + [Reply(name=name, body=answer(text), grade=grade) for name, text, grade in texts]


def write(tried: Tried, place: int) -> str:
    """A reply as the judge asks for it, with the grade at a place of its levels."""
    name, word = tried.prompt.name, _word(tried, place)
    if tried.prompt.reply_schema:
        return json.dumps(_object(tried, _value(tried, place)), ensure_ascii=False)
    return {
        "brackets": f"{WHY} Rating: [[{word}]]",
        "opening_word": f"{word}. {WHY}",
        "last_line": f"{WHY}\n\n{word}",
        "choosing": f"{WHY}\nLabel: {word}",
    }.get(name, f"{WHY}\nScore: {word}")


def _object(tried: Tried, value: object) -> dict[str, Any]:
    if tried.prompt.name == "inner_field":
        return {"evaluation": {"notes": WHY, "score": value}}
    values = {"text": WHY, "confidence": 0.75, "score": value}
    return {field: values[kind] for field, kind in tried.prompt.reply_schema.items()}


def _value(tried: Tried, place: int) -> object:
    if tried.words:
        return tried.words[place]
    if tried.numbers:
        return tried.numbers[place]
    grade = tried.levels[place]
    return grade if tried.prompt.scale.kind == "probability" else int(grade)


def _word(tried: Tried, place: int) -> str:
    return str(_value(tried, place))


def _bodies(forms: Forms) -> Iterator[Reply]:
    """Yield answers that differ from others in more than their text."""
    good, high = forms.highest, forms.high
    call = {"id": "call_0", "type": "function", "function": {"name": "judge", "arguments": good}}
    bare = answer(good)
    del bare["usage"], bare["choices"][0]["logprobs"], bare["choices"][0]["message"]["refusal"]
    whole = {
        "no more than the protocol needs": bare,
        "its thinking in a field of its own": answer(good, reasoning_content=forms.lowest),
        "ended by eos, as some servers say": answer(good, "eos"),
        NO_REASON: answer(good, None),
    }
    none = {
        "whole, but at its limit of tokens": answer(good, "length"),
        "half of it, at its limit of tokens": answer(good[: len(good) // 2], "length"),
        "nothing, at its limit of tokens": answer("", "length"),
        "whole, but stopped by a filter": answer(good, "content_filter"),
        "nothing, stopped by a filter": answer(None, "content_filter"),
        "a refusal": answer(None, refusal="I can't help with that."),
        "a refusal beside a verdict": answer(good, refusal="I can't help with that."),
        "the verdict in the call of a tool": answer(None, "tool_calls", tool_calls=[call]),
        "null": answer(None),
        "nothing": answer(""),
        "blanks": answer("  \n\t "),
    }
    for name, body in whole.items():
        yield Reply(name=name, body=body, grade=high)
    for name, body in none.items():
        yield Reply(name=name, body=body, grade=None)


Text = tuple[str, str, float | None]


def _around(forms: Forms) -> Iterator[Text]:
    good, other, high, low = forms.highest, forms.lowest, forms.high, forms.low
    opening = forms.tried.prompt.reply_mark == "start"
    yield "between line breaks of Windows", f"\r\n\r\n{good}\r\n", high
    yield "after thinking", f"<think>\nPerhaps {other}\n</think>\n\n{good}", high
    yield "after thinking twice", f"<think>{other}</think><think>{other}</think>{good}", high
    yield "after thinking that opened in the prompt", f"Perhaps {other}\n</think>\n{good}", high
    yield "thinking without an end", f"<think>\nPerhaps {good}", None
    yield (
        "a verdict, and another one later",
        f"{other}\n\nNo, I was wrong:\n\n{good}",
        low if opening else high,
    )
    yield "the same verdict twice", f"{good}\n\n{good}", high
    yield "a refusal in words", "I'm sorry, I can't assist with that request.", None
    yield "a question back", "Which of the two statements do you mean?", None
    yield "after a long text", ("word " * 3000 + "\n" + good) if not opening else good, high
    if not opening:
        yield "after a sentence", f"This is what I think of it.\n\n{good}", high


def _prose(forms: Forms) -> Iterator[Text]:
    """Yield verdicts in prose; a model may answer so whatever it is asked for.

    A line counts that has the judge's own field or mark before the colon.
    """
    prompt, top, bottom, high = forms.tried.prompt, forms.high_word, forms.low_word, forms.high
    fields = [field for field, kind in prompt.reply_schema.items() if kind == "score"]
    mark = {"choosing": "Label", "chat": "Score"}.get(prompt.name, "")
    name = fields[0].rpartition(".")[2] if fields else mark
    yield "the value alone", top, high
    yield "the value in bold", f"**{top}**", high
    yield "the value with a full stop", f"{top}.", high
    yield "a sentence", f"{WHY} The final verdict is {top}.", None
    if name:
        yield "a line in bold", f"{WHY}\n\n**{name}:** {top}", high
        yield "a heading", f"{WHY}\n\n## {name}: {top}", high
        yield "two lines, the last counts", f"{name}: {bottom}\n{WHY}\n{name}: {top}", high
        yield "a line that takes it back", f"{name}: {top}\n{WHY}\n{name}: unclear", None
        yield "one or the other", f"{name}: {bottom} or {top}", None
    if name and not forms.tried.words:
        yield "a range", f"{name}: {bottom}-{top}", None
        yield "a number about something else", f"{WHY} It names {top} of the cities.", None
        yield "above the scale, in prose", f"Score: {forms.high + 1:g}", None


def _marked(forms: Forms) -> Iterator[Text]:
    """Yield replies to judges that ask for prose."""
    good, high, word = forms.highest, forms.high, forms.high_word
    name, kind = forms.tried.prompt.name, forms.tried.prompt.scale.kind
    yield "white space at its end", f"{good} \n\n", high
    yield "in a fence", f"```\n{good}\n```" if name != "opening_word" else good, high
    if name == "brackets":
        yield "brackets with blanks", f"{WHY} [[ {word} ]]", high
        yield "two pairs of brackets, the last counts", f"[[1]] at first, then [[{word}]]", high
        yield "brackets with nothing", f"{WHY} [[]]", None
        yield "brackets above the scale", f"{WHY} [[11]]", None
        yield "brackets with half a grade", f"{WHY} [[7.5]]", None
        yield "brackets with another word", f"{WHY} [[rating]]", None
    if name == "opening_word":
        yield "in small letters", f"pass - {WHY}", high
        yield "in bold, then a colon", f"**PASS**: {WHY}", high
        yield "the word within a word", f"PASSABLE, {WHY}", None
        yield "neither of the words", f"PERHAPS. {WHY}", None
    if name == "last_line":
        yield "a small letter", f"{WHY}\n\na", high
        yield "after a word and a colon", f"{WHY}\nGrade: A", high
        yield "no letter of the scale", f"{WHY}\n\nE", None
        yield "a letter that opens a phrase", f"{WHY}\n\nA good answer overall", None
    if name == "choosing":
        yield "a label in capitals", f"Label: {word.upper()}", high
        yield "a label in quotation marks", f'Label: "{word}"', high
        yield "no label of these", "Label: elsewhere", None
    if kind == "graded" and not forms.tried.words and name != "brackets":
        yield "out of so many", f"{WHY}\nScore: {word}/3", high
        yield "half a grade", f"{WHY}\nScore: 2.5", None
        yield "below the scale", f"{WHY}\nScore: -1", None


def _objects(forms: Forms) -> Iterator[Text]:
    """Yield replies to judges that ask for an object."""
    tried, good, other, high, low = forms.tried, forms.highest, forms.lowest, forms.high, forms.low
    kind, word = tried.prompt.scale.kind, forms.high_word
    value = _value(tried, -1)

    def made(value: object, **more: object) -> str:
        return json.dumps({**_object(tried, value), **more}, ensure_ascii=False)

    yield "in a fence", f"```json\n{good}\n```", high
    yield "in a fence without a language", f"```\n{good}\n```", high
    yield (
        "in a fence between sentences",
        f"My verdict:\n\n```json\n{good}\n```\n\nAsk me for more.",
        high,
    )
    yield "over several lines", json.dumps(json.loads(good), indent=4), high
    yield "in ASCII", json.dumps(json.loads(good)), high
    yield "a mark of the byte order before it", "\ufeff" + good, high
    yield "cut in the middle, and called whole", good[: len(good) // 2], None
    yield "without its last brace", good.rstrip("}"), None
    yield "a comma too many", good.removesuffix("}") + ",}", high
    yield "the value as text", made(word), high
    yield "the value as text with blanks", made(f" {word} "), high
    yield "the value null", made(None), None
    yield "the value empty", made(""), None
    yield "the value a word that is no grade", made("perhaps"), None
    yield "the value in a list", made([value]), high
    yield "the value in an object", made({"value": value}), high
    yield "true", made(True), 1.0 if kind == "binary" else None
    yield "above the scale", made(tried.prompt.scale.high + 1), None
    yield "below the scale", made(tried.prompt.scale.low - 1), None
    yield "no number", made("@").replace('"@"', "NaN"), None
    yield "between two grades", made(0.5), 0.5 if kind == "probability" else None
    yield "no value", json.dumps({"reason": WHY}), None
    yield "an empty object", "{}", None
    yield "fields that nobody asked for", made(value, tags=["a", {"b": None}], n=7), high
    yield "another verdict quoted in a field", made(_value(tried, 0), quoted=good), low
    yield (
        "a lone half of a letter in a text",
        made(value, quoted="@").replace('"@"', '"\\ud800"'),
        high,
    )
    yield "a remark after it", f"{good}\n// That is beyond doubt.", high
    yield "another object after it", f"{good}\n// or rather {other}", low
    if tried.prompt.name != "inner_field":
        field = next(f for f, part in tried.prompt.reply_schema.items() if part == "score")
        one, two = json.dumps({field: value}), json.dumps({field: _value(tried, 0)})
        yield "the field twice, alike", f"{one[:-1]}, {one[1:]}", high
        yield "the field twice, unlike", f"{two[:-1]}, {one[1:]}", None
        yield "one object deeper", json.dumps({"result": {field: value}}), high
        yield "its name in capitals", json.dumps({field.upper(): value}), high
