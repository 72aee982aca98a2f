"""Render rows with a plain export, as a person's own code would: `plain.py EXPORT CASES ANSWER`."""

import json
import re
import sys
import types
from importlib.machinery import SourceFileLoader

from script_shared import read_cases, score_or_none, write_answer


def check_python(path, cases):
    """Check the messages that the module makes, and the grades that it reads."""
    module = types.ModuleType("judge")
    SourceFileLoader("judge", str(path)).exec_module(module)
    grades = [score_or_none(lambda reply: module.read_reply(reply)[0], reply) for reply in cases["replies"]]
    rendered = [module.messages(row) for row in cases["rows"]]
    write_answer(f"Python {sys.version.split()[0]}", rendered, grades)


def check_yaml(path, cases):
    """Check the prompt file in Judgewright itself."""
    from judgewright.judges import Row, load_prompt

    prompt = load_prompt(path.read_text(encoding="utf-8"))
    rendered = []
    for row in cases["rows"]:
        messages = prompt.messages(Row(id="", inputs=row))
        rendered.append([{"role": m.role, "content": m.content} for m in messages])
    write_answer("Judgewright", rendered, None)


def check_jinja(path, cases):
    """Check the templates in Jinja2."""
    import jinja2

    messages = json.loads(path.read_text(encoding="utf-8"))
    templates = [(m["role"], jinja2.Template(m["content"])) for m in messages]
    rendered = [[{"role": role, "content": t.render(row)} for role, t in templates] for row in cases["rows"]]
    write_answer(f"Jinja2 {jinja2.__version__}", rendered, None)


def check_json(path, cases):
    """Check the messages, the last of which is filled by one replacement."""
    body = json.loads(path.read_text(encoding="utf-8"))
    *fixed, last = body["messages"] if isinstance(body, dict) else body
    placeholder = re.compile("|".join(r"\{\{" + name + r"\}\}" for name in cases["judge"]["inputs"]))
    rendered = []
    for row in cases["rows"]:
        content = placeholder.sub(lambda match, row=row: row[match.group()[2:-2]], last["content"])
        rendered.append([*fixed, {"role": last["role"], "content": content}])
    write_answer("one re.sub", rendered, None)


CHECKS = {"python": check_python, "yaml": check_yaml, "jinja": check_jinja, "json": check_json, "messages": check_json}


def main():
    """Check the one file of the export."""
    folder, cases = read_cases()
    (path,) = (file for file in folder.iterdir() if file.name != "manifest.json")
    CHECKS[cases["target"]](path, cases)


main()
