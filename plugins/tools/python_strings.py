"""The strings of a Python file that may be its prompt; the file is parsed, and nothing of it is
run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from ...judges import InputError
from ...runs.exports import Field, TemplatePart, join_literals
from ...runs.imports import ROLES, Parts, cut, one_field, read_computed_jinja, read_loose
from .code_strings import CodeString

_DEEPEST = 20
_SAME_WORDS = ("format", "strip", "lstrip", "rstrip", "render", "substitute", "safe_substitute")
"""Methods of a text whose words stay as they are."""
_WRAPS = ("dedent", "cleandoc", "Template", "PromptTemplate", "str", "from_template", "from_string")
_SYSTEM_ARGUMENTS = ("system", "system_prompt", "system_instruction", "instructions")
_MESSAGE = re.compile(r"(System|Human|User|AI|Assistant)Message(?:PromptTemplate)?\b")
_DOLLAR = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_PLACE = re.compile(r"%(?:\((\w+)\))?[sdr]")


def read_dollar(text: str) -> Parts:
    """Read a `string.Template`: `$name` and `${name}`; `$$` is a dollar."""
    parts = cut(_DOLLAR, text.replace("$$", "\ue000"))
    return tuple(p.replace("\ue000", "$") if isinstance(p, str) else p for p in parts)


def _is_name(node: ast.expr | None) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _constants_of(tree: ast.AST) -> dict[str, ast.expr]:
    """Return what each name is assigned, with what is added to it by `+=`."""
    named: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_name(node.targets[0]):
            named[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and _is_name(node.target) and node.value is not None:
            named[node.target.id] = node.value
        elif isinstance(node, ast.AugAssign) and _is_name(node.target) and node.target.id in named:
            longer = ast.BinOp(left=named[node.target.id], op=node.op, right=node.value)
            named[node.target.id] = ast.copy_location(longer, node)
    return named


class PythonStrings:
    """The texts of a Python file, each as large as it can be told."""

    def __init__(self, tree: ast.AST) -> None:
        self._tree = tree
        self.named = _constants_of(tree)
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        self._functions = {node.name: node for node in functions}
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        self._sent_by = {k.value: call for call in calls for k in call.keywords}
        """The call that each value is an argument of."""
        self.notes: list[str] = []
        """What of templates was settled, in whole sentences."""
        self.refused: InputError | None = None
        """Why a template that computes something is no text."""

    def strings(self) -> list[CodeString]:
        """Return every text by the name, key or argument that it is given to."""
        grown = [
            CodeString(name=name, parts=parts, line=node.lineno)
            for name, node in self.named.items()
            if isinstance(node, ast.BinOp) and (parts := self.parts(node))
        ]
        return [*self._under(self._tree, ""), *grown]

    def chats(self) -> list[list[CodeString]]:
        """Return the lists of `role` and `content`, each with the system text beside it."""
        lists = (node for node in ast.walk(self._tree) if isinstance(node, ast.List))
        chats = ((node, self._chat(node)) for node in lists)
        return [[*self._system_beside(node, chat), *chat] for node, chat in chats if chat]

    def _under(self, node: ast.AST, name: str) -> Iterator[CodeString]:
        if isinstance(node, ast.expr) and not _is_name(node) and (parts := self.parts(node)):
            yield CodeString(name=name, parts=parts, line=node.lineno)
            return
        for child, inner_name in _children(node, name):
            yield from self._under(child, inner_name)

    def _chat(self, node: ast.List) -> list[CodeString]:
        """Return the messages of a list; empty where it is none, or one cannot be told."""
        chat: list[CodeString] = []
        for item in self._items(node):
            role, content = _role_and_content(item)
            parts = self.parts(content) if role and content is not None else ()
            if content is None or not parts:
                return []
            defined_names = {*self.named, *self._functions}
            names = [n.id for n in ast.walk(content) if _is_name_node(n) and n.id in defined_names]
            name = next(iter(names), "")
            chat.append(CodeString(name=name, parts=parts, line=item.lineno, role=role))
        return chat

    def _items(self, node: ast.List) -> Iterator[ast.expr]:
        """Yield what stands in a list, and in a list that is put into it."""
        for item in node.elts:
            starred = item.value if isinstance(item, ast.Starred) else None
            inner = self.named.get(starred.id) if _is_name(starred) else None
            yield from inner.elts if isinstance(inner, ast.List) else [item]

    def _system_beside(self, messages: ast.List, chat: Sequence[CodeString]) -> list[CodeString]:
        """Return the system text that is given in the call that sends a list of messages."""
        if any(ROLES.get(string.role) == "system" for string in chat):
            return []
        call = self._sent_by.get(messages)
        for keyword in call.keywords if call else ():
            if keyword.arg in _SYSTEM_ARGUMENTS and (parts := self.parts(keyword.value)):
                line = keyword.value.lineno
                return [CodeString(name="", parts=parts, line=line, role="system")]
        return []

    def parts(self, node: ast.expr | None, depth: int = 0) -> Parts:
        """Return the text of an expression with its fields; empty where it is no text."""
        if depth > _DEEPEST:
            return ()
        match node:
            case ast.Constant(value=str(text)) if text.strip():
                return self._template(text)
            case ast.JoinedStr(values=values):
                return join_literals(part for v in values for part in self._piece(v, depth))
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                return self.parts(self.named.get(name), depth + 1)
            case ast.Subscript():
                return self.parts(self._entry(node), depth + 1)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                sides = [self.parts(side, depth + 1) for side in (left, right)]
                if not any(sides):
                    return ()
                return join_literals(
                    part
                    for side, parts in zip((left, right), sides, strict=True)
                    for part in parts or self._value(side, depth)
                )
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return self._percent(self.parts(left, depth + 1), right, depth)
            case ast.Call():
                return self._called(node, depth)
            case _:
                return ()

    def _entry(self, node: ast.Subscript) -> ast.expr | None:
        """Return what a dictionary of the file holds under a key."""
        held = self.named.get(node.value.id) if _is_name(node.value) else None
        if not isinstance(held, ast.Dict) or not isinstance(node.slice, ast.Constant):
            return None
        for key, value in zip(held.keys, held.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == node.slice.value:
                return value
        return None

    def _template(self, text: str) -> Parts:
        """Read a text that may be a Jinja template; one that computes something is no text."""
        if "{%" not in text:
            return read_loose(text)
        try:
            return read_computed_jinja(text, self.notes)
        except InputError as error:
            self.refused = error
            return ()

    def _called(self, node: ast.Call, depth: int) -> Parts:
        """Return the text that a call makes: a method of a text, a class of templates, a function
        of the file.
        """
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        first = node.args[0] if node.args else None
        if isinstance(node.func, ast.Attribute):
            if called in _SAME_WORDS:
                return self.parts(node.func.value, depth + 1)
            if called == "join" and first is not None:
                return self._joined(node.func.value, first, depth)
        elif function := self._functions.get(called):
            returns = (n for n in ast.walk(function) if isinstance(n, ast.Return))
            texts = [n.value for n in returns if n.value is not None]
            return self.parts(texts[0], depth + 1) if len(texts) == 1 else ()
        if (
            called == "Template"
            and isinstance(first, ast.Constant)
            and "{{" not in str(first.value)
        ):
            return read_dollar(str(first.value))
        return self.parts(first, depth + 1) if called in _WRAPS else ()

    def _joined(self, between: ast.expr, listed: ast.expr, depth: int) -> Parts:
        """Return the text of a list of texts with what is put between them."""
        listed = self.named.get(listed.id, listed) if _is_name(listed) else listed
        if not isinstance(listed, ast.List | ast.Tuple) or not isinstance(between, ast.Constant):
            return ()
        parts: list[TemplatePart] = []
        for piece in listed.elts:
            empty = isinstance(piece, ast.Constant) and not str(piece.value).strip()
            text = () if empty else self.parts(piece, depth + 1) or self._value(piece, depth)
            parts += [*([str(between.value)] if parts else []), *text]
        has_words = any(isinstance(part, str) and part.strip() for part in parts)
        return join_literals(parts) if has_words else ()

    def _percent(self, parts: Parts, right: ast.expr, depth: int) -> Parts:
        """Put the values after `%` into the places of `%s` and `%(name)s`; empty where they do not
        fit.
        """
        values = list(right.elts) if isinstance(right, ast.Tuple) else [right]
        pieces = _PLACE.split("".join(part for part in parts if isinstance(part, str)))
        texts, names = pieces[::2], pieces[1::2]
        if not names or not all(isinstance(part, str) for part in parts):
            return parts
        if not all(names) and len(names) != len(values):
            return ()
        filled: list[TemplatePart] = [texts[0].replace("%%", "%")]
        for at, (name, text) in enumerate(zip(names, texts[1:], strict=True)):
            filled += [Field(name)] if name else self._value(values[at], depth)
            filled.append(text.replace("%%", "%"))
        return join_literals(filled)

    def _piece(self, node: ast.expr, depth: int) -> list[TemplatePart]:
        """Return a piece of an f-string: its own words, or what stands in a place of it."""
        if isinstance(node, ast.FormattedValue):
            return self._value(node.value, depth)
        return [str(node.value)] if isinstance(node, ast.Constant) else []

    def _value(self, node: ast.expr, depth: int) -> list[TemplatePart]:
        """Return what an expression puts into a text: a constant's own text, else a field."""
        if isinstance(node, ast.Constant):
            return [str(node.value)]
        value = self.named.get(node.id) if _is_name(node) else None
        if isinstance(value, ast.Constant):
            return [str(value.value)]
        of_call = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".join")
        fixed = value is not None and not isinstance(value, ast.Call | ast.Subscript)
        attribute = isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls")
        entry = isinstance(node, ast.Subscript) and self._entry(node) is not None
        if (of_call or fixed or attribute or entry) and (parts := self.parts(node, depth + 1)):
            return list(parts)
        if any(isinstance(inner, ast.GeneratorExp | ast.ListComp) for inner in ast.walk(node)):
            self.notes.append(one_field(_shown_by(node)))
        return [Field(_shown_by(node))]


