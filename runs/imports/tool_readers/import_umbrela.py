"""Write what an UMBRELA prompt says: `import_umbrela.py NAME ANSWER`; all names where it is empty.

The package is found, never imported: it loads PyTorch and Pyserini, and its prompts are files.
"""

import importlib.util
import json
import sys
from importlib.metadata import version
from pathlib import Path

MARKS = {"zqmark0zq": "examples", "zqmark1zq": "query", "zqmark2zq": "passage"}


def main():
    """Write the names, or one judge, as JSON."""
    name, answer_path = sys.argv[1], Path(sys.argv[2])
    spec = importlib.util.find_spec("umbrela")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the package umbrela is not installed there")
    folder = Path(next(iter(spec.submodule_search_locations)))
    prompts = {path.stem: path for path in sorted((folder / "prompts").glob("*.txt"))}
    tool = f"umbrela {version('umbrela')}"
    if not name:
        answer_path.write_text(json.dumps({"tool": tool, "names": list(prompts)}), encoding="utf-8")
        return
    if name not in prompts:
        raise SystemExit(f"UMBRELA ships no prompt {name!r}: {', '.join(prompts)}")
    text = prompts[name].read_text(encoding="utf-8")
    filled = text.format(**{field: mark for mark, field in MARKS.items()})
    reply, mark = None, ""
    if "##final score" in text.lower():
        mark = "##final score: ..."
    elif (
        "JSON" in text and "(O)" in text
    ):  # the steps: how well it matches, how far it can be trusted, the grade
        reply = {
            letter: "score" if letter == "O" else "text"
            for letter in "MTO"
            if f"({letter})" in text
        }
    answer = {
        "tool": tool,
        "name": name,
        "location": f"umbrela/prompts/{prompts[name].name}",
        "messages": [{"role": "user", "content": filled}],
        "marks": {mark: field for mark, field in MARKS.items() if mark in filled},
        "scale": {"kind": "graded", "low": 0, "high": 3},
        "reply": reply,
        "mark": mark,
        "fills": {"examples": ""},
        "notes": (
            [
                "UMBRELA takes its examples from judged pairs when it runs; they are left out"
                " unless you fill them."
            ]
            if "{examples}" in text
            else []
        ),
    }
    answer_path.write_text(json.dumps(answer), encoding="utf-8")


main()
