"""Text and fields as a template of ours."""

from __future__ import annotations

from collections.abc import Iterable

from ...judges import PLACEHOLDER, InputError
from ..exports.template_parts import Field, TemplatePart
from .template_syntaxes import joined


def placed(segments: Iterable[TemplatePart]) -> str:
    """Write segments as a template with `{{name}}`.

    Raises:
        InputError: Literal text holds what our templates would take for a field; they have no way to escape it.
    """
    parts = joined(list(segments))
    text = "".join(f"{{{{{s.name}}}}}" if isinstance(s, Field) else s for s in parts)
    back: list[TemplatePart] = []
    at = 0
    for found in PLACEHOLDER.finditer(text):
        back += [text[at : found.start()], Field(found.group(1))]
        at = found.end()
    if joined([*back, text[at:]]) != parts:
        names = [found.group() for found in PLACEHOLDER.finditer(text)]
        raise InputError(f"the text around the fields holds braces that would be read as fields: {names}")
    return text
