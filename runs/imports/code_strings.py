"""The prompt inside a Python or JavaScript file: its strings are found, and nothing of it is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from ...judges import InputError
from ..exports.template_parts import Field, TemplateMessage, TemplatePart, join_literals
from .messages import ROLES
from .placeholders import read_parts
from .stated_answer import read_answer
from .template_syntaxes import read_dollar, read_loose
from .text_units import FIELD, plain_marks, read_units, without_rows, words_on_answer

Parts = tuple[TemplatePart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeString:
    """A string of a source file that may be a prompt."""

    name: str
    """What it is assigned to; empty where that cannot be told."""
    parts: Parts
    line: int
    role: str = ""
    """The role of the message in whose list it stands."""

    @property
    def has_fields(self) -> bool:
        """Whether anything is put into it."""
        return any(isinstance(part, Field) for part in self.parts)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts if isinstance(part, str))


def read_python(text: str, wanted: str | None) -> tuple[TemplateMessage, ...]:
    """Read the prompt of a Python file: the messages that are built in it, or its one string with fields.

    Raises:
        InputError: It holds no prompt, or several.
    """
    tree = ast.parse(text)
    named = constants_of(tree)
    if wanted is None:
        chats = [chat for node in ast.walk(tree) if isinstance(node, ast.List) and (chat := _python_chat(node, named))]
        chats = [chat for chat in chats if any(string.has_fields for string in chat)]
        chat = [*_system_argument(tree, named, chats[0]), *chats[0]] if len(chats) == 1 else []
        if chat and (_chat_asks_for_verdict(chat) or not _has_judge(tree, named)):
            return _as_messages(chat)
    grown = {node.target.id for node in ast.walk(tree) if isinstance(node, ast.AugAssign) and _is_name(node.target)}
    whole = [
        CodeString(name=name, parts=parts, line=named[name].lineno)
        for name in sorted(grown & named.keys())
        if (parts := python_parts(named[name], named))
    ]
    return _choose([*_python_strings(tree, named), *whole], wanted)


def _is_name(node: ast.expr) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _python_strings(node: ast.AST, named: dict[str, ast.expr], name: str = "") -> Iterator[CodeString]:
    """Yield the texts of a tree, each as large as it can be told, by the name, key or argument it is given to."""
    if isinstance(node, ast.expr) and not isinstance(node, ast.Name) and (parts := python_parts(node, named)):
        yield CodeString(name=name, parts=parts, line=node.lineno)
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, ast.Dict) and child in node.values and isinstance(child, ast.expr):
            key = node.keys[node.values.index(child)]
            yield from _python_strings(child, named, str(key.value) if isinstance(key, ast.Constant) else name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and child is node.value:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield from _python_strings(child, named, target.id if isinstance(target, ast.Name) else name)
        elif isinstance(child, ast.keyword | ast.stmt):
            yield from _python_strings(child, named, "")
        else:
            yield from _python_strings(child, named, name)


def constants_of(tree: ast.AST) -> dict[str, ast.expr]:
    """Return what each name is assigned."""
    named: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            named[node.targets[0].id] = node.value
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            named[node.target.id] = node.value
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in named:
            whole = ast.BinOp(left=named[node.target.id], op=node.op, right=node.value)
            named[node.target.id] = ast.copy_location(whole, node)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
        ):
            _grow(named, node.func.value, node)
    return named


def _grow(named: dict[str, ast.expr], target: ast.expr, call: ast.Call) -> None:
    """Put what is appended to a list of texts into the list."""
    listed = named.get(target.id) if isinstance(target, ast.Name) else None
    if not isinstance(target, ast.Name) or not isinstance(listed, ast.List) or len(call.args) != 1:
        return
    (more,) = call.args
    added = more.elts if isinstance(more, ast.List | ast.Tuple) else [more]
    named[target.id] = ast.copy_location(ast.List(elts=[*listed.elts, *added], ctx=ast.Load()), listed)


def _system_argument(tree: ast.AST, named: dict[str, ast.expr], chat: Sequence[CodeString]) -> list[CodeString]:
    """Return the system text that is given beside the messages, as some clients want it."""
    if any(string.role == "system" for string in chat):
        return []
    for node in ast.walk(tree):
        if not isinstance(node, ast.keyword) or node.arg not in ("system", "system_prompt", "system_instruction"):
            continue
        if parts := python_parts(node.value, named):
            return [CodeString(name="", parts=parts, line=node.value.lineno, role="system")]
    return []


def _python_chat(node: ast.List, named: dict[str, ast.expr]) -> list[CodeString]:
    """Return the messages of a list of `role` and `content`; empty where it is none, or a content cannot be told."""
    chat: list[CodeString] = []
    for item in node.elts:
        role, content = _role_and_content(item)
        parts = python_parts(content, named) if role and content is not None else ()
        if not parts:
            return []
        chat.append(CodeString(name="", parts=parts, line=item.lineno, role=role))
    return chat


def _role_and_content(node: ast.expr) -> tuple[str, ast.expr | None]:
    """Return role and content of a message: a dictionary, a pair, or an object of LangChain's; empty for none."""
    if isinstance(node, ast.Dict):
        body = {
            key.value: value for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)
        }
        role = body.get("role")
        return (str(role.value) if isinstance(role, ast.Constant) else ""), body.get("content")
    if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant):
        role = str(node.elts[0].value)
        return (role if role in ROLES else ""), node.elts[1]
    if isinstance(node, ast.Call):
        match = re.search(r"(System|Human|User|AI|Assistant)Message(?:PromptTemplate)?\b", ast.unparse(node.func))
        content = next((k.value for k in node.keywords if k.arg in ("content", "template", "prompt")), None)
        return (match[1].lower() if match else ""), content or next(iter(node.args), None)
    return "", None


