"""The strings of a JavaScript or TypeScript file that may be its prompt; the file is searched, and
nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..exports.template_parts import Field, TemplatePart, join_literals
from .code_strings import CodePrompt, CodeString, prompts_of
from .jinja_templates import one_field
from .messages import ROLES
from .replaced_marks import javascript_marks, with_marks
from .template_syntaxes import read_loose

QUOTED = r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\""
_LITERAL = r"(?:\\[\s\S]|\$(?!\{)|[^`\\$])"


def _code(strings: str) -> str:
    """Return the pattern of the code in a place of a template literal, in which such strings may
    stand.
    """
    piece = rf"(?:[^`{{}}'\"]|{strings})"
    return rf"(?:{piece}|\{{{piece}*\}})*"


def _template(code: str) -> str:
    return rf"`(?:{_LITERAL}|\$\{{{code}\}})*`"


_CODE = _code(f"{QUOTED}|{_template(_code(f'{QUOTED}|{_template(_code(QUOTED))}'))}")
TEMPLATE = rf"(?:{_template(_CODE)}|`(?:\\[\s\S]|[^`\\])*`)"
"""A template literal, in whose places others may stand: `${docs.map((d) => `- ${d}`).join("")}`."""
_TOKEN = re.compile(rf"//[^\n]*|/\*[\s\S]*?\*/|{TEMPLATE}|{QUOTED}")
"""A string or a comment; whichever begins first."""
_NAME = r"[A-Za-z_$][\w$]*"
_CONSTANT = re.compile(
    rf"\b(?:const|let|var)\s+({_NAME})\s*(?::\s*string\s*)?=\s*(?:dedent|outdent|String\.raw)?(?P<string>{TEMPLATE}|{QUOTED})"
)
_GIVEN_TO = re.compile(
    rf"({_NAME})\s*(?::\s*string\s*)?(?:=|:)\s*(?:async\s*)?(?:\([^()]*\)\s*=>\s*|[\w$]+\s*=>\s*|dedent\s*)?\(?\s*$"
)
_FUNCTION = re.compile(rf"\bfunction\s+({_NAME})\s*\([^()]*\)[^{{}}]*\{{\s*(?:return\b[\s([]*)?$")
_ROLE = re.compile(
    r"role['\"]?\s*:\s*['\"](\w+)['\"](?: as const)?\s*,\s*['\"]?content['\"]?\s*:\s*$"
)
_ROLE_NAMED = re.compile(_ROLE.pattern.removesuffix("$") + rf"({_NAME})\s*[,}}]")
_SYSTEM = re.compile(
    r"\b(?:system|systemPrompt|systemInstruction|instructions)\s*:\s*"
    rf"(?P<given>{TEMPLATE}|{QUOTED}|{_NAME})|\bsystem['\"]\s*,\s*content\s*:\s*(?P<said>{TEMPLATE}|{QUOTED}|{_NAME})"
)
_PUT_IN = r"[A-Za-z_$][\w$.?\[\]()]*"
_PIECES = rf"(?:\s*(?:[+,]|{_PUT_IN}|\"\"|''|``)\s*)*"
_LINK = re.compile(rf"{_PIECES}\s*[+,]{_PIECES}\s*")
"""What stands between two strings that are put together, with `+` or as neighbours in a list."""
_JOINED_LIST = re.compile(
    rf"\$\{{\s*(?P<name>\w+)\s*"
    rf"(?:\.map\(\s*\(?(?P<item>{_NAME})(?:\s*,\s*(?P<number>{_NAME}))?\)?\s*=>\s*`(?P<each>[^`]*)`\s*\)\s*)?"
    r"\.join\(\s*(?P<mark>['\"`])(?P<between>[^'\"`]*)(?P=mark)\s*\)\s*\}"
)
_OF_USER = ("prompt", "user", "input", "content", "userPrompt")
"""Names of a text that may be short, because the system text says what to do."""
_FALLS_BACK = re.compile(r"\?\?|\|\||&&|\s\?\s|[!=]==?|\s[<>]\s")
_COMMA = re.compile(",")
_NAMED_FIRST = re.compile(rf"{_NAME}(?:\??\.{_NAME}|\[[^\[\]]*\])*\s*(?:[,(]|$)")
"""Arguments of which the first names something, as a function that formats it takes it."""
_OF_OWNER = ("map", "flatMap", "filter", "join", "concat", "replace", "replaceAll", "slice", "get")
"""Methods whose argument is not what is shown."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_NEAR = 400
"""Characters of code round the place that sends a string, in which its system text is looked for.
"""


