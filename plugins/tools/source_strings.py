"""The strings of a source file that may be its prompt, in any language but Python; the file is cut
into tokens, and nothing is run.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pygments.lexers import get_lexer_for_filename  # pyright: ignore[reportUnknownVariableType]
from pygments.token import Comment, Keyword, Name, Operator, Punctuation, String

from ...runs.exports import Field, TemplatePart, join_literals
from ...runs.imports import (
    ROLES,
    ForeignJudge,
    Parts,
    PromptReader,
    cut,
    read_parts,
)
from .code_strings import CodeString, prompts_of

_TYPESCRIPT = {".mts": ".ts", ".tsx": ".ts", ".jsx": ".js", ".mjs": ".js", ".cjs": ".js"}
_QUOTE = re.compile(r"(?:<<<|[@$]*[a-zA-Z]?(#*)(\"\"\"|'''|\"|'|`))")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_DOLLAR = re.compile(r"\{?\$\{?([A-Za-z_]\w*)\}?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}
_TYPES = ("string", "String", "str", "any")
_SYSTEM_KEYS = ("system", "systemPrompt", "systemInstruction", "instructions")
_CHAIN = re.compile(r"[A-Za-z_$][\w$]*(?:\s*\??\.\s*[A-Za-z_$][\w$]*)*")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A string of the file, or a piece of its code."""

    kind: str
    """`string`, `name` or `sign`."""
    text: str
    line: int
    parts: Parts = ()


def read_source(path: Path, text: str, string: str | None) -> list[ForeignJudge]:
    """Return the prompts of a source file.

    Args:
        path: The file.
        text: What it holds.
        string: The name of the one to take.

    Raises:
        InputError: There is none, or none of that name.
    """
    notes: list[str] = []
    chats, strings = read_strings(text, path.suffix, notes)
    prompts = prompts_of("a source file", path.name, chats, strings, string)
    return [replace(prompt, notes=tuple(notes)) for prompt in prompts]


def read_strings(
    text: str, suffix: str, notes: list[str]
) -> tuple[list[list[CodeString]], list[CodeString]]:
    """Return the lists of messages of a source file, and all its strings.

    Args:
        text: The file.
        suffix: The ending of its name.
        notes: Takes what of its templates was settled, in whole sentences.
    """
    pieces = list(_pieces(text, _TYPESCRIPT.get(suffix, suffix), notes))
    pieces = _put_together(pieces)
    strings, places = _named_strings(pieces)
    constants = {string.name: string.parts for string in strings if string.name}
    constants |= _listed_words(pieces)
    strings = [replace(one, parts=_with_constants(one.parts, constants)) for one in strings]
    messages = list(_messages(pieces, constants))
    systems = list(_systems(pieces, constants))
    chats = [_with_system(systems, at, chat) for at, chat in _chats(messages)]
    in_chats = {string.text for chat in chats for string in chat}
    alone = [
        _with_system(systems, at, [string])
        for at, string in zip(places, strings, strict=True)
        if string.has_fields and string.text not in in_chats
    ]
    return [*chats, *(pair for pair in alone if len(pair) > 1)], strings


def _pieces(text: str, suffix: str, notes: list[str]) -> Iterator[_Piece]:
    """Yield the strings of a file with their fields, and the names and signs between them."""
    lexer = get_lexer_for_filename(f"file{suffix}", stripnl=False)
    tokens: list[tuple[Any, str]] = [
        (kind, value)
        for kind, value in lexer.get_tokens(text)
        if kind not in Comment or kind is Comment.Preproc
    ]
    at, line = 0, 1
    while at < len(tokens):
        kind, value = tokens[at]
        if kind in String and kind is not String.Regex:
            end, raw = _string_at(tokens, at)
            yield _Piece("string", "", line, _text_of(raw, suffix, notes))
            line += sum(value.count("\n") for _, value in tokens[at:end])
            at = end
            continue
        line += value.count("\n")
        at += 1
        if kind in Name or kind in Keyword:
            yield _Piece("name", value.lstrip("$"), line)
        elif kind in Operator or kind in Punctuation:
            yield _Piece("sign", value, line)


