"""Names of fields: what tools call a source, a question and an answer, and what we do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...judges import InputError

_KINDS = {
    "question": "question query prompt request user_input user_query search_query input inputs",
    "context": "context contexts source passage passages document documents premise evidence truths source_document "
    "reference_document retrieval_context retrieved_context retrieved_contexts",
    "answer": "answer response output outputs actual_output completion submission generation prediction",
    "statement": "statement statements claim claims hypothesis sentence",
    "gold": "reference ground_truth expected_output expected_response expected gold gold_answer target",
}
"""What tools call the fields of a row, by what it is."""


def our_names(theirs: Iterable[str], wished: Mapping[str, str]) -> dict[str, str]:
    """Return our name for each of the tool's fields: as wished, by what fields stand together, else its own.

    Raises:
        InputError: A wish names a field that is not there, or two fields would have one name.
    """
    names = list(dict.fromkeys(theirs))
    if unknown := next((name for name in wished if name not in names), None):
        raise InputError(f"there is no field {unknown!r} in it", hint=f"its fields: {', '.join(names) or 'none'}")
    plain = {name: re.sub(r"[^a-z0-9]+", "_", name.rpartition(".")[2].lower()).strip("_") for name in names}
    kinds = {name: _kind(plain[name]) for name in names}
    there = set(kinds.values())
    context = "passage" if "question" in there and not {"answer", "statement"} & there else "source"
    answer = "statement" if "context" in there else "answer"
    ours = {"question": "query", "context": context, "answer": answer, "statement": "statement", "gold": "gold_answer"}
    kinds_once = {kind for kind in there if kind and list(kinds.values()).count(kind) == 1}
    if {"answer", "statement"} <= there:
        kinds_once -= {"answer"}
    out = {
        name: wished.get(name) or (ours[kinds[name]] if kinds[name] in kinds_once else plain[name]) for name in names
    }
    if clash := next((name for name in out.values() if list(out.values()).count(name) > 1), None):
        both = [name for name, other in out.items() if other == clash]
        raise InputError(f"the fields {' and '.join(both)} would both be {clash!r}", hint="say --field THEIRS=OURS")
    for name in out.values():
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise InputError(f"{name!r} cannot be the name of a field: a-z, 0-9 and _, starting with a letter")
    return out


def _kind(name: str) -> str:
    return next((kind for kind, known in _KINDS.items() if name in known.split()), "")
