"""Where the text of a row goes in a person's prompt, whatever syntax its placeholders are in."""

from __future__ import annotations

import re

from ..exports.template_parts import Field, TemplatePart, join_literals
from .jinja_templates import read_computed_jinja
from .prompt_words import words_of
from .stated_labels import TEXTS
from .template_syntaxes import read_loose

Parts = tuple[TemplatePart, ...]

_DOLLAR = r"(?<![\w$\\])\$([A-Za-z_]\w*)"
_SHORTENED = re.compile(
    r"\{\{-?\s*([\w.]+)\s*\|\s*((?:truncate|trim|strip|string|e|escape|safe|raw|nl2br|dump)\b[^{}|]*?)\s*-?\}\}"
)
"""A field of a Jinja template with a filter that leaves its words alone."""
_CONVERTED = re.compile(r"(?<!\{)\{([A-Za-z_][\w.]*)(![rsa])?(:[^{}\s\"']{1,8})?\}(?!\})")
"""A field of an f-string with a conversion or a format."""
_HANDLEBARS = (
    (r"\{\{![\s\S]*?\}\}\n?", ""),
    (r"\{\{\{\s*([\w.]+)\s*\}\}\}", r"{{\1}}"),
    (r"\{\{#\s*([\w.]+)\s*#\}\}", r"{{\1}}"),  # Dify
    (r"\{\{\s*[.$@&]([\w.]+)\s*\}\}", r"{{\1}}"),  # Go, Semantic Kernel, n8n
    (r"\{\{\s*(?:json|trim|toJSON)\s+([\w.]+)\s*\}\}", r"{{\1}}"),
    (r"\{\{[#^]\s*(?:if|with)\s+([\w.]+)\s*\}\}", r"{% if \1 %}"),
    (r"\{\{[#^]\s*unless\s+([\w.]+)\s*\}\}", r"{% if not \1 %}"),
    (r"\{\{#\s*each\s+([\w.]+)\s*\}\}", r"{% for this in \1 %}"),
    (r"\{\{\s*/each\s*\}\}", "{% endfor %}"),
    (r"\{\{#\s*([\w.]+)\s*\}\}", r"{% if \1 %}"),
    (r"\{\{\^\s*([\w.]+)\s*\}\}", r"{% if not \1 %}"),
    (r"\{\{\s*else\s*\}\}", "{% else %}"),
    (r"\{\{\s*/\s*[\w.]+\s*\}\}", "{% endif %}"),
)
"""Tags of Handlebars, Mustache and their like, as Jinja writes them."""
_UNUSUAL = (
    r"<%[=-]?\s*([\w.]+)\s*%>",
    r"\{\{\s*([^\W\d][\w -]{2,40}?)\s*\}\}",
    r"\{/?([^\W\d][\w -]{2,40}?)\}",
    r"%(\w{3,40})%",
    r"##(\w{3,40})##",
    r"(?<!\w)__([^\W_]\w{1,40}?)__(?!\w)",
    r"\[\[\s*([^\W\d][\w -]{2,40}?)\s*\]\]",
    r"\[(?:insert |paste |the |your )*([^\W\d][\w -]{2,40}?)(?: here| goes here)?\]",
    r"<(?:insert |paste |the |your )*([^\W\d][\w -]{2,40}?)(?: here| goes here)?>",
    r"(?<![\w@])@(\w{3,40})",
    r"(?<=\s):([a-z]\w{2,40})",
    r"\{(\d)\}",
    r"%([sdv])(?!\w)",
)
"""What may be a field where no usual syntax has one: only where the text of a row can stand."""


def read_parts(text: str, notes: list[str]) -> Parts:
    """Read a text in the syntax it seems to be in: Jinja, Mustache, f-string, `${a}`, `%(a)s` or
    `<<a>>`.

    Args:
        text: The text.
        notes: Takes what of a Jinja template was settled, in whole sentences.

    Raises:
        InputError: The template computes something.
    """
    text = re.sub(
        r"(?<!\{)\{#-?.*?-?#\}\n?", "", text, flags=re.DOTALL
    )  # a Jinja comment is never sent
    text = re.sub(_SHORTENED, lambda match: _without_filter(match, notes), text)
    for tag, jinja in _HANDLEBARS:
        text = re.sub(tag, jinja, text)
    if re.search(
        r"\{%|\{\{(?!\s*[\"'][^\"'\n]*[\"']\s*:)[^{}]*[|(][^{}]*\}\}", text
    ):  # not the JSON of an f-string
        return read_computed_jinja(text.strip("\n"), notes)
    text = text.strip("\n")
    if not re.search(r"\{\{\s*[\w.]+\s*\}\}", text):
        text = re.sub(_CONVERTED, r"{\1}", text)
        for syntax in (
            r"(?<![\w$\\])\$\{?([A-Za-z_]\w*)\}?" if "${" in text else r"\$\{(\w+)\}",
            r"%\((\w+)\)s",
            r"<<\s*(\w+)\s*>>",
            r"\\\((\w+)\)",
        ):
            if re.search(syntax, text):
                return _cut(syntax, text.replace("%%", "%") if syntax.startswith("%") else text)
    parts = read_loose(text)
    if any(isinstance(part, Field) for part in parts):
        return parts
    return _cut(_DOLLAR, text) if len(set(re.findall(_DOLLAR, text))) > 1 else parts