def _string_at(tokens: Sequence[tuple[Any, str]], at: int) -> tuple[int, list[TemplatePart]]:
    """Return where the string ends that begins at a token, and what stands in it."""
    raw: list[TemplatePart] = []
    in_heredoc = False
    while at < len(tokens):
        kind, value = tokens[at]
        if kind is String.Delimiter:
            if in_heredoc:
                return at + 1, raw
            in_heredoc = True
        elif kind is String.Interpol and value not in ("}", ")"):
            end = _end_of_place(tokens, at)
            raw.append(Field("".join(value for _, value in tokens[at + 1 : end]).strip()))
            at = end
            if value.endswith("$"):
                continue
        elif kind in String:
            raw.append(value)
            opening = raw[0] if isinstance(raw[0], str) else ""
            if not in_heredoc and _is_closed(value, opening, first=len(raw) == 1):
                return at + 1, raw
        elif not in_heredoc:
            break
        at += 1
    return at, raw


def _is_closed(value: str, opening: str, *, first: bool) -> bool:
    """Whether a token ends the string that another one began."""
    match = _QUOTE.match(opening)
    if match is None or not match[2]:
        return False
    end = match[2] + match[1]
    return (
        value.endswith(end)
        and not value.startswith("\\")
        and (not first or len(value) >= len(match[0]) + len(end))
    )


def _end_of_place(tokens: Sequence[tuple[Any, str]], at: int) -> int:
    """Return where the code ends that a string puts in: at its closing sign, or after a name."""
    if tokens[at][1].endswith("$"):
        return at + 2
    depth = 1
    for end in range(at + 1, len(tokens)):
        kind, value = tokens[end]
        if kind is String.Interpol:
            depth += -1 if value in ("}", ")") else 1
            if depth == 0:
                return end
    return len(tokens) - 1


def _text_of(raw: Sequence[TemplatePart], suffix: str, notes: list[str]) -> Parts:
    """Return a string as it is sent: without quotes, indents and escapes."""
    pieces = list(raw)
    opening = _QUOTE.match(pieces[0]) if pieces and isinstance(pieces[0], str) else None
    if opening and isinstance(pieces[0], str):
        pieces[0] = pieces[0][opening.end() :]
        end = (opening[2] or "") + (opening[1] or "")
        if isinstance(pieces[-1], str):
            pieces[-1] = pieces[-1].removesuffix(end)
    is_raw = opening is not None and (
        opening[0][0] in "@r" or (opening[2] == "`" and suffix == ".go")
    )
    is_script = suffix in (".js", ".ts")
    parts: list[TemplatePart] = []
    for piece in join_literals(pieces):
        if isinstance(piece, Field):
            parts.append(Field(_shown_by(piece.name)))
        else:
            parts.append(piece if is_raw else _ESCAPE.sub(_unescaped, piece))
    if any(isinstance(part, Field) for part in parts):
        return join_literals(parts)
    text = "".join(map(str, parts))
    if suffix in (".php", ".sh"):
        parts = list(cut(_DOLLAR, text))
        return join_literals(parts)
    if not is_script and any("\n" in piece for piece in raw if isinstance(piece, str)):
        text = textwrap.dedent(text.strip("\n") + "\n").strip("\n")
    return read_parts(text, notes) if "{{" in text or "{" in text else ((text,) if text else ())


def _unescaped(escape: re.Match[str]) -> str:
    return _ESCAPES.get(escape[1], escape[1])


def _shown_by(code: str) -> str:
    """Return what of a row some code shows: `docs` of `docs.map((d) => d.text)` and of
    `JSON.stringify(docs)`.
    """
    match = _CHAIN.search(code)
    if match is None:
        return "value"
    names = re.split(r"\s*\??\.\s*", match[0])
    rest = code[match.end() :].lstrip()
    of_class = names[0] == "JSON" or (names[0][0].isupper() and not names[0].isupper())
    if not rest.startswith("(") or (len(names) > 1 and not of_class):
        called = rest.startswith("(")
        return names[-2] if called else names[-1] if names[-1] != "length" else names[-2]
    return _shown_by(rest[1:]) if _CHAIN.search(rest[1:]) else names[-1]