def _is_name_node(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _children(node: ast.AST, name: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield what stands in a piece of code, each with the name that it is given to."""
    keys: dict[ast.AST, str] = {}
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            keys[value] = str(key.value) if isinstance(key, ast.Constant) else name
    for child in ast.iter_child_nodes(node):
        docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if docstring or isinstance(child, ast.arguments):
            continue
        if child in keys:
            yield child, keys[child]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and child is node.value:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield child, target.id if _is_name(target) else name
        elif isinstance(node, ast.FunctionDef) and isinstance(child, ast.Return):
            yield child, node.name
        elif isinstance(child, ast.keyword):
            yield child, child.arg or ""
        else:
            yield child, "" if isinstance(child, ast.stmt) else name


def _role_and_content(node: ast.expr) -> tuple[str, ast.expr | None]:
    """Return role and content of a message: a dictionary, a pair, or an object of LangChain's;
    empty for none.
    """
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            body = {key.value: value for key, value in pairs if isinstance(key, ast.Constant)}
            role = body.get("role")
            return (str(role.value) if isinstance(role, ast.Constant) else ""), body.get("content")
        case ast.Tuple(elts=[ast.Constant(value=str(role)), content]) if role in ROLES:
            return role, content
        case ast.Call(func=function, args=arguments, keywords=keywords):
            match = _MESSAGE.search(ast.unparse(function))
            texts = [k.value for k in keywords if k.arg in ("content", "template", "prompt")]
            content = next(iter([*texts, *arguments]), None)
            return (match[1].lower() if match else ""), content
        case _:
            return "", None


def _shown_by(node: ast.expr) -> str:
    """Return what of a row an expression shows: `answer` of `row["answer"].strip()`, `docs` of
    `json.dumps(docs)`.
    """
    match node:
        case (
            ast.Name(id=name)
            | ast.Attribute(attr=name)
            | ast.Subscript(slice=ast.Constant(value=str(name)))
            | ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_])
        ):
            return name
        case ast.Call(func=ast.Attribute(value=ast.expr() as owner, attr=method), args=arguments):
            formats = arguments and not isinstance(arguments[0], ast.Constant)
            of_argument = formats and (method == "join" or not hasattr(str, method))
            return _shown_by(arguments[0] if of_argument else owner)
        case (
            ast.Call(args=[inner, *_])
            | ast.Call(func=inner)
            | ast.Subscript(value=inner)
            | ast.Await(value=inner)
            | ast.Starred(value=inner)
            | ast.BoolOp(values=[inner, *_])
            | ast.Compare(left=inner)
        ):
            return _shown_by(inner)
        case (
            ast.GeneratorExp(generators=[ast.comprehension(iter=inner), *_])
            | ast.ListComp(generators=[ast.comprehension(iter=inner), *_])
        ):
            return _shown_by(inner)
        case ast.IfExp(body=first, orelse=other):
            return _shown_by(other if isinstance(first, ast.Constant) else first)
        case _:
            names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
            return names[-1] if names else "value"


def fixed_arguments(tree: ast.Module) -> dict[str, str]:
    """Return the fields of a Python file's prompts that it fills with a constant text wherever it
    fills them.
    """
    strings = PythonStrings(tree)
    texts: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="format" | "substitute" | "render")):
                for argument in node.keywords:
                    texts.setdefault(argument.arg or "", set()).add(_fixed(argument.value, strings))
            case _:
                pass
    return {
        name: next(iter(values))
        for name, values in texts.items()
        if name and len(values) == 1 and all(values)
    }


def _fixed(node: ast.expr, strings: PythonStrings) -> str:
    """Return the text of a name in capitals; empty where it is none, or has a field."""
    if not _is_name(node) or not node.id.isupper() or node.id not in strings.named:
        return ""
    value = strings.named[node.id]
    if isinstance(value, ast.Constant):
        return str(value.value)
    parts = strings.parts(value)
    return "".join(map(str, parts)) if all(isinstance(part, str) for part in parts) else ""