def python_parts(node: ast.expr, named: dict[str, ast.expr], depth: int = 0) -> Parts:
    """Return the text of an expression with its fields; empty where it is no text that can be told."""
    if depth > 20:
        return ()
    if isinstance(node, ast.Constant):
        return read_loose(node.value) if isinstance(node.value, str) and node.value.strip() else ()
    if isinstance(node, ast.JoinedStr):
        parts: list[TemplatePart] = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts.append(str(value.value))
            elif isinstance(value, ast.FormattedValue):
                parts += _python_value(value.value, named, depth)
        return join_literals(parts)
    if isinstance(node, ast.Name):
        return python_parts(named[node.id], named, depth + 1) if node.id in named else ()
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
        return python_parts(named[node.attr], named, depth + 1) if node.attr in named else ()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [
            python_parts(side, named, depth + 1) or tuple(_python_value(side, named, depth))
            for side in (node.left, node.right)
        ]
        return join_literals([*sides[0], *sides[1]]) if all(sides) else ()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _percent(python_parts(node.left, named, depth + 1), node.right, named, depth)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("format", "strip", "lstrip", "rstrip", "render", "substitute", "replace"):
            return python_parts(node.func.value, named, depth + 1)
        if node.func.attr == "join" and node.args:
            listed = named.get(node.args[0].id) if isinstance(node.args[0], ast.Name) else node.args[0]
            if isinstance(listed, ast.List | ast.Tuple):
                return _joined(node.func.value, listed.elts, named, depth)
        if node.func.attr == "dedent" and node.args:
            return python_parts(node.args[0], named, depth + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        text = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        if node.func.id == "Template" and isinstance(text, str) and "{{" not in text:
            return read_dollar(text)
        wraps = node.func.id in ("dedent", "Template", "PromptTemplate", "str")
        return python_parts(node.args[0], named, depth + 1) if wraps else ()
    return ()


def _joined(between: ast.expr, pieces: Sequence[ast.expr], named: dict[str, ast.expr], depth: int) -> Parts:
    """Return the text of pieces with what is put between them."""
    if not isinstance(between, ast.Constant) or not isinstance(between.value, str):
        return ()
    parts: list[TemplatePart] = []
    for piece in pieces:
        empty = isinstance(piece, ast.Constant) and not str(piece.value).strip()
        told = () if empty else python_parts(piece, named, depth + 1) or _python_value(piece, named, depth)
        parts += [*([between.value] if parts else []), *told]
    return join_literals(parts) if any(isinstance(part, str) and part.strip() for part in parts) else ()


def _percent(parts: Parts, right: ast.expr, named: dict[str, ast.expr], depth: int) -> Parts:
    """Put the values after `%` into the places of `%s` and `%(name)s`; empty where they do not fit."""
    values = list(right.elts) if isinstance(right, ast.Tuple) else [right]
    pieces = re.split(r"%(?:\((\w+)\))?[sdr]", "".join(part for part in parts if isinstance(part, str)))
    texts, names = pieces[::2], pieces[1::2]
    if not names or not all(isinstance(part, str) for part in parts):
        return parts
    if not all(names) and len(names) != len(values):
        return ()
    filled: list[TemplatePart] = [texts[0].replace("%%", "%")]
    for at, (name, text) in enumerate(zip(names, texts[1:], strict=True)):
        filled += [Field(name)] if name else _python_value(values[at], named, depth)
        filled.append(text.replace("%%", "%"))
    return join_literals(filled)


def _python_value(node: ast.expr, named: dict[str, ast.expr], depth: int) -> list[TemplatePart]:
    """Return what stands in a place of an f-string: a constant's own text, else a field by its last name."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    known = ast.unparse(node) in (name, f"self.{name}", f"cls.{name}") and isinstance(
        named.get(name), ast.Constant | ast.JoinedStr
    )
    told = known or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".join"))
    if told and (parts := python_parts(node, named, depth + 1)):
        return list(parts)
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".get") and node.args:
        key = node.args[0]  # row.get("log", "none")
        return [Field(str(key.value) if isinstance(key, ast.Constant) else _last_name(ast.unparse(key)))]
    return [Field(_last_name(ast.unparse(node)))]


def _last_name(code: str) -> str:
    """Return the last name in an expression, such as `answer` of `row["answer"].strip()`."""
    code = re.sub(r"\.\w+\(\)$", "", code)
    names = re.findall(r"[A-Za-z_]\w*", code)
    return names[-1] if names else "value"


_JS_STRING = re.compile(
    r"//[^\n]*|/\*.*?\*/|`((?:[^`\\]|\\.)*)`|'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"", re.DOTALL
)
_JS_CONSTANT = re.compile(
    r"\bconst\s+([A-Za-z_$][\w$]*)\s*(?::\s*string\s*)?=\s*(?:dedent)?(?:`((?:[^`\\]|\\.)*)`|'((?:[^'\\\n]|\\.)*)'"
    r"|\"((?:[^\"\\\n]|\\.)*)\")"
)
_JS_NAME = re.compile(
    r"([A-Za-z_$][\w$]*)\s*(?::\s*string\s*)?(?:=|:)\s*(?:async\s*)?(?:\([^()]*\)\s*=>\s*|[\w$]+\s*=>\s*|dedent\s*)?\(?\s*$"
)
_JS_ROLE = re.compile(r"role['\"]?\s*:\s*['\"](\w+)['\"]\s*,\s*['\"]?content['\"]?\s*:\s*$")
_JS_NAME_PUT_IN = r"[A-Za-z_$][\w$.?\[\]()]*"
_JS_PIECES = rf"(?:\s*(?:[+,]|{_JS_NAME_PUT_IN}|\"\"|''|``)\s*)*"
_JS_LINK = re.compile(rf"{_JS_PIECES}\s*[+,]{_JS_PIECES}\s*")
"""What stands between two strings that are put together, with `+` or as neighbours in a list."""
_JS_JOINED_LIST = re.compile(r"\$\{\s*(?P<name>\w+)\.join\(\s*(?P<mark>['\"`])(?P<between>[^'\"`]*)(?P=mark)\s*\)\s*\}")
_JS_OF_USER = ("prompt", "user", "input", "content", "userPrompt")
"""Names of a text that may be short, because the system text says what to do."""
_JS_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def read_javascript(text: str, wanted: str | None) -> tuple[TemplateMessage, ...]:
    """Read the prompt of a JavaScript or TypeScript file: its template literals and strings.

    Raises:
        InputError: It holds no prompt, or several.
    """
    text = re.sub(_JS_JOINED_LIST, lambda match: _js_list(text, match), text)
    strings: list[CodeString] = []
    ends: list[int] = []
    outside = re.sub(_JS_STRING, lambda match: " " * len(match.group()), text)
    constants = {match[1]: match for match in _JS_CONSTANT.finditer(text)}
    for match in _JS_STRING.finditer(text):
        body = next((group for group in match.groups() if group is not None), "")
        template = match.group().startswith("`")
        parts = tuple(_js_parts(body, constants)) if template else ()
        if not any(isinstance(part, Field) for part in parts):
            parts = read_loose(_js_text(body)) or ((_js_text(body),) if body else ())
        link = _JS_LINK.fullmatch(text, ends[-1], match.start()) if strings and parts else None
        if link and ("," not in link.group() or _is_joined(outside, match.end())):
            between = _js_put_in(link.group(), constants)
            strings[-1] = replace(strings[-1], parts=join_literals([*strings[-1].parts, *between, *parts]))
            ends[-1] = match.end()
            continue
        before = text[max(0, match.start() - 200) : match.start()]
        role, name = _JS_ROLE.search(before), _JS_NAME.search(before)
        if not body.strip():
            continue
        ends.append(match.end())
        line = text.count("\n", 0, match.start()) + 1
        strings.append(
            CodeString(
                name=name[1] if name else "", parts=join_literals(parts), line=line, role=role[1] if role else ""
            )
        )
    strings += _js_named_contents(text, constants)
    strings.sort(key=lambda string: string.line)
    strings = [one for one in strings if len(one) >= 40 or one.role or (one.has_fields and one.name in _JS_OF_USER)]
    chat = [string for string in strings if string.role in ROLES]
    if wanted is None and any(string.has_fields for string in chat):
        return _as_messages([*_js_system(text, constants, chat), *chat])
    return _choose(strings, wanted)


def _js_named_contents(text: str, constants: Mapping[str, re.Match[str]]) -> Iterator[CodeString]:
    """Yield the messages whose content is a constant: `{ role: "system", content: SYSTEM }`."""
    for match in re.finditer(_JS_ROLE.pattern.removesuffix("$") + r"([A-Za-z_$][\w$]*)\s*[,}]", text):
        if match[2] in constants:
            parts = join_literals(_js_parts(f"${{{match[2]}}}", constants))
            yield CodeString(name=match[2], parts=parts, line=text.count("\n", 0, match.start()) + 1, role=match[1])


def _js_system(text: str, constants: Mapping[str, re.Match[str]], chat: Sequence[CodeString]) -> Iterator[CodeString]:
    """Yield the system text that is given beside the messages: `system: SYSTEM`."""
    found = re.search(r"\b(?:system|systemPrompt|systemInstruction|instructions)\s*:\s*([A-Za-z_$][\w$]*|`|'|\")", text)
    if found is None or any(string.role in ("system", "developer") for string in chat):
        return
    string = _JS_STRING.match(text, found.start(1))
    if found[1] in constants:
        yield CodeString(
            name="system", parts=join_literals(_js_parts(f"${{{found[1]}}}", constants)), line=0, role="system"
        )
    elif string is not None:
        body = next((group for group in string.groups() if group is not None), "")
        yield CodeString(name="system", parts=join_literals(_js_parts(body, constants)), line=0, role="system")


def _js_list(text: str, match: re.Match[str]) -> str:
    """Return the words of a list of strings where they are put into a text, as in `${LABELS.join(", ")}`."""
    listed = re.search(rf"\b{re.escape(match['name'])}\s*(?::[^=\n]*)?=\s*\[([^\[\]]*)\]", text)
    words = [next(filter(None, one.groups()), "") for one in re.finditer(_JS_STRING, listed[1])] if listed else []
    return match["between"].join(words) if words else match.group()


def _is_joined(text: str, at: int) -> bool:
    """Whether the list that a place of the text stands in is made into one text."""
    closed = text.find("]", at)
    return closed >= 0 and re.match(r"\](?:\s*\.filter\(\w*\))?\s*\.join\(", text[closed:]) is not None


def _js_put_in(code: str, constants: Mapping[str, re.Match[str]]) -> Iterator[TemplatePart]:
    """Yield what stands between strings: the text of a constant, a field for another name, a line break for a comma."""
    for piece in re.findall(rf",|{_JS_NAME_PUT_IN}", code):
        if piece == ",":
            yield "\n"
        else:
            yield from _js_parts(f"${{{piece}}}", constants)


def _js_parts(body: str, constants: Mapping[str, re.Match[str]], depth: int = 0) -> Iterator[TemplatePart]:
    end = 0
    for match in re.finditer(r"(?<!\\)\$\{([^{}]*)\}", body):
        yield _js_text(body[end : match.start()])
        listed = re.fullmatch(r"\s*(\w+)\.join\((.*)\)\s*", match[1])
        constant = constants.get(match[1].strip())
        if constant is not None and depth < 5:
            written = next(group for group in constant.groups()[1:] if group is not None)
            yield from _js_parts(written, constants, depth + 1) if constant[2] is not None else (_js_text(written),)
        else:
            yield Field(listed[1] if listed else _last_name(match[1]))
        end = match.end()
    yield _js_text(body[end:])


def _js_text(body: str) -> str:
    return re.sub(r"\\(.)", lambda escape: _JS_ESCAPES.get(escape[1], escape[1]), body, flags=re.DOTALL)


def _choose(strings: Sequence[CodeString], wanted: str | None) -> tuple[TemplateMessage, ...]:
    """Return the one prompt among the strings; a system text before it where a name says so."""
    if wanted is not None:
        found = [string for string in strings if string.name == wanted]
        if not found:
            names = ", ".join(sorted({string.name for string in strings if string.name})) or "none"
            raise InputError(f"there is no string {wanted!r} in it", hint=f"its strings: {names}")
        return _as_messages(found[:1])
    prompts = [string for string in strings if string.has_fields and len(string) >= 20]
    prompts = prompts or [string for string in strings if string.has_fields and len(string) >= 5]
    if not prompts and wanted is None:
        prompts = [replace(one, parts=read_parts("".join(map(str, one.parts)))) for one in strings if len(one) >= 60]
        prompts = [string for string in prompts if string.has_fields]
    prompts = [string for at, string in enumerate(prompts) if all(string.parts != p.parts for p in prompts[:at])]
    prompts = [string for string in prompts if not any(_is_part(string, other) for other in prompts)]
    if not prompts:
        raise InputError("it holds no string with fields", hint="put the prompt into a text file with {field} in it")
    systems = [string for string in strings if re.search(r"(?i)system|instruction", string.name)]
    users = [string for string in prompts if string not in systems] or prompts
    judges = [string for string in users if _asks_for_verdict(string)]
    users = judges if len(judges) == 1 else users
    if len(users) != 1:
        lines = ", ".join(f"{string.name or 'a string'} (line {string.line})" for string in users or prompts)
        raise InputError(f"it holds several strings with fields: {lines}", hint="say which with --string NAME")
    return _as_messages([*systems, *users] if len(systems) == 1 and systems != users else users)


def _chat_asks_for_verdict(chat: Sequence[CodeString]) -> bool:
    parts = join_literals([part for message in chat for part in ("\n\n", *message.parts)])
    return _asks_for_verdict(CodeString(name="", parts=parts, line=0))


def _has_judge(tree: ast.AST, named: dict[str, ast.expr]) -> bool:
    """Whether any string with fields asks for a verdict."""
    return any(string.has_fields and _asks_for_verdict(string) for string in _python_strings(tree, named))


def _asks_for_verdict(string: CodeString) -> bool:
    """Whether a string says how to answer: another of its file may have a model write what is judged."""
    text = plain_marks("".join(part if isinstance(part, str) else FIELD for part in string.parts))
    units = read_units(text)
    answer = read_answer(words_on_answer(text, units), without_rows(text, units).replace(FIELD, ""))
    return answer.scale is not None or bool(answer.questions)


def fixed_arguments(text: str) -> dict[str, str]:
    """Return the fields of a Python file's prompts that it fills with a constant of its own wherever it fills them."""
    tree = ast.parse(text)
    constants = {
        name: str(value.value)
        for name, value in constants_of(tree).items()
        if name.isupper() and isinstance(value, ast.Constant)
    }
    fixed: dict[str, str] = {}
    varying: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in ("format", "substitute", "render"):
            continue
        for argument in node.keywords:
            if argument.arg and isinstance(argument.value, ast.Name) and argument.value.id in constants:
                fixed[argument.arg] = constants[argument.value.id]
            elif argument.arg:
                varying.add(argument.arg)
    return {name: value for name, value in fixed.items() if name not in varying}


def _is_part(string: CodeString, other: CodeString) -> bool:
    """Whether a string is a piece of another one, which is put together from it."""
    texts = ["".join(p if isinstance(p, str) else "\ufffc" for p in one.parts).strip() for one in (string, other)]
    return len(texts[0]) < len(texts[1]) and texts[0] in texts[1]


def _as_messages(strings: Sequence[CodeString]) -> tuple[TemplateMessage, ...]:
    messages: list[TemplateMessage] = []
    for at, string in enumerate(strings):
        role = ROLES.get(string.role) or ("user" if at == len(strings) - 1 else "system")
        messages.append(TemplateMessage(role=role, parts=string.parts))
    return tuple(messages)
