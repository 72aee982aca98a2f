"""Prompts composed of every kind of scale, order, place, container and language, with the noise of
real ones.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from judgewright.runs.imports import AddOptions, Understood, read_own_prompt, understand

Pieces = Mapping[str, Any]  # Any: YAML
OR = {"en": "or", "de": "oder", "fr": "ou", "es": "o"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A prompt and the truth of it."""

    name: str
    text: str
    suffix: str
    fields: tuple[str, ...]
    labels: tuple[str, ...] = ()
    """The worst first; empty for numbers."""
    ends: tuple[int, int] | None = None
    """The worst and the best number."""
    asks: bool = False
    """Whether nobody can tell without asking."""
    may_ask: bool = False
    """Whether asking is as right as the scale."""


@cache
def pieces() -> Pieces:
    """The pieces by language."""
    path = Path(__file__).parent / "composed" / "pieces.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def compose(seed: int) -> Composed:
    """Make the prompt of one seed."""
    rng = random.Random(seed)
    language = rng.choice(["en", "en", "en", "de", "de", "fr", "es"])
    said = pieces()[language]
    kind = rng.choice(
        ["binary", "binary", "ordered", "ordered", "classes", "yes_no", "number", "number", "flag"]
    )
    asked, truth, how = KINDS[kind](rng, said, language)
    task = rng.choice(said["tasks"])
    text, container, suffix = written(rng, said, task, asked)
    name = f"{seed}-{language}-{kind}-{how}-{container}"
    return Composed(name=name, text=text, suffix=suffix, fields=tuple(task["fields"]), **truth)


def _listed(labels: list[str], way: str, language: str) -> str:
    last = f" {OR[language]} "
    ways = {
        "or": ", ".join(labels[:-1]) + last + labels[-1],
        "comma": ", ".join(labels),
        "slash": " / ".join(labels) if len(labels) > 2 else "/".join(labels),
        "pipe": "|".join(labels),
        "quoted": ", ".join(f'"{label}"' for label in labels),
        "ticked": ", ".join(f"`{label}`" for label in labels),
        "quoted_or": ", ".join(f'"{label}"' for label in labels[:-1]) + last + f'"{labels[-1]}"',
        "dquoted_pipe": " | ".join(f'"{label}"' for label in labels),
    }
    return ways[way]


def _filled(text: str, language: str, labels: list[str], key: str) -> str:
    for way in ("or", "comma", "slash", "pipe", "quoted", "ticked", "quoted_or", "dquoted_pipe"):
        text = text.replace(f"«{way}»", _listed(labels, way, language) if labels else "")
    return text.replace("«key»", key).replace("«Key»", key.capitalize())


def _cased(rng: random.Random, labels: list[str]) -> list[str]:
    way = rng.choice(["as it is", "upper", "capital", "snake"])
    if way == "upper":
        return [label.upper() for label in labels]
    if way == "capital":
        return [label[0].upper() + label[1:] for label in labels]
    return [label.replace(" ", "_") for label in labels] if way == "snake" else labels


def _labels(
    rng: random.Random, said: Pieces, language: str, kind: str
) -> tuple[str, dict[str, Any], str]:
    """Ask for one of some labels: in a list, in JSON, by definitions, or with a condition."""
    labels = _cased(rng, list(rng.choice(said[kind])))
    shown = labels[::-1] if rng.random() < 0.5 else labels
    key = rng.choice(said["keys"])
    how = rng.choice(
        ["list", "list", "json", "defined", "defined_list"]
        + (["otherwise"] if kind == "binary" else [])
    )
    meanings = said["meanings"]
    picked = (
        meanings if len(labels) > 4 else [meanings[0], *meanings[5 - len(labels) :]][: len(labels)]
    )
    told = dict(zip(labels, picked, strict=False))
    if kind == "classes":
        told = dict.fromkeys(labels, said["class_meaning"])
    mark, gap = rng.choice(
        [("- ", ": "), ("* **", "**: "), ("", " = "), ("- `", "` – "), ("| ", " | "), ("", ": ")]
    )
    defined = "\n".join(f"{mark}{label}{gap}{told[label]}" for label in shown)
    if how == "otherwise":
        text = said["otherwise"].replace("«best»", labels[1]).replace("«worst»", labels[0])
    elif how in ("list", "json"):
        text = _filled(rng.choice(said[f"{how}_asks"]), language, shown, key)
    elif how == "defined":
        text = defined + "\n\n" + _filled(rng.choice(said["defined_asks"]), language, shown, key)
    else:
        text = defined + "\n\n" + _filled(rng.choice(said["list_asks"]), language, shown, key)
    if kind == "classes":
        return text, {"labels": tuple(sorted(labels)), "asks": True}, how
    return text, {"labels": tuple(labels)}, how