def read_unusual(text: str, notes: list[str]) -> Parts:
    """Read a text without any usual field: `[REPLY]`, `<question>`, `%answer%` alone on a line or
    after a label.

    Args:
        text: The text.
        notes: Takes what looks like one of these fields and is left as text, in whole sentences.
    """
    found = [(syntax, _places(syntax, text)) for syntax in _UNUSUAL]
    syntax, places = max(found, key=lambda one: len({name for _, _, name in one[1]}))
    parts: list[TemplatePart] = []
    end = 0
    for start, stop, name in places:
        parts += [text[end:start], Field(name)]
        end = stop
    read = join_literals([*parts, text[end:]])
    inline = (
        _inline(syntax, "".join(part for part in read if isinstance(part, str))) if places else []
    )
    notes += [
        f"Its {words} stays as it is: write {{{as_name(words)}}} where it is a text of the row."
        for words in inline
    ]
    return read


def _places(syntax: str, text: str) -> list[tuple[int, int, str]]:
    """Return where a syntax has fields: alone on a line, last on it after a label, or in capitals
    like such a one.
    """
    alone: list[tuple[int, int, str]] = []
    others: list[tuple[int, int, str]] = []
    for match in re.finditer(syntax, text):
        before = text[: match.start()].rpartition("\n")[2]
        after = text[match.end() :].partition("\n")[0]
        name = match[1].strip()
        label = re.search(
            r"([^\W\d]\w*)\W*$", before or text[: match.start()].rstrip().rpartition("\n")[2]
        )
        if len(name) == 1:  # by its place, so the label before it names it
            name = label[1] if label else f"text_{len(alone) + 1}"
        of_row = re.fullmatch(r"\s*(?:[^\n.!?]{0,40}[:=])?[\s*\"'`>]*", before) and re.fullmatch(
            r"[\s\"'`*<.]*", after
        )
        closed = f"</{name}>" in text or re.search(r"<[^<>\n]+>\s*$", before)
        if not closed and not _is_of_answer(name, syntax, text, match.start()):
            (alone if of_row else others).append((match.start(), match.end(), name))
    capitals = [place for place in others if place[2].isupper() and place[2].isascii()]
    return sorted([*alone, *capitals]) if any(name.isupper() for _, _, name in alone) else alone


def _is_of_answer(name: str, syntax: str, text: str, at: int) -> bool:
    """Whether a placeholder is what the judge fills in: named after a verdict, or after its reason
    beside a verdict.
    """
    if _names_verdict(name):
        return True
    if TEXTS.search(name) is None and name.casefold() not in words_of("no_labels"):
        return False
    if not name.isupper():
        return True
    near = text[:at].split("\n")[-3:] + text[at:].split("\n")[:3]
    return any(_names_verdict(match[1]) for match in re.finditer(syntax, "\n".join(near)))


def _names_verdict(name: str) -> bool:
    words = set(re.split(r"[\W_]+", name.casefold()))
    return bool(
        words & (words_of("verdict_fields").keys() - {"answer", "relevance", "result", "correct"})
    )


def as_name(words: str) -> str:
    """Return words or a placeholder as the name of a field, without its marks."""
    return re.sub(r"\W+", "_", words).strip("_")


def _inline(syntax: str, text: str) -> list[str]:
    """Return what stands in a sentence in the marks of fields, and may be one."""
    found = [
        match
        for match in re.finditer(syntax, text)
        if not _is_of_answer(match[1], syntax, text, match.start())
    ]
    return list(
        dict.fromkeys(
            match.group() for match in found if re.search(r"\w \W?$", text[: match.start()])
        )
    )


def _without_filter(match: re.Match[str], notes: list[str]) -> str:
    """Return a field without the filter that shortens or trims it, and say so."""
    notes.append(f"Its field {match[1]} is sent as it is, without {match[2].strip()}.")
    return f"{{{{ {match[1]} }}}}"


def _cut(syntax: str, text: str) -> Parts:
    """Cut a text at its fields; the pattern's one group is the name."""
    return tuple(
        Field(piece) if at % 2 else piece
        for at, piece in enumerate(re.split(syntax, text))
        if piece
    )
