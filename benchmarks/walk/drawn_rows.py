"""Draw the rows of the walk: for each task open rows in folds, and sealed rows apart from them.

Rows that share a group, the text that makes the groups, or nearly all of their words stay together.
Where one of them was drawn in an earlier walk none is drawn.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from judgewright.judges import (
    Clusters,
    Dataset,
    JudgePrompt,
    Registry,
    Row,
    join_near_duplicates,
    load_dataset,
    parse_label_scale,
)

DATA = Path(__file__).resolve().parents[3] / "shared/data"
SEED = 39
SUBSETS = (
    "begin",
    "climate_fever",
    "expertqa",
    "factcheck_gpt",
    "faithbench",
    "q2_wow",
    "ragtruth_qa_response",
    "ragtruth_qa_sentence",
)
"""Those with at least 40 rows that no earlier walk used."""
PARTS = {"sealed": 250, "open": 200}
FOLDS = 5
Line = dict[str, Any]  # Any: JSON


@dataclass(frozen=True, kw_only=True)
class Task:
    """One judge, the file with its rows, and how many rows of which kind are drawn."""

    name: str
    file: str
    label_scale: str
    limited: str
    """An input of at most so many characters."""
    characters: int
    columns: tuple[str, ...]
    """Those that say nothing of the label; slices may use them."""
    most: int
    """Rows of a group."""
    shares: Mapping[str, float]
    """Of each sub-set that is used in all rows."""
    note: str
    """What the rows are, for the tables."""

    @property
    def prompt(self) -> JudgePrompt:
        """The judge as it ships."""
        return Registry().get(self.name)

    def decision(self, line: Line) -> str | None:
        """Return the stratum of a row's label; None where the row is left out."""
        return str(line["label"] >= 1)


TASKS = {
    "groundedness": Task(
        name="groundedness",
        file="groundedness_multi",
        label_scale="binary",
        limited="source",
        characters=2000,
        most=4,
        columns=(
            "dataset",
            "task_type",
            "granularity",
            "model",
            "domain",
            "source_words",
            "statement_words",
        ),
        shares=dict.fromkeys(SUBSETS, 1 / len(SUBSETS)),
        note="Rows that no earlier walk used, of eight sub-sets, as many of each.",
    ),
}


def read_lines(task: Task) -> list[tuple[Line, str]]:
    """Return the usable rows of the file, each text once, with the stratum of their labels."""
    lines: list[tuple[Line, str]] = []
    seen: set[tuple[str, ...]] = set()
    ids: set[str] = set()
    for text in (DATA / f"{task.file}.jsonl").read_text().splitlines():
        line = json.loads(text)
        inputs = tuple(str(line.get(one) or "") for one in task.prompt.inputs)
        stratum = task.decision(line)
        usable = (
            line["dataset"] in task.shares
            and len(line[task.limited]) <= task.characters
            and all(inputs)
        )
        if usable and stratum is not None and inputs not in seen and line["id"] not in ids:
            seen.add(inputs)
            ids.add(line["id"])
            lines.append((line, stratum))
    return lines


def clusters_of(
    task: Task, lines: Sequence[tuple[Line, str]], used: Sequence[Path]
) -> list[list[int]]:
    """Return positions of rows that have to stay together, without what earlier walks used.

    Args:
        task: The task.
        lines: Its rows.
        used: The folders with the rows of earlier walks.
    """
    texts = [{one: str(line[one]) for one in task.prompt.inputs} for line, _ in lines]
    names = [[("group", str(line["group_id"]))] for line, _ in lines]
    of_id = {
        line["id"]: str(line["group_id"])
        for line in map(json.loads, (DATA / f"{task.file}.jsonl").read_text().splitlines())
    }
    for path in sorted(path for folder in used for path in folder.glob("*.jsonl")):
        for line in map(json.loads, path.read_text().splitlines()):
            if all(line.get(one) for one in task.prompt.inputs):
                texts.append({one: str(line[one]) for one in task.prompt.inputs})
                names.append([("group", of_id[line["id"]])] if line["id"] in of_id else [])
    first_input = task.prompt.inputs[0]
    clusters = Clusters(len(texts))
    first: dict[tuple[str, str], int] = {}
    for i, inputs in enumerate(texts):
        for key in (*names[i], ("text", " ".join(inputs[first_input].lower().split()))):
            clusters.join(first.setdefault(key, i), i)
    whole = [Row(id=str(i), inputs=inputs) for i, inputs in enumerate(texts)]
    alone = [Row(id=row.id, inputs={"text": row.inputs[first_input]}) for row in whole]
    join_near_duplicates(whole, clusters)
    join_near_duplicates(alone, clusters)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for i in range(len(texts)):
        members[clusters.find(i)].append(i)
    return [rows for rows in members.values() if rows[-1] < len(lines)]


