"""Render rows with a plain export, as a person's own code would: `plain.py EXPORT CASES ANSWER`."""

import json
import sys

from script_shared import ask_cases, load_module, read_cases, write_answer


def check_python(folder, cases):
    """Ask with the judge over the OpenAI client."""
    import openai

    judge = load_module(folder, "judgewright_judge.py").Judge(folder / "judge.json")
    client = openai.OpenAI(api_key="none")

    def ask(url, row):
        grade, _ = judge.ask(client.with_options(base_url=url), cases["model"], row)
        return grade, judge.positive(grade)

    tool = f"Python {sys.version.split()[0]}, openai {openai.__version__}"
    write_answer(tool, outcomes=ask_cases(cases, ask))


def check_yaml(path, cases):
    """Check the prompt file in Judgewright itself."""
    from judgewright.judges import Row, read_prompt

    prompt = read_prompt(path, edited=False)
    rendered = []
    for row in cases["rows"]:
        messages = prompt.messages(Row(id="", inputs=row))
        rendered.append([{"role": m.role, "content": m.content} for m in messages])
    write_answer("Judgewright", rendered=rendered)


def check_jinja(path, cases):
    """Check the templates in Jinja2."""
    import jinja2

    messages = json.loads(path.read_text(encoding="utf-8"))
    templates = [(m["role"], jinja2.Template(m["content"])) for m in messages]
    rendered = [
        [{"role": role, "content": t.render(row)} for role, t in templates] for row in cases["rows"]
    ]
    write_answer(f"Jinja2 {jinja2.__version__}", rendered=rendered)


CHECKS = {"yaml": check_yaml, "jinja": check_jinja}


def main():
    """Check the judge that a module reads, or the one file of the export."""
    folder, cases = read_cases()
    if cases["target"] == "python":
        check_python(folder, cases)
        return
    beside = ("manifest.json", "README.md")
    (path,) = (
        file
        for file in folder.iterdir()
        if file.name not in beside and not file.name.endswith(".cases.jsonl")
    )
    CHECKS[cases["target"]](path, cases)


main()
