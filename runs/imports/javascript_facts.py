"""What a JavaScript or TypeScript file says of a judge beside its prompt; the file is searched, and
nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .file_facts import (
    FAILS,
    LABEL_LISTS,
    LABEL_SCORES,
    PASSES,
    THRESHOLD_NAME,
    VERDICT_NAME,
    Compared,
    FileFacts,
)

_STRING = r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\""
_COMMENT = re.compile(
    rf"{_STRING}|`(?:[^`\\]|\\.)*`|//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/", re.DOTALL
)
_NUMBER = r"-?\d+(?:\.\d+)?"
_SET = re.compile(r"(?P<name>[A-Za-z_$][\w$]*)\s*(?::\s*number\s*)?[=:]\s*(?P<value>[^\n;,]+)")
_COMPARED = re.compile(
    rf"(?P<left>[\w$.?\[\]()'\"]*?[\w$\])])\s*(?P<operator>>=|<=|>|<|[=!]==?)\s*(?P<right>{_NUMBER}|{_STRING}|[A-Z][A-Z0-9_]+)"
)
_LIST = re.compile(
    rf"(?P<name>[A-Za-z_$][\w$]*)\s*(?::[^=\n]*)?[=:]\s*(?:new"
    rf" Set\(|z\.enum\(|z\.array\(|Object\.freeze\()?\s*"
    rf"\[(?P<all>\s*(?:{_STRING})(?:\s*,\s*(?:{_STRING}))*\s*,?\s*)\]"
)
_INCLUDES = re.compile(
    rf"(?P<not>!\s*)?\[(?P<all>\s*(?:{_STRING})(?:\s*,\s*(?:{_STRING}))*\s*,?\s*)\]\s*\.includes\("
)
_UNION = re.compile(
    rf"(?P<name>[A-Za-z_$][\w$]*)\s*\??\s*[=:]\s*\|?\s*(?P<all>(?:{_STRING})(?:\s*\|\s*(?:{_STRING}))+)"
)
_MAP = re.compile(
    r"(?P<name>[A-Za-z_$][\w$]*)\s*(?::[^=\n]*)?[=:]\s*\{(?P<all>(?:\s*['\"]?[\w"
    rf" -]+['\"]?\s*:\s*{_NUMBER}\s*,?)+)\}}"
)
_SENDS_SCHEMA = re.compile(
    r"generateObject|Output\.object|zod\w*Format|[wW]ithStructuredOutput|response_?[sS]chema|response_format"
)
_SCHEMA = re.compile(r"\bz\.object\(\s*\{")
_INNER_OBJECT = re.compile(r"(\w+)\s*:\s*z\s*\.object\(\s*\{([^{}]*)\}\s*\)")
_FIELD_NAME = re.compile(r"[\w.]+(?=\s*:\s*z\b)")
_SCHEMA_FIELD = re.compile(
    r"(?P<name>[\w.]+)\s*:\s*z\s*\.(?P<kind>\w+)\((?P<of>[^()]*)\)(?P<limits>(?:\s*\.\w+\((?:[^()\"']|\"[^\"]*\"|'[^']*')*\))*)"
)
_DECLARED = re.compile(
    r"(?:(?:const|let|var|function)\s+)?([A-Za-z_$][\w$]*)\s*(?::[^=\n]*)?(?:=(?!=)|\(|:)"
)


def javascript_facts(text: str) -> FileFacts:
    """Search a JavaScript or TypeScript file."""
    comments = "\n".join(
        (match["line"] or match["block"] or "").strip(" */")
        for match in _COMMENT.finditer(text)
        if match["line"] or match["block"]
    )
    code = _COMMENT.sub(lambda match: match.group() if match.group()[0] in "'\"" else " ", text)
    thresholds: dict[float, None] = {}
    constants: dict[str, float] = {}
    elsewhere = ""
    for match in _SET.finditer(code):
        value = match["value"].strip(" )}")
        number = float(value) if re.fullmatch(_NUMBER, value) else None
        if number is not None:
            constants[match["name"]] = number
        if THRESHOLD_NAME.search(_snake(match["name"])):
            if number is not None:
                thresholds[number] = None
            elif re.search(r"env|config|settings|await|\(", value):
                elsewhere = match.group()
    labels, scores = _labels(code)
    return FileFacts(
        comments=comments,
        thresholds=tuple(thresholds),
        elsewhere="" if thresholds else elsewhere,
        compared=tuple(_compared(code, constants)),
        labels=labels,
        scores=scores,
        answer_fields=_answer_fields(code),
    )


def _answer_fields(code: str) -> dict[str, str]:
    """Return the fields of the one zod schema that is sent beside the messages, each with its
    labels or limits.

    A field of an inner object is named by its path, such as `result.label`.
    """
    schemas = list(_schemas(code)) if _SENDS_SCHEMA.search(code) else []
    fields: dict[str, str] = {}
    for field in _SCHEMA_FIELD.finditer(schemas[0]) if len(schemas) == 1 else ():
        ends = [re.search(rf"\.{end}\((-?\d+)\)", field["limits"]) for end in ("min", "max")]
        range_said = f", from {ends[0][1]} to {ends[1][1]}" if ends[0] and ends[1] else ""
        labels = " | ".join(f'"{label}"' for label in _strings(field["of"]))
        fields[field["name"]] = labels or f"<{field['kind'].replace('array', 'list')}{range_said}>"
    return fields


def _schemas(code: str) -> Iterator[str]:
    """Yield the fields of each zod object that stands in no other, those of inner objects by their
    paths.
    """
    at = 0
    while match := _SCHEMA.search(code, at):
        depth, at = 1, match.end()
        while depth and at < len(code):
            depth += {"{": 1, "}": -1}.get(code[at], 0)
            at += 1
        fields, inner = code[match.end() : at - 1], 1
        while inner:
            fields, inner = _INNER_OBJECT.subn(
                lambda found: _FIELD_NAME.sub(lambda name: f"{found[1]}.{name[0]}", found[2]),
                fields,
            )
        yield fields


def _compared(code: str, constants: dict[str, float]) -> Iterator[Compared]:
    for match in _COMPARED.finditer(code):
        names = re.findall(r"[A-Za-z_$][\w$]*", match["left"])
        right = match["right"]
        is_verdict = any(VERDICT_NAME.search(_snake(name)) for name in names[-2:])
        number = float(right) if re.fullmatch(_NUMBER, right) else constants.get(right)
        labels = (right[1:-1],) if right[0] in "'\"" else ()
        operator = match["operator"] if match["operator"][0] in "<>" else "in"
        if not labels and (number is None or operator == "in" or not is_verdict):
            continue
        passes = _passes(code[: match.start()])
        if passes is None and operator != "in" and THRESHOLD_NAME.search(_snake(right)):
            passes = operator in (">=", ">")
        if match["operator"][0] == "!" and passes is not None:
            passes = not passes
        yield Compared(
            operator=operator,
            number=number or 0.0,
            labels=labels,
            passes=passes,
            of_verdict=is_verdict,
            counts=bool(labels) and _is_counted(code, match),
            code=match.group(),
        )
    for match in _INCLUDES.finditer(code):
        passes = _passes(code[: match.start()])
        if match["not"] and passes is not None:
            passes = not passes
        yield Compared(
            operator="in", labels=_strings(match["all"]), passes=passes, code=match.group()
        )
    for match in _LIST.finditer(code):
        fails = FAILS.search(match["name"]) is not None
        if fails or PASSES.search(match["name"]):
            yield Compared(
                operator="in", labels=_strings(match["all"]), passes=not fails, code=match.group()
            )


def _is_counted(code: str, match: re.Match[str]) -> bool:
    """Whether a comparison only counts rows, as in `rows.filter((r) => r.verdict ===
    "poor").length`.
    """
    return re.search(
        r"filter\([^()]*$|filter\(\(\w*\)[^()]*$", code[: match.start()]
    ) is not None and (re.match(r"\s*\)\s*\.length", code[match.end() :]) is not None)


def _passes(before: str) -> bool | None:
    """Return whether what follows is true where a row passes, by the last name that something is
    given to.
    """
    line = before[-160:]
    names = [match[1] for match in _DECLARED.finditer(line)]
    turned = line.rstrip().endswith("!(") or re.search(r"!\s*$", line) is not None
    for name in reversed(names):
        if FAILS.search(name):
            return turned
        if PASSES.search(name):
            return not turned
    return None


def _labels(code: str) -> tuple[tuple[str, ...], dict[str, float]]:
    labels: tuple[str, ...] = ()
    scores: dict[str, float] = {}
    for match in (*_LIST.finditer(code), *_UNION.finditer(code)):
        name = match["name"]
        if name != "role" and (LABEL_LISTS.search(name) or VERDICT_NAME.search(_snake(name))):
            found = _strings(match["all"])
            labels = found if len(found) > 1 else labels
    for match in _MAP.finditer(code):
        if LABEL_SCORES.search(_snake(match["name"])):
            pairs = re.findall(rf"['\"]?([\w -]+?)['\"]?\s*:\s*({_NUMBER})", match["all"])
            scores = {key.strip(): float(number) for key, number in pairs}
    return labels or tuple(scores), scores


def _strings(text: str) -> tuple[str, ...]:
    return tuple(item[1:-1] for item in re.findall(_STRING, text))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