def draw(task: Task, used: Sequence[Path]) -> dict[str, list[Line]]:
    """Draw the rows of each part; those that are open have a fold."""
    rng = random.Random(SEED)
    lines = read_lines(task)
    together = clusters_of(task, lines, used)
    rng.shuffle(together)
    fresh = [lines[i] for members in together for i in members]
    wanted = {part: _quotas(task, fresh, rows) for part, rows in PARTS.items()}
    drawn: dict[str, list[Line]] = {part: [] for part in PARTS}
    for number, members in enumerate(together):
        rng.shuffle(members)

        def fitting(part: str, members: list[int] = members) -> list[int]:
            left = Counter(wanted[part])
            taken: list[int] = []
            for i in members:
                cell = (lines[i][0]["dataset"], lines[i][1])
                if left[cell] > 0 and len(taken) < task.most:
                    left[cell] -= 1
                    taken.append(i)
            return taken

        def need(part: str) -> float:
            return len(fitting(part)) * sum(wanted[part].values()) / PARTS[part]

        part = max(PARTS, key=need)
        for i in fitting(part):
            line, stratum = lines[i]
            wanted[part][line["dataset"], stratum] -= 1
            own = {name: line[name] for name in ("id", "dataset", *task.prompt.inputs, "label")}
            own |= {name: line.get(name) for name in task.columns} | {"group_id": f"g{number}"}
            drawn[part].append(own)
    _set_folds(drawn["open"], rng)
    return drawn


def _quotas(task: Task, lines: Sequence[tuple[Line, str]], rows: int) -> Counter[tuple[str, str]]:
    """Return how many rows of each sub-set and stratum a part takes: equally many of each stratum,
    as far as there are enough for both parts.
    """
    there = Counter((line["dataset"], stratum) for line, stratum in lines)
    strata = sorted({stratum for _, stratum in lines})
    quotas: Counter[tuple[str, str]] = Counter()
    for dataset, share in task.shares.items():
        left = round(share * rows)
        order = sorted(strata, key=lambda stratum: there[dataset, stratum])
        for k, stratum in enumerate(order):
            usable = int(there[dataset, stratum] * rows / sum(PARTS.values()))
            quotas[dataset, stratum] = min(usable, round(left / (len(order) - k)))
            left -= quotas[dataset, stratum]
    return quotas


def _set_folds(lines: list[Line], rng: random.Random) -> None:
    """Put the groups into folds that have about as many rows of each sub-set."""
    groups: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        groups[line["group_id"]].append(line)
    order = list(groups.values())
    rng.shuffle(order)
    order.sort(key=lambda group: -len(group))
    sizes: Counter[tuple[int, str]] = Counter()
    for group in order:
        names = [line["dataset"] for line in group]
        fold = min(range(FOLDS), key=lambda f: (sum(sizes[f, n] for n in names), sizes[f, ""]))
        for line in group:
            line["fold"] = fold
            sizes.update([(fold, line["dataset"]), (fold, "")])


def prepare(folder: Path, used: Sequence[Path]) -> str:
    """Write the rows of all tasks and the list of their ids; return what was drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    report: list[str] = []
    ids: list[str] = []
    for task in TASKS.values():
        for part, lines in draw(task, used).items():
            path = folder / f"{task.name}.{part}.jsonl"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            ids += [f"{task.name} {part} {line.get('fold', '-')} {line['id']}" for line in lines]
            rows = read_rows(folder, task, part)
            yes = sum(map(rows.positive, rows.rows)) / len(rows)
            groups = len({row.group for row in rows.rows})
            sets = Counter(line["dataset"] for line in lines)
            folds = Counter(line.get("fold", "-") for line in lines)
            report.append(
                f"{task.name} {part}: {len(lines)} rows, {groups} groups, {yes:.0%} positive,"
                f" {dict(sets)}, folds {dict(folds)}"
            )
    text = "\n".join(sorted(ids)) + "\n"
    (folder / "ids.txt").write_text(text)
    report.append(f"ids: blake2b {hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}")
    (folder / "drawn.txt").write_text("\n".join(report) + "\n")
    return "\n".join(report)


def read_rows(folder: Path, task: Task, part: str) -> Dataset:
    """Read a part of a task's rows."""
    prompt = task.prompt
    dataset = load_dataset(
        folder / f"{task.name}.{part}.jsonl",
        inputs=prompt.inputs,
        scale=prompt.scale,
        label_scale=parse_label_scale(task.label_scale),
        group="group_id",
    )
    rows = [
        replace(row, meta={name: row.meta[name] for name in task.columns}) for row in dataset.rows
    ]
    return Dataset.of(rows, labels=dataset.labels, name=task.name)


def read_folds(folder: Path, task: Task) -> dict[str, int]:
    """Return the fold of each open row by its id."""
    lines = (folder / f"{task.name}.open.jsonl").read_text().splitlines()
    return {line["id"]: line["fold"] for line in map(json.loads, lines)}