def _put_together(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Join strings with `+` between them, and those of a list that is made into one text."""
    joined: list[_Piece] = []
    for at, piece in enumerate(pieces):
        joined.append(piece)
        while len(joined) > 2 and joined[-2].text == "+" and joined[-2].kind == "sign":
            first, right = joined[-3], joined[-1]
            called = at + 1 < len(pieces) and pieces[at + 1].text in (".", "(", "?.")
            if called or "sign" in (first.kind, right.kind) or first.kind == right.kind == "name":
                break
            sides = [p.parts if p.kind == "string" else (Field(p.text),) for p in (first, right)]
            parts = join_literals([*sides[0], *sides[1]])
            joined[-3:] = [_Piece("string", "", first.line, parts)]
        if [p.text for p in joined[-3:]] == ["]", ".", "join"]:
            _join_list(joined)
    return joined


def _join_list(joined: list[_Piece]) -> None:
    """Put a list of strings, which the last pieces make into one text, into its place."""
    start = len(joined) - 4
    while start >= 0 and (joined[start].kind != "sign" or joined[start].text == ","):
        start -= 1
    if start < 0 or joined[start].text != "[":
        return
    parts: list[TemplatePart] = []
    for piece in joined[start:-3]:
        if piece.kind != "sign":
            text = piece.parts if piece.kind == "string" else (Field(piece.text),)
            parts += [*(["\n"] if parts else []), *text]
    joined[start:] = [_Piece("string", "", joined[start].line, join_literals(parts))]


def _named_strings(pieces: Sequence[_Piece]) -> tuple[list[CodeString], list[int]]:
    """Return the strings by the name that each is given to, and where they stand."""
    strings: list[CodeString] = []
    places: list[int] = []
    names = [""]
    for at, piece in enumerate(pieces):
        before = pieces[at - 1] if at else piece
        if piece.kind == "string":
            strings.append(CodeString(name=names[-1], parts=piece.parts, line=piece.line))
            places.append(at)
        elif piece.text in ("(", "[", "{"):
            names.append(names[-1])
        elif piece.text in (")", "]", "}"):
            names = names[:-1] or [""]
        elif piece.text in ("=", ":", ":=") and before.text not in _TYPES:
            names[-1] = _key(before) or names[-1]
        elif piece.kind == "name" and before.text in ("function", "func", "fun", "def"):
            names[-1] = piece.text
        elif piece.text == ";":
            names[-1] = ""
    return strings, places


def _listed_words(pieces: Sequence[_Piece]) -> dict[str, Parts]:
    """Return the lists of words, such as labels, by the names that they are given to."""
    listed: dict[str, Parts] = {}
    for at, piece in enumerate(pieces):
        if piece.text != "=" or at == 0 or [p.text for p in pieces[at + 1 : at + 2]] != ["["]:
            continue
        end = at + 2
        while end < len(pieces) and (pieces[end].kind == "string" or pieces[end].text == ","):
            end += 1
        words = [_key(piece) for piece in pieces[at + 2 : end] if piece.kind == "string"]
        if words and pieces[end : end + 1] and pieces[end].text == "]":
            listed[pieces[at - 1].text] = (", ".join(words),)
    return listed


def _key(piece: _Piece) -> str:
    """Return the name or the quoted key that a value is given to."""
    if piece.kind == "string":
        return "".join(part for part in piece.parts if isinstance(part, str))
    return piece.text if piece.kind == "name" else ""


def _with_constants(parts: Parts, constants: Mapping[str, Parts], depth: int = 0) -> Parts:
    """Return the parts of a text with the words of constants in their places."""
    if depth > 5:
        return parts
    filled: list[TemplatePart] = []
    for part in parts:
        constant = constants.get(part.name) if isinstance(part, Field) else None
        if constant is None or constant == parts:
            filled.append(part)
        else:
            filled += _with_constants(constant, constants, depth + 1)
    return join_literals(filled)


def _value_at(
    pieces: Sequence[_Piece], at: int, constants: Mapping[str, Parts]
) -> tuple[str, Parts]:
    """Return the name and the text of what is given to a key; no text where it is none."""
    if at >= len(pieces):
        return "", ()
    if pieces[at].kind == "string":
        return "", _with_constants(pieces[at].parts, constants)
    name = pieces[at].text
    return name, _with_constants(constants.get(name, ()), constants)


def _messages(
    pieces: Sequence[_Piece], constants: Mapping[str, Parts]
) -> Iterator[tuple[int, CodeString]]:
    """Yield each `role` with its `content`, and where it stands."""
    for at in range(len(pieces) - 6):
        keys = _key(pieces[at]), pieces[at + 1].text, _key(pieces[at + 2])
        if keys[:2] != ("role", ":") or keys[2] not in ROLES:
            continue
        content = next((n for n in range(at + 3, at + 7) if _key(pieces[n]) == "content"), None)
        if content is None:
            continue
        name, parts = _value_at(pieces, content + 2, constants)
        if parts:
            yield at, CodeString(name=name, parts=parts, line=pieces[at].line, role=keys[2])


def _chats(
    messages: Sequence[tuple[int, CodeString]],
) -> Iterator[tuple[int, list[CodeString]]]:
    """Yield the messages of a file as chats: one begins with a system text, and with a user's
    after a user's.
    """
    chat: list[CodeString] = []
    start, before = 0, ""
    for at, message in messages:
        role = ROLES[message.role]
        if chat and ((role == "system" and before != "system") or role == before == "user"):
            yield start, chat
            chat = []
        start = start if chat else at
        chat.append(message)
        before = role
    if chat:
        yield start, chat


@dataclass(frozen=True, slots=True)
class _SystemText:
    """A system text that code gives beside its messages, as `system: SYSTEM`."""

    string: CodeString
    start: int
    end: int
    """The brackets of code that it stands in."""
    names: frozenset[str]
    """The names in them."""


def _systems(pieces: Sequence[_Piece], constants: Mapping[str, Parts]) -> Iterator[_SystemText]:
    for at, piece in enumerate(pieces[:-2]):
        if _key(piece) in _SYSTEM_KEYS and pieces[at + 1].text == ":":
            _, parts = _value_at(pieces, at + 2, constants)
            if parts:
                start, end = _brackets_round(pieces, at)
                names = frozenset(p.text for p in pieces[start:end] if p.kind == "name")
                string = CodeString(name="", parts=parts, line=piece.line, role="system")
                yield _SystemText(string, start, end, names)


def _with_system(
    systems: Sequence[_SystemText], at: int, chat: list[CodeString]
) -> list[CodeString]:
    """Return messages with the system text that stands in the same brackets of code, or in those
    that name the string.
    """
    last = chat[-1]
    for system in systems if ROLES.get(chat[0].role) != "system" else ():
        near = system.start < at < system.end or (last.name and last.name in system.names)
        if near and system.string.parts != last.parts:
            return [system.string, *chat]
    return chat


def _brackets_round(pieces: Sequence[_Piece], at: int) -> tuple[int, int]:
    """Return where the brackets open and close that a piece of code stands in."""
    start, depth = at, 0
    while start > 0 and depth < 1:
        start -= 1
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(pieces[start].text, 0)
    end, depth = at, 0
    while end < len(pieces) - 1 and depth < 1:
        end += 1
        depth += {"}": 1, ")": 1, "{": -1, "(": -1}.get(pieces[end].text, 0)
    return start, end


READER = PromptReader(
    suffixes=(
        *(".js", ".mjs", ".cjs", ".ts", ".mts", ".jsx", ".tsx", ".go", ".java", ".kt", ".rb"),
        *(".php", ".cs", ".rs", ".swift", ".scala", ".c", ".cpp", ".dart", ".sh", ".sql"),
    ),
    read=read_source,
)
"""Reads source files."""