def read_javascript(text: str, wanted: str | None, notes: list[str]) -> list[CodePrompt]:
    """Read the prompts of a JavaScript or TypeScript file: its template literals and strings.

    Args:
        text: The file.
        wanted: The name of the one to take.
        notes: Takes what of its templates was settled, in whole sentences.

    Raises:
        InputError: It holds none.
    """
    text = re.sub(_JOINED_LIST, lambda match: _list_in_words(text, match), text)
    for loop in re.finditer(rf"\$\{{({_NAME}(?:\.{_NAME})*)\s*\.(?:map|flatMap|forEach)\(", text):
        notes.append(one_field(shown_by(loop[1])))
    constants = {match[1]: match["string"] for match in _CONSTANT.finditer(text)}
    strings = sorted(
        [*_strings(text, constants), *_named_contents(text, constants)],
        key=lambda string: string.line,
    )
    marks = javascript_marks(text, constants)
    strings = [replace(string, parts=with_marks(string.parts, marks)) for string in strings]
    strings = [
        one
        for one in strings
        if len(one) >= 40 or one.role or (one.has_fields and one.name in _OF_USER)
    ]
    chat = [string for string in strings if string.role in ROLES]
    chats = [] if wanted is not None else _chats(chat)
    if len(chats) == 1 and ROLES[chats[0][0].role] != "system":
        chats = [[*_systems(text, constants)[:1], *chats[0]]]
    others = [string for string in strings if not chats or string.role not in ROLES]
    return prompts_of(chats, others, wanted, lambda string: _system_beside(text, constants, string))


def _chats(messages: Sequence[CodeString]) -> list[list[CodeString]]:
    """Return the messages of a file as chats: one begins with a system text, and with a user's
    after a user's.
    """
    chats: list[list[CodeString]] = []
    for message in messages:
        role, before = ROLES[message.role], ROLES[chats[-1][-1].role] if chats else ""
        if not chats or (role == "system" and before != "system") or (role == before == "user"):
            chats.append([])
        chats[-1].append(message)
    return [chat for chat in chats if any(message.has_fields for message in chat)]


def _strings(text: str, constants: Mapping[str, str]) -> list[CodeString]:
    """Return the texts of a file, each as large as it can be told."""
    strings: list[CodeString] = []
    end = 0
    outside = re.sub(_TOKEN, lambda match: " " * len(match.group()), text)
    for match in _TOKEN.finditer(text):
        if match.group().startswith("/"):
            continue
        parts = _written(match.group(), constants)
        link = _LINK.fullmatch(text, end, match.start()) if strings and parts else None
        if link and ("," not in link.group() or _is_joined(outside, match.end())):
            between = _put_in(link.group(), constants)
            strings[-1] = replace(
                strings[-1], parts=join_literals([*strings[-1].parts, *between, *parts])
            )
            end = match.end()
            continue
        if not match.group()[1:-1].strip():
            continue
        end = match.end()
        before = text[max(0, match.start() - 200) : match.start()]
        role, name = _ROLE.search(before), _GIVEN_TO.search(before) or _FUNCTION.search(before)
        line = text.count("\n", 0, match.start()) + 1
        strings.append(
            CodeString(
                name=name[1] if name else "",
                parts=join_literals(parts),
                line=line,
                role=role[1] if role else "",
            )
        )
    return strings


def _written(string: str, constants: Mapping[str, str], depth: int = 0) -> list[TemplatePart]:
    """Return the text of a string as it is written, quotes and all."""
    body = string[1:-1]
    parts = list(_places(body, constants, depth)) if string.startswith("`") else []
    if not any(isinstance(part, Field) for part in parts):
        return list(read_loose(_unescaped(body))) or ([_unescaped(body)] if body else [])
    return parts


def _places(body: str, constants: Mapping[str, str], depth: int) -> Iterator[TemplatePart]:
    end = 0
    for match in re.finditer(rf"(?<!\\)\$\{{({_CODE})\}}", body):
        yield _unescaped(body[end : match.start()])
        yield from _value(match[1].strip(), constants, depth)
        end = match.end()
    yield _unescaped(body[end:])


def _value(code: str, constants: Mapping[str, str], depth: int = 0) -> Iterator[TemplatePart]:
    """Yield what code puts into a text: the words of a constant, else a field."""
    if code not in constants or depth > 5:
        yield Field(shown_by(code))
    elif constants[code].startswith("`"):
        yield from _places(constants[code][1:-1], constants, depth + 1)
    else:
        yield _unescaped(constants[code][1:-1])


