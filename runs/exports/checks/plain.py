"""Render rows with a plain export, as a person's own code would: `plain.py EXPORT CASES OUT`."""

import json
import re
import sys
import types
from importlib.machinery import SourceFileLoader
from pathlib import Path


def in_python(path: Path, rows: list[dict], replies: list[str]) -> tuple[str, list, list]:
    """Return the messages that the module makes, and the grades that it reads."""
    module = types.ModuleType("judge")
    SourceFileLoader("judge", str(path)).exec_module(module)
    grades = []
    for reply in replies:
        try:
            grades.append(module.read_reply(reply)[0])
        except ValueError:
            grades.append(None)
    return f"Python {sys.version.split()[0]}", [module.messages(row) for row in rows], grades


def rendered(path: Path, target: str, judge: dict, rows: list[dict]) -> tuple[str, list]:
    """Return what read the file, and the messages for each row."""
    text = path.read_text(encoding="utf-8")
    if target == "yaml":
        from judgewright import judges

        prompt = judges.load_prompt(text)
        found = [prompt.messages(judges.Row(id="", inputs=row)) for row in rows]
        return "Judgewright", [[{"role": m.role, "content": m.content} for m in one] for one in found]
    body = json.loads(text)
    if target == "jinja":
        import jinja2

        templates = [(t["role"], jinja2.Template(t["content"])) for t in body]
        return f"Jinja2 {jinja2.__version__}", [
            [{"role": r, "content": t.render(row)} for r, t in templates] for row in rows
        ]
    *fixed, last = body["messages"] if isinstance(body, dict) else body
    places = re.compile("|".join(r"\{\{" + name + r"\}\}" for name in judge["inputs"]))
    fill = [places.sub(lambda found, row=row: row[found.group()[2:-2]], last["content"]) for row in rows]
    return "one re.sub", [[*fixed, {"role": last["role"], "content": content}] for content in fill]


def main() -> None:
    """Write what was found as JSON."""
    given, cases, out = map(Path, sys.argv[1:])
    told = json.loads(cases.read_text(encoding="utf-8"))
    file = next(f for f in sorted(given.iterdir()) if f.name != "manifest.json") if given.is_dir() else given
    if told["target"] == "python":
        tool, messages, grades = in_python(file, told["rows"], told["replies"])
    else:
        (tool, messages), grades = rendered(file, told["target"], told["judge"], told["rows"]), None
    found = {"tool": tool, "rendered": messages, "scores": grades, "notes": []}
    out.write_text(json.dumps(found), encoding="utf-8")


main()