def _binary(rng: random.Random, said: Pieces, language: str) -> tuple[str, dict[str, Any], str]:
    return _labels(rng, said, language, "binary")


def _ordered(rng: random.Random, said: Pieces, language: str) -> tuple[str, dict[str, Any], str]:
    return _labels(rng, said, language, "ordered")


def _classes(rng: random.Random, said: Pieces, language: str) -> tuple[str, dict[str, Any], str]:
    return _labels(rng, said, language, "classes")


def _yes_no(rng: random.Random, said: Pieces, language: str) -> tuple[str, dict[str, Any], str]:
    good = rng.random() < 0.5
    labels = _cased(rng, list(said["yes_no"]))
    shown = labels[::-1] if rng.random() < 0.7 else labels
    how = rng.choice(["list", "json"])
    asked = _filled(rng.choice(said[f"{how}_asks"]), language, shown, rng.choice(said["keys"]))
    question = rng.choice(said["yes_good" if good else "yes_bad"])
    truth = {"labels": tuple(labels if good else labels[::-1]), "may_ask": not good}
    return f"{question} {asked}", truth, f"{how}-{'good' if good else 'bad'}"


def _number(rng: random.Random, said: Pieces, language: str) -> tuple[str, dict[str, Any], str]:
    low, high = rng.choice(
        [(1, 5), (0, 3), (1, 10), (0, 10), (0, 100), (1, 7), (0, 2), (1, 4), (-2, 2)]
    )
    way = rng.choice(["up", "down", "good_measure", "bad_measure"])
    asked = rng.choice(said["number_asks"])
    said_of_ends = rng.choice(said[way])
    text = (
        f"{said_of_ends} {asked}"
        if way.endswith("measure") or rng.random() < 0.5
        else f"{asked} {said_of_ends}"
    )
    down = way in ("down", "bad_measure")
    text = text.replace("«low»", str(low)).replace("«high»", str(high))
    ends = (high, low) if down else (low, high)
    return text, {"ends": ends, "may_ask": way == "bad_measure"}, way


def _flag(rng: random.Random, said: Pieces, language: str) -> tuple[str, dict[str, Any], str]:
    good = rng.random() < 0.5
    flag = rng.choice(said["flag_good" if good else "flag_bad"])
    text = rng.choice(said["bool_asks"]).replace("«flag»", flag)
    labels = ("false", "true") if good else ("true", "false")
    return text, {"labels": labels, "may_ask": not good}, "good" if good else "bad"


KINDS: Mapping[str, Callable[[random.Random, Pieces, str], tuple[str, dict[str, Any], str]]] = {
    "binary": _binary,
    "ordered": _ordered,
    "classes": _classes,
    "yes_no": _yes_no,
    "number": _number,
    "flag": _flag,
}