def shown_by(code: str) -> str:
    """Return what of a row some code shows: `docs` of `docs.map((d) => d.text)` and of
    `JSON.stringify(docs)`.
    """
    code = _before(_FALLS_BACK, code)
    while code.endswith(")") and (start := _opening(code)) >= 0:
        called, given = code[:start], _before(_FALLS_BACK, code[start + 1 : -1])
        owner, dot, method = called.rpartition(".")
        if _NAMED_FIRST.match(given) and not (dot and method in _OF_OWNER):
            code = _before(_COMMA, given)
        else:
            code = owner.rstrip("?") if dot else called or given
    names = re.findall(_NAME, re.sub(r"\[\d+\]$|\.length$", "", code))
    return names[-1] if names else "value"


def _before(mark: re.Pattern[str], code: str) -> str:
    """Return code up to the first mark that stands in no brackets."""
    depth = 0
    for at, letter in enumerate(code):
        if depth == 0 and at and mark.match(code, at):
            return code[:at].strip()
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
    return code.strip()


def _opening(code: str) -> int:
    """Return where the bracket opens that closes code; -1 where it does not."""
    depth = 0
    for at in range(len(code) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return -1


def _named_contents(text: str, constants: Mapping[str, str]) -> Iterator[CodeString]:
    """Yield the messages whose content is a constant: `{ role: "system", content: SYSTEM }`."""
    for match in _ROLE_NAMED.finditer(text):
        if match[2] in constants:
            parts = join_literals(_value(match[2], constants))
            yield CodeString(
                name=match[2],
                parts=parts,
                line=text.count("\n", 0, match.start()) + 1,
                role=match[1],
            )


def _systems(text: str, constants: Mapping[str, str]) -> list[CodeString]:
    """Return the system texts that code gives beside its messages, as `system: SYSTEM`."""
    found: list[CodeString] = []
    for match in _SYSTEM.finditer(text):
        given = match["given"] or match["said"]
        if given in constants or given[0] in "`'\"":
            parts = _value(given, constants) if given in constants else _written(given, constants)
            found.append(
                CodeString(name="system", parts=join_literals(parts), line=0, role="system")
            )
    return found


def _system_beside(
    text: str, constants: Mapping[str, str], string: CodeString
) -> CodeString | None:
    """Return the system text that is sent where a string, or the function that makes it, is."""
    if not string.name or string.role == "system":
        return None
    for match in re.finditer(
        rf"(?<![\w$.]){re.escape(string.name)}\b(?!\s*(?:=|:\s*string))", text
    ):
        systems = _systems(
            text[max(0, match.start() - _NEAR) : match.end() + _NEAR // 2], constants
        )
        if systems and systems[-1].parts != string.parts:
            return systems[-1]
    return None


def _list_in_words(text: str, match: re.Match[str]) -> str:
    """Return the words of a list of strings where they are put into a text, as in `${LABELS.join(",
    ")}`.
    """
    listed = re.search(rf"\b{re.escape(match['name'])}\s*(?::[^=\n]*)?=\s*\[([^\[\]]*)\]", text)
    words = (
        [one.group()[1:-1] for one in re.finditer(_TOKEN, listed[1]) if one.group()[0] != "/"]
        if listed
        else []
    )
    if match["each"] is not None:
        words = [_each(match, word, at) for at, word in enumerate(words)]
    return match["between"].join(words) if words and "${" not in "".join(words) else match.group()


def _each(loop: re.Match[str], word: str, at: int) -> str:
    """Return what a loop writes for one word of its list, with its number."""
    written = re.sub(rf"\$\{{\s*{re.escape(loop['item'])}\s*\}}", lambda _: word, loop["each"])
    counted = rf"\$\{{\s*{re.escape(loop['number'] or '-')}(?:\s*\+\s*(\d+))?\s*\}}"
    return re.sub(counted, lambda number: str(at + int(number[1] or 0)), written)


def _is_joined(text: str, at: int) -> bool:
    """Whether the list that a place of the text stands in is made into one text."""
    closed = text.find("]", at)
    return (
        closed >= 0 and re.match(r"\](?:\s*\.filter\(\w*\))?\s*\.join\(", text[closed:]) is not None
    )


def _put_in(code: str, constants: Mapping[str, str]) -> Iterator[TemplatePart]:
    """Yield what stands between strings: the text of a constant, a field for another name, a line
    break for a comma.
    """
    for piece in re.findall(rf",|{_PUT_IN}", code):
        if piece == ",":
            yield "\n"
        else:
            yield from _value(piece, constants)


def _unescaped(body: str) -> str:
    return re.sub(
        r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), body, flags=re.DOTALL
    )
