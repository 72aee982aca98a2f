"""The strings of a Python file that may be its prompt; the file is parsed, and nothing of it is
run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from ...judges import InputError
from ..exports.template_parts import Field, TemplatePart, join_literals
from .code_strings import CodePrompt, CodeString, Parts, prompts_of
from .jinja_templates import one_field, read_computed_jinja
from .messages import ROLES
from .replaced_marks import python_marks, with_marks
from .template_syntaxes import read_dollar, read_loose

_DEEPEST = 20
_SAME_WORDS = (
    "format",
    "strip",
    "lstrip",
    "rstrip",
    "render",
    "substitute",
    "safe_substitute",
    "replace",
)
"""Methods of a text whose words stay as they are."""
_SYSTEM_ARGUMENTS = ("system", "system_prompt", "system_instruction", "instructions")


def read_python(tree: ast.Module, wanted: str | None, notes: list[str]) -> list[CodePrompt]:
    """Read the prompts of a Python file: the messages that are built in it, and its strings with
    fields.

    Args:
        tree: The file.
        wanted: The name of the one to take.
        notes: Takes what of its templates was settled, in whole sentences.

    Raises:
        InputError: It holds none.
    """
    strings = PythonStrings(tree)
    lists = [node for node in ast.walk(tree) if isinstance(node, ast.List)]
    chats = [
        [*strings.system_with(node, chat), *chat] for node in lists if (chat := strings.chat(node))
    ]
    marks = python_marks(tree, strings.named)
    chats = [
        [replace(string, parts=with_marks(string.parts, marks)) for string in chat]
        for chat in chats
    ]
    marked = [replace(string, parts=with_marks(string.parts, marks)) for string in strings.all()]
    try:
        prompts = prompts_of(chats, marked, wanted, lambda _: None)
    except InputError:
        if strings.refused is not None:
            raise strings.refused from None
        raise
    notes += strings.notes
    return prompts


def _is_name(node: ast.expr) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def constants_of(tree: ast.AST) -> dict[str, ast.expr]:
    """Return what each name is assigned."""
    named: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_name(node.targets[0]):
            named[node.targets[0].id] = node.value
        if isinstance(node, ast.AnnAssign) and _is_name(node.target) and node.value is not None:
            named[node.target.id] = node.value
        if isinstance(node, ast.AugAssign) and isinstance(
            named.get(ast.unparse(node.target)), ast.List
        ):
            _grow(named, node.target, node.value)
        elif isinstance(node, ast.AugAssign) and _is_name(node.target) and node.target.id in named:
            whole = ast.BinOp(left=named[node.target.id], op=node.op, right=node.value)
            named[node.target.id] = ast.copy_location(whole, node)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
            and len(node.args) == 1
        ):
            _grow(named, node.func.value, node.args[0])
    return named


def _grow(named: dict[str, ast.expr], target: ast.expr, more: ast.expr) -> None:
    """Put what is appended to a list of texts into the list."""
    listed = named.get(target.id) if _is_name(target) else None
    if not _is_name(target) or not isinstance(listed, ast.List):
        return
    added = more.elts if isinstance(more, ast.List | ast.Tuple) else [more]
    named[target.id] = ast.copy_location(
        ast.List(elts=[*listed.elts, *added], ctx=ast.Load()), listed
    )


class PythonStrings:
    """The texts of a Python file, each as large as it can be told."""

    def __init__(self, tree: ast.AST) -> None:
        self._tree = tree
        self.named = constants_of(tree)
        self._functions = {
            node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
        }
        self.notes: list[str] = []
        """What of Jinja templates was settled, in whole sentences."""
        self.refused: InputError | None = None
        """Why a template that computes something is no text."""

    def all(self) -> list[CodeString]:
        """Return every text, those that grow with `+=` as a whole too."""
        nodes = (node for node in ast.walk(self._tree) if isinstance(node, ast.AugAssign))
        grown = sorted(
            {node.target.id for node in nodes if _is_name(node.target)} & self.named.keys()
        )
        whole = [
            CodeString(name=name, parts=parts, line=self.named[name].lineno)
            for name in grown
            if (parts := self.parts(self.named[name]))
        ]
        return [*self._under(self._tree, ""), *whole]

    def _under(self, node: ast.AST, name: str) -> Iterator[CodeString]:
        """Yield the texts of a tree by the name, key or argument that each is given to."""
        if (
            isinstance(node, ast.expr)
            and not isinstance(node, ast.Name)
            and (parts := self.parts(node))
        ):
            yield CodeString(name=name, parts=parts, line=node.lineno)
            return
        keys: dict[ast.AST, ast.expr | None] = {}
        if isinstance(node, ast.Dict):
            keys = dict(zip(node.values, node.keys, strict=True))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue  # a docstring
            if isinstance(node, ast.Dict) and child in keys:
                key = keys[child]
                yield from self._under(
                    child, str(key.value) if isinstance(key, ast.Constant) else name
                )
            elif isinstance(node, ast.Assign | ast.AnnAssign) and child is node.value:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                yield from self._under(child, target.id if _is_name(target) else name)
            elif isinstance(node, ast.FunctionDef) and isinstance(child, ast.Return):
                yield from self._under(child, node.name)
            elif isinstance(node, ast.Return):
                yield from self._under(child, name)
            else:
                yield from self._under(
                    child, "" if isinstance(child, ast.keyword | ast.stmt) else name
                )

    def chat(self, node: ast.List) -> list[CodeString]:
        """Return the messages of a list of `role` and `content`; empty where it is none, or one
        cannot be told.
        """
        chat: list[CodeString] = []
        for item in self._items(node):
            role, content = _role_and_content(item)
            parts = self.parts(content) if role and content is not None else ()
            if content is None or not parts:
                return []
            names = [
                n.id
                for n in ast.walk(content)
                if isinstance(n, ast.Name) and n.id in {*self.named, *self._functions}
            ]
            chat.append(
                CodeString(name=next(iter(names), ""), parts=parts, line=item.lineno, role=role)
            )
        return chat

    def _items(self, node: ast.List) -> Iterator[ast.expr]:
        """Yield what stands in a list, and in a list that is put into it: `[system, *EXAMPLES,
        user]`.
        """
        for item in node.elts:
            inner = (
                self.named.get(ast.unparse(item.value)) if isinstance(item, ast.Starred) else None
            )
            yield from inner.elts if isinstance(inner, ast.List) else [item]

    def system_with(self, messages: ast.List, chat: Sequence[CodeString]) -> list[CodeString]:
        """Return the system text that is given beside a list of messages, as some clients want
        it.
        """
        if any(ROLES.get(string.role) == "system" for string in chat):
            return []
        calls = [node for node in ast.walk(self._tree) if isinstance(node, ast.Call)]
        sends = [
            call for call in calls if any(keyword.value is messages for keyword in call.keywords)
        ]
        for call in sends or calls:
            for keyword in call.keywords:
                if keyword.arg in _SYSTEM_ARGUMENTS and (parts := self.parts(keyword.value)):
                    return [
                        CodeString(name="", parts=parts, line=keyword.value.lineno, role="system")
                    ]
        return []

    def parts(self, node: ast.expr, depth: int = 0) -> Parts:
        """Return the text of an expression with its fields; empty where it is no text that can be
        told.
        """
        if depth > _DEEPEST:
            return ()
        if isinstance(node, ast.Constant):
            return (
                self._template(node.value)
                if isinstance(node.value, str) and node.value.strip()
                else ()
            )
        if isinstance(node, ast.JoinedStr):
            parts: list[TemplatePart] = []
            for value in node.values:
                if isinstance(value, ast.Constant):
                    parts.append(str(value.value))
                elif isinstance(value, ast.FormattedValue):
                    parts += self._value(value.value, depth)
            return join_literals(parts)
        if isinstance(node, ast.Name):
            return self.parts(self.named[node.id], depth + 1) if node.id in self.named else ()
        if (
            isinstance(node, ast.Attribute)
            and _is_name(node.value)
            and node.value.id in ("self", "cls")
        ):
            return self.parts(self.named[node.attr], depth + 1) if node.attr in self.named else ()
        if isinstance(node, ast.Subscript) and (kept := self._kept(node)) is not None:
            return self.parts(kept, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = [
                self.parts(side, depth + 1) or tuple(self._value(side, depth))
                for side in (node.left, node.right)
            ]
            return join_literals([*sides[0], *sides[1]]) if all(sides) else ()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return self._percent(self.parts(node.left, depth + 1), node.right, depth)
        return self._called(node, depth) if isinstance(node, ast.Call) else ()

    def constant(self, node: ast.expr) -> str:
        """Return the text of a name in capitals, whatever it is put together from; empty where it
        has a field.
        """
        if not _is_name(node) or not node.id.isupper() or node.id not in self.named:
            return ""
        value = self.named[node.id]
        parts = (
            [str(value.value)]
            if isinstance(value, ast.Constant)
            else self.parts(value) or self._value(value, 0)
        )
        return (
            "".join(part for part in parts if isinstance(part, str))
            if all(isinstance(p, str) for p in parts)
            else ""
        )

    def _kept(self, node: ast.Subscript) -> ast.expr | None:
        """Return what a dictionary of the file holds under a key."""
        held = self.named.get(node.value.id) if _is_name(node.value) else None
        if not isinstance(held, ast.Dict) or not isinstance(node.slice, ast.Constant):
            return None
        pairs = zip(held.keys, held.values, strict=True)
        wanted = node.slice.value
        return next(
            (
                value
                for key, value in pairs
                if isinstance(key, ast.Constant) and key.value == wanted
            ),
            None,
        )

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
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _SAME_WORDS:
                return self.parts(node.func.value, depth + 1)
            if node.func.attr == "join" and node.args:
                listed = self.named.get(node.args[0].id) if _is_name(node.args[0]) else node.args[0]
                if isinstance(listed, ast.List | ast.Tuple):
                    return self._joined(node.func.value, listed.elts, depth)
            if (
                node.func.attr in ("dedent", "cleandoc", "from_template", "from_string", "Template")
                and node.args
            ):
                return self.parts(node.args[0], depth + 1)
        if not _is_name(node.func):
            return ()
        if function := self._functions.get(node.func.id):
            texts = [
                n.value
                for n in ast.walk(function)
                if isinstance(n, ast.Return) and n.value is not None
            ]
            return self.parts(texts[0], depth + 1) if len(texts) == 1 else ()
        if not node.args:
            return ()
        text = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        if node.func.id == "Template" and isinstance(text, str) and "{{" not in text:
            return read_dollar(text)
        wraps = node.func.id in ("dedent", "cleandoc", "Template", "PromptTemplate", "str")
        return self.parts(node.args[0], depth + 1) if wraps else ()

    def _joined(self, between: ast.expr, pieces: Sequence[ast.expr], depth: int) -> Parts:
        """Return the text of pieces with what is put between them."""
        if not isinstance(between, ast.Constant) or not isinstance(between.value, str):
            return ()
        parts: list[TemplatePart] = []
        for piece in pieces:
            empty = isinstance(piece, ast.Constant) and not str(piece.value).strip()
            told = () if empty else self.parts(piece, depth + 1) or self._value(piece, depth)
            parts += [*([between.value] if parts else []), *told]
        return (
            join_literals(parts)
            if any(isinstance(part, str) and part.strip() for part in parts)
            else ()
        )

    def _percent(self, parts: Parts, right: ast.expr, depth: int) -> Parts:
        """Put the values after `%` into the places of `%s` and `%(name)s`; empty where they do not
        fit.
        """
        values = list(right.elts) if isinstance(right, ast.Tuple) else [right]
        pieces = re.split(
            r"%(?:\((\w+)\))?[sdr]", "".join(part for part in parts if isinstance(part, str))
        )
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

    def _looped(self, node: ast.expr, depth: int) -> Parts:
        """Return what a loop over a list of constants writes, as `"\\n".join(f"{n}. {rule}" for n,
        rule in ...)`.
        """
        match node:
            case ast.Call(
                func=ast.Attribute(value=joint, attr="join"),
                args=[
                    ast.GeneratorExp(elt=text, generators=[loop])
                    | ast.ListComp(elt=text, generators=[loop])
                ],
            ) if not loop.ifs:
                between = str(joint.value) if isinstance(joint, ast.Constant) else "\n"  # chr(10)
            case _:
                return ()
        counted = isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "enumerate"
        listed = loop.iter.args[0] if isinstance(loop.iter, ast.Call) and counted else loop.iter
        listed = self.named.get(listed.id) if _is_name(listed) else listed
        names = ast.unparse(loop.target).strip("()").split(", ")
        if not isinstance(listed, ast.List | ast.Tuple) or len(names) != 1 + counted:
            return ()
        first = (
            loop.iter.args[1:] + [k.value for k in loop.iter.keywords]
            if isinstance(loop.iter, ast.Call)
            else []
        )
        number = first[0].value if first and isinstance(first[0], ast.Constant) else 0
        outer = self.named
        parts: list[TemplatePart] = []
        for at, item in enumerate(listed.elts, start=number if isinstance(number, int) else 0):
            self.named = {**outer, names[-1]: item} | (
                {names[0]: ast.Constant(value=str(at))} if counted else {}
            )
            parts += [*([between] if parts else []), *self.parts(text, depth + 1)]
        self.named = outer
        return join_literals(parts)

    def _value(self, node: ast.expr, depth: int) -> list[TemplatePart]:
        """Return what stands in a place of an f-string: a constant's own text, else what of the row
        it shows.
        """
        if isinstance(node, ast.Constant):
            return [str(node.value)]
        if (
            isinstance(node, ast.BinOp)
            and _is_name(node.left)
            and isinstance(node.right, ast.Constant)
        ):
            number = self.named.get(node.left.id)  # "{i + 1}. {rule}"
            if (
                isinstance(number, ast.Constant)
                and str(number.value).isdigit()
                and isinstance(node.op, ast.Add)
            ):
                return [str(int(str(number.value)) + int(str(node.right.value)))]
        name = (
            node.id
            if isinstance(node, ast.Name)
            else node.attr
            if isinstance(node, ast.Attribute)
            else ""
        )
        known = ast.unparse(node) in (name, f"self.{name}", f"cls.{name}") and isinstance(
            self.named.get(name), ast.Constant | ast.JoinedStr
        )
        known = known or (isinstance(node, ast.Subscript) and self._kept(node) is not None)
        told = known or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".join"))
        if told and (parts := self.parts(node, depth + 1)):
            return list(parts)
        if written := self._looped(self.named.get(name, node), depth):
            return list(written)
        if any(isinstance(inner, ast.GeneratorExp | ast.ListComp) for inner in ast.walk(node)):
            self.notes.append(one_field(shown_by(node)))
        return [Field(shown_by(node))]


def _role_and_content(node: ast.expr) -> tuple[str, ast.expr | None]:
    """Return role and content of a message: a dictionary, a pair, or an object of LangChain's;
    empty for none.
    """
    if isinstance(node, ast.Dict):
        body = {
            key.value: value
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
        }
        role = body.get("role")
        return (str(role.value) if isinstance(role, ast.Constant) else ""), body.get("content")
    if (
        isinstance(node, ast.Tuple)
        and len(node.elts) == 2
        and isinstance(node.elts[0], ast.Constant)
    ):
        role = str(node.elts[0].value)
        return (role if role in ROLES else ""), node.elts[1]
    if isinstance(node, ast.Call):
        match = re.search(
            r"(System|Human|User|AI|Assistant)Message(?:PromptTemplate)?\b", ast.unparse(node.func)
        )
        content = next(
            (k.value for k in node.keywords if k.arg in ("content", "template", "prompt")), None
        )
        return (match[1].lower() if match else ""), content or next(iter(node.args), None)
    return "", None


def shown_by(node: ast.expr) -> str:
    """Return what of a row an expression shows: `answer` of `row["answer"].strip()`, `docs` of
    `json.dumps(docs)`.
    """
    match node:
        case (
            ast.Name(id=name)
            | ast.Attribute(attr=name)
            | ast.Subscript(slice=ast.Constant(value=str(name)))
        ):
            return name
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name  # row.get("log", "none")
        case ast.Call(func=ast.Attribute(value=ast.expr() as owner, attr=method), args=arguments):
            formats = arguments and not isinstance(arguments[0], ast.Constant)
            return shown_by(
                arguments[0]
                if formats and (method == "join" or not hasattr(str, method))
                else owner
            )
        case ast.Call(args=[first, *_]):
            return shown_by(first)
        case (
            ast.Call(func=inner)
            | ast.Subscript(value=inner)
            | ast.Await(value=inner)
            | ast.Starred(value=inner)
        ):
            return shown_by(inner)
        case ast.GeneratorExp(generators=[loop, *_]) | ast.ListComp(generators=[loop, *_]):
            return shown_by(loop.iter)
        case ast.BoolOp(values=[first, *_]) | ast.Compare(left=first):
            return shown_by(first)
        case ast.IfExp(body=first, orelse=other):
            return shown_by(other if isinstance(first, ast.Constant) else first)
        case _:
            names = re.findall(r"[A-Za-z_]\w*", ast.unparse(node))
            return names[-1] if names else "value"


def fixed_arguments(tree: ast.Module) -> dict[str, str]:
    """Return the fields of a Python file's prompts that it fills with a constant text wherever it
    fills them.
    """
    strings = PythonStrings(tree)
    fixed: dict[str, str] = {}
    varying: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in ("format", "substitute", "render"):
            continue
        for argument in node.keywords:
            text = strings.constant(argument.value)
            if argument.arg and text:
                fixed[argument.arg] = text
            elif argument.arg:
                varying.add(argument.arg)
    return {name: value for name, value in fixed.items() if name not in varying}