def written(
    rng: random.Random, said: Pieces, task: Mapping[str, Any], asked: str
) -> tuple[str, str, str]:
    """Put role, criteria, row and what asks for the answer into a file of some form."""
    criteria = rng.sample(said["criteria"], 3)
    bullet = rng.choice(["- ", "* ", "1. ", ""])
    rules = "\n".join(
        (f"{n}. " if bullet == "1. " else bullet) + rule for n, rule in enumerate(criteria, start=1)
    )
    heading = rng.choice(["", *said["criteria_heading"]])
    look = rng.choice(["# «»", "«»:", "**«»**", "## «»"])
    if heading:
        rules = f"{look.replace('«»', heading)}\n{rules}"
    noise = rng.choice(said["noise"])
    container = rng.choice(
        ["text", "text", "markdown", "tags", "chat", "yaml", "fstring", "format", "jinja", "js"]
    )
    around = {"chat": "{{", "jinja": "{{ ", "markdown": "{{", "js": "${", "fstring": "{"}.get(
        container, "{"
    )
    close = {"{{ ": " }}", "{{": "}}"}.get(around, "}")
    if container == "tags":
        row = "\n".join(
            f"<{field}>\n{around}{field}{close}\n</{field}>" for field in task["fields"]
        )
    else:
        between = "\n" if rng.random() < 0.5 else " "
        row = "\n\n".join(
            f"{name}:{between}{around}{field}{close}"
            for name, field in zip(task["names"], task["fields"], strict=True)
        )
    head = "\n\n".join(part for part in (task["role"], f"{rules}\n{noise}".strip()) if part)
    literal = around == "{" and container != "yaml"
    if literal and container in ("fstring", "format"):
        asked = asked.replace("{", "{{").replace("}", "}}")
    row_last = rng.random() < 0.4
    body = [head, asked, row] if row_last else [head, row, asked]
    text = "\n\n".join(body)
    if container in ("text", "tags"):
        return text, container, ".txt"
    if container == "markdown":
        return text, container, ".md"
    if container == "jinja":
        return text, container, ".j2"
    if container == "chat":
        turns = [
            {"role": "system", "content": f"{head}\n\n{asked}"},
            {"role": "user", "content": row},
        ]
        return json.dumps(turns, ensure_ascii=False, indent=1), container, ".json"
    if container == "yaml":
        body = {"name": "judge", "system": f"{head}\n\n{asked}", "user": row}
        return yaml.safe_dump(body, allow_unicode=True), container, ".yaml"
    if container == "js":
        escaped = text.replace("`", "\\`")
        return (
            f"export const judge = ({{{', '.join(task['fields'])}}}) => `{escaped}`;\n",
            container,
            ".js",
        )
    if container == "fstring":
        function = f"def prompt({', '.join(task['fields'])}):\n    return f'''{text}'''\n"
        return function, container, ".py"
    return f"JUDGE = '''\n{text}\n'''\n", container, ".py"


SEEDS = range(7000, 7150)
"""Of 4,000 others the reader was made; which these are does not matter."""


def understood(prompt: Composed, folder: Path) -> Understood:
    """What is understood of a composed prompt in a file of its kind."""
    path = folder / f"{prompt.name}{prompt.suffix}"
    path.write_text(prompt.text, encoding="utf-8")
    return understand(read_own_prompt(path), AddOptions())


def ends(found: Understood) -> tuple[float, float] | None:
    """The worst and the best number of a scale; None for words."""
    assert found.scale is not None
    labels = found.scale.labels or (str(found.scale.low), str(found.scale.high))
    numbers = all(re.fullmatch(r"-?[0-9]+", label) for label in labels)
    return (float(labels[0]), float(labels[-1])) if numbers else None


def test_composed_prompts_are_read_and_never_guessed(tmp_path: Path) -> None:
    """No scale is another than the words say, and at most one in twenty is asked about without
    need.
    """
    wrong: list[str] = []
    asked: list[str] = []
    for prompt in map(compose, SEEDS):
        found = understood(prompt, tmp_path)
        if found.prompt is None:
            asked += [] if prompt.asks or prompt.may_ask else [prompt.name]
        elif (
            prompt.asks
            or set(found.prompt.inputs) != set(prompt.fields)
            or (prompt.labels != found.prompt.scale.labels and prompt.ends != ends(found))
        ):
            wrong.append(prompt.name)
    assert wrong == []
    assert len(asked) <= len(SEEDS) // 20, asked
