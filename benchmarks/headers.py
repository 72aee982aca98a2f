"""Which column is which: the headers of a file, read by a model or by known names alone.

    python benchmarks/headers.py write FILE FOLDER
    python benchmarks/headers.py score FILE [FOLDER | READINGS.jsonl]

`write` writes the request for each line of FILE (as in tests/data/headers) into FOLDER, `01.json`
and so on, for a model that answers without seeing anything else. `score` reads its replies, of the
same names in another FOLDER or a line each (as in tests/data/headers/readings); without them it
scores what is known without a model. A header is right where every column is as expected (and open
where two would do), wrong where one is filled in otherwise, else asked; unsaid where a wrong one
needs no yes of a person.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judgewright.judges import Completion, JudgePrompt, Registry, read_answer
from judgewright.judges.files import GuessedColumns, guess_columns, read_columns
from judgewright.runs.actions.read_columns import column_reading, header_request


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["write", "score"])
    parser.add_argument("file", type=Path)
    parser.add_argument("replies", type=Path, nargs="?", metavar="FOLDER | READINGS.jsonl")
    options = parser.parse_args()
    if options.command == "write":
        write(options.file, options.replies)
    else:
        score(options.file, options.replies)


def cases(file: Path) -> Iterator[tuple[str, dict[str, Any], JudgePrompt | None, GuessedColumns]]:
    """Yield each case with the name of its file, its judge, and what is known without a model."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        case = json.loads(line)
        judge = case["judge"]
        prompt = Registry().get(judge) if isinstance(judge, str) else None
        rows = [dict(zip(case["header"], row, strict=True)) for row in case["rows"]]
        yield (
            f"{number:02}.json",
            case,
            prompt,
            guess_columns(rows, prompt.inputs if prompt else judge),
        )


def write(file: Path, folder: Path) -> None:
    """Write the requests."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, _, prompt, guessed in cases(file):
        instruction, shown = header_request(guessed, prompt)
        request = {
            "messages": [
                {"role": one.role, "content": one.content} for one in instruction.messages(shown)
            ],
            "response_format": instruction.response_format,
        }
        text = json.dumps(request, ensure_ascii=False, indent=1)
        (folder / name).write_text(text, encoding="utf-8")


def read_replies(path: Path) -> dict[str, str]:
    """Return the replies by the name of their case, from a folder or a file of a line each."""
    if path.is_dir():
        return {one.name: one.read_text(encoding="utf-8") for one in path.glob("*.json")}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {f"{number:02}.json": line for number, line in enumerate(lines, 1)}


def score(file: Path, path: Path | None) -> None:
    """Print the count, and what is not right."""
    counts = Counter[str]()
    replies = read_replies(path) if path else {}
    for name, case, prompt, guessed in cases(file):
        if path is not None:
            if name not in replies:
                counts["no reply"] += 1
                continue
            instruction, _ = header_request(guessed, prompt)
            answer = read_answer(instruction, Completion(text=replies[name]))
            reading = column_reading(answer, guessed, prompt, "the model")
            guessed = read_columns(guessed, reading)
            if reading.problem:
                print(f"{name} {case['name']}: the reply cannot be used: {reading.problem}")
        outcome = outcome_of(case["expected"], guessed)
        counts.update(outcome)
        if outcome != ["right"]:
            columns = {role: guessed.column_of(role) for role in case["expected"]}
            print(f"{name} {case['name']}: {', '.join(outcome)}")
            print(f"   {columns} {guessed.no_rows[:40]}, expected {case['expected']}")
    print(f"{file.stem}: {dict(counts)}")


def outcome_of(expected: dict[str, str | None], guessed: GuessedColumns) -> list[str]:
    """Return `right`, `asked`, `wrong`, or `wrong` and `unsaid`."""
    wrong, is_open = [], False
    for one in guessed.guesses:
        column = "" if guessed.no_rows else one.column
        if column == (expected.get(one.role) or "") or one.role not in expected:
            continue
        if column:
            wrong.append(one)
        else:
            is_open = True
    if not wrong:
        return ["asked" if is_open else "right"]
    return ["wrong", "unsaid"] if any(one.sure for one in wrong) else ["wrong"]


if __name__ == "__main__":
    main()
