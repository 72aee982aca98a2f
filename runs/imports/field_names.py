"""Names of fields: what tools call a source, a question and an answer, and what we do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ...judges import InputError

_KINDS = {
    "question": "question query prompt request user_input user_query search_query input inputs",
    "context": (
        "context contexts source passage passages document documents premise evidence truths"
        " source_document reference_document retrieval_context retrieved_context retrieved_contexts"
    ),
    "answer": (
        "answer response output outputs actual_output completion submission generation prediction"
    ),
    "statement": "statement statements claim claims hypothesis sentence",
    "gold": (
        "reference ground_truth expected_output expected_response expected gold gold_answer target"
    ),
}
"""What tools call the fields of a row, by what it is."""


def our_names(theirs: Iterable[str], wished: Mapping[str, str]) -> dict[str, str]:
    """Return our name for each of the tool's fields: as wished, by what fields stand together, else
    its own.

    Raises:
        InputError: A wish names a field that is not there, or two fields would have one name.
    """
    fields = list(dict.fromkeys(theirs))
    for field in wished:
        if field not in fields:
            raise InputError(
                f"there is no field {field!r} in it",
                hint=f"its fields: {', '.join(fields) or 'none'}",
            )
    identifiers: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for field in fields:
        last = field.rpartition(".")[2].lower()
        identifiers[field] = re.sub(r"[^a-z0-9]+", "_", last).strip("_")
        kinds[field] = next(
            (kind for kind, names in _KINDS.items() if identifiers[field] in names.split()), ""
        )
    usual = _usual_names(set(kinds.values()))
    counts = Counter(kinds.values())
    names = {}
    for field in fields:
        kind = kinds[field]
        if wished.get(field):
            names[field] = wished[field]
        elif kind in usual and counts[kind] == 1:
            names[field] = usual[kind]
        else:
            names[field] = identifiers[field]
    for name, count in Counter(names.values()).items():
        if count > 1:
            both = [field for field, other in names.items() if other == name]
            raise InputError(
                f"the fields {' and '.join(both)} would both be {name!r}",
                hint="say --field THEIRS=OURS",
            )
    for name in names.values():
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise InputError(
                f"{name!r} cannot be the name of a field: a-z, 0-9 and _, starting with a letter"
            )
    return names


def _usual_names(kinds: set[str]) -> dict[str, str]:
    """Return our name for each kind of field: a text is a passage to a question, and a source to an
    answer.
    """
    has_answer = bool({"answer", "statement"} & kinds)
    names = {
        "question": "query",
        "context": "passage" if "question" in kinds and not has_answer else "source",
        "answer": "statement" if "context" in kinds else "answer",
        "statement": "statement",
        "gold": "gold_answer",
    }
    if {"answer", "statement"} <= kinds:
        del names["answer"]
    return names
