"""One prompt in the syntaxes, files and code in which people keep theirs: words and fields come in
the same from each, and no word of another prompt.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from judgewright.judges import InputError
from judgewright.runs.exports import Field
from judgewright.runs.imports import AddOptions, ForeignJudge, read_own_prompts, understand

ROLE = "You check replies of a parcel service. The tone is of no interest."
RULES = "The reply must name the delivery day.\nIt must not promise a discount."
ASKS = "Reply with PASS or FAIL on the last line."
CHECK = f"{RULES}\n\n{ASKS}"
WRITES = "Customer asks: {question}. Answer in two friendly sentences."
LISTED = textwrap.indent(CHECK, "    ")
ANSWERS = AddOptions(labels=("FAIL", "PASS"), verdict="last line", criteria=RULES)


def written(question: str, answer: str) -> str:
    """The prompt with its placeholders."""
    return f"{ROLE}\n\nQuestion: {question}\nReply: {answer}\n\n{CHECK}\n"


def prompts_of(folder: Path, name: str, text: str) -> tuple[ForeignJudge, ...]:
    """The prompts of a file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_own_prompts(path)


def fields_of(judge: ForeignJudge) -> list[str]:
    """The fields of a prompt in their order, each once."""
    parts = [part for message in judge.messages for part in message.parts]
    return list(dict.fromkeys(part.name for part in parts if isinstance(part, Field)))


def is_the_prompt(judge: ForeignJudge, fields: list[str]) -> None:
    """It becomes the judge that it is."""
    prompt = understand(judge, ANSWERS).prompt
    assert prompt is not None
    assert fields_of(judge) == fields
    assert prompt.criteria == RULES
    assert prompt.system.startswith(ROLE)
    assert "help desk" not in prompt.system + prompt.template + prompt.reply


@pytest.mark.parametrize(
    "form",
    [
        "{NAME}",
        "{{NAME}}",
        "{{ NAME }}",
        "{{{NAME}}}",
        "{{$NAME}}",  # Semantic Kernel
        "{{.NAME}}",  # Go
        "{{#NAME#}}",  # Dify
        "{{&NAME}}",
        "{{ NAME | trim }}",
        "{NAME!r}",
        "{NAME:.200}",
        "$NAME",
        "${NAME}",
        "%(NAME)s",
        "%<NAME>s",  # Ruby
        "%{NAME}",
        "<<NAME>>",
        "<%= NAME %>",
    ],
)
def test_fields_in_the_syntaxes_of_templates(tmp_path: Path, form: str) -> None:
    """The names are theirs, whatever marks stand round them."""
    text = written(form.replace("NAME", "question"), form.replace("NAME", "reply"))
    (judge,) = prompts_of(tmp_path, "judge.txt", text)
    is_the_prompt(judge, ["question", "reply"])


@pytest.mark.parametrize("form", ["[NAME]", "<NAME>", "%NAME%", "##NAME##", "[insert NAME here]"])
def test_any_other_mark_is_asked_for(tmp_path: Path, form: str) -> None:
    """What stands in no syntax of a template is a field where a person says so."""
    first, second = (form.replace("NAME", name) for name in ("question", "reply"))
    (judge,) = prompts_of(tmp_path, "judge.txt", written(first, second))
    assert [question.option for question in understand(judge, ANSWERS).questions] == ["field"]
    fields = {first: "question", second: "reply"}
    found = understand(
        judge,
        AddOptions(labels=ANSWERS.labels, verdict="last line", criteria=RULES, fields=fields),
    )
    assert found.prompt is not None
    assert found.prompt.template == "Question: {{question}}\nReply: {{reply}}"


BODY = written("{{question}}", "{{reply}}")
ROW = "Question: {question}\\nReply: {reply}"
INDENTED = textwrap.indent(BODY, "    ")
FUNCTION = f'''
ROLE = "{ROLE}"
OTHER_SYSTEM = "You are the help desk. Be brief, and answer in the customer's language."

def build(row):
    return f"""Question: {{row.question}}
Reply: {{row.reply}}

{CHECK}"""

def run(client, row):
    return client.messages.create(system=ROLE, messages=[{{"role": "user", "content": build(row)}}])
'''
TYPESCRIPT = f"""
const CHECK_ROLE = `{ROLE}`;
const prompt = (question: string, reply: string) => `Question: ${{question}}
Reply: ${{reply}}

{CHECK}`;
export const run = (q, r) => client.messages.create({{
  model: "m", system: CHECK_ROLE,
  messages: [{{ role: "user", content: prompt(q, r) }}],
}});
"""
WITH_EXAMPLES = f"""
SHOTS = [{{"role": "user", "content": "Question: When?\\nReply: On Monday."}},
         {{"role": "assistant", "content": "It names the day.\\nPASS"}}]

def check(question, reply):
    return ask([{{"role": "system", "content": {f"{ROLE}{chr(10)}{CHECK}"!r}}}, *SHOTS,
                {{"role": "user", "content": f"Question: {{question}}\\nReply: {{reply}}"}}])
"""
SYSTEM = f"{ROLE}\n\n{CHECK}"
USER = "Question: {question}\nReply: {reply}"
FILES = {
    "judge.md": "---\ntitle: Desk\nowner: ana\n---\n\n" + BODY,
    "judge.prompty": f"---\nname: x\n---\nsystem:\n{SYSTEM}\n\nuser:\n{USER}\n",
    "judge.toml": f'name = "desk"\nprompt = """\n{BODY}"""\n',
    "judge.yaml": f"prompt: |\n{INDENTED}",
    "judge.ipynb": json.dumps(
        {"cells": [{"cell_type": "code", "source": ["%pip install x\n", f'P = """{BODY}"""\n']}]}
    ),
    "parts.json": json.dumps(
        {
            "system": [{"type": "text", "text": SYSTEM}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": USER}]}],
        }
    ),
    "contents.json": json.dumps(
        {
            "system_instruction": {"parts": [{"text": SYSTEM}]},
            "contents": [{"role": "user", "parts": [{"text": USER}]}],
        }
    ),
    "lines.json": json.dumps({"check": {"lines": BODY.split("\n")}}),
    "keys_of_its_own.yaml": json.dumps(
        [{"rol": "system", "contenido": SYSTEM}, {"rol": "user", "contenido": USER}]
    ),
    "pairs.yaml": json.dumps([{"system": SYSTEM}, {"user": USER}]),
    "listed.json": json.dumps({"name": "x", "prompt": [["system", SYSTEM], ["human", USER]]}),
    "odd.yaml": f"conversation:\n- role: system\n  content: |\n    {ROLE}\n\n{LISTED}\n"
    f'- role: user\n  content: "{ROW}"\n',
    "grown.py": (
        f"def p(question, reply):\n    t = {ROLE!r} + '\\n\\n'\n"
        f"    t += f'Question: {{question}}\\n'\n"
        f"    t += f'Reply: {{reply}}\\n\\n'\n    t += {CHECK!r}\n    return t\n"
    ),
    "percent.py": f'P = """{written("%(question)s", "%(reply)s")}"""\n',
    "function.py": FUNCTION,
    "examples.py": WITH_EXAMPLES,
    "sent.ts": TYPESCRIPT,
    "named.ts": (
        f"const SYSTEM = `{SYSTEM}`;\nconst m = [\n  {{ role: 'system', content: SYSTEM }},\n  {{"
        " role: 'user', content: `Question: ${row.question}\\nReply: ${row.reply}` },\n];\n"
    ),
    "judge.go": (
        f"package judge\n\n// desk\nvar t = parse(`{written('{{.question}}', '{{.reply}}')}`)\n"
    ),
    "Judge.java": (
        f'String p = {json.dumps(ROLE)} + "\\n\\n" +\n  "Question: " + question + "\\n" +\n'
        f'  "Reply: " + reply + "\\n\\n" +\n  {json.dumps(CHECK)};\n'
    ),
    "judge.rb": (
        "PROMPT = <<~PROMPT\n"
        + textwrap.indent(written("#{question}", "#{reply}"), "    ")
        + "PROMPT\n\ncall(PROMPT)\n"
    ),
    "Judge.cs": (
        'class J { string P = $"""\n'
        + textwrap.indent(written("{question}", "{reply}"), "    ")
        + '    """; }\n'
    ),
    "judge.php": "<?php\nreturn <<<EOT\n" + written("$question", "{$reply}") + "EOT;\n",
    "judge.rs": 'fn p() -> String { format!(r#"' + written("{question}", "{reply}") + '"#) }\n',
    "judge.swift": 'let p = """\n' + written("\\(question)", "\\(reply)") + '"""\n',
}


@pytest.mark.parametrize("name", FILES)
def test_prompts_in_any_file(tmp_path: Path, name: str) -> None:
    """The code, the settings and the comments round a prompt are no part of it."""
    (judge,) = prompts_of(tmp_path, name, FILES[name])
    is_the_prompt(judge, ["question", "reply"])


TWO_CHATS = f"""
def answer(question):
    return ask([{{"role": "system", "content": "You are the help desk. Be brief."}},
                {{"role": "user", "content": f"Customer asks: {{question}}. Two sentences."}}])

def judge(row, tools):
    return ask([{{"role": "system", "content": {json.dumps(f"{ROLE}{chr(10)}{CHECK}")}}},
                {{"role": "user", "content": f"Question: {{row['question']}}\\nReply: {{row.get('reply', 'none')}}"}}])
"""  # noqa: E501
TWO_JS_CHATS = f"""
const answer = (question) => ask([
  {{ role: "system", content: "You are the help desk of a parcel service. Two sentences." }},
  {{ role: "user", content: `Customer asks: ${{question}}. Two sentences are enough.` }},
]);
const check = (question, reply) => ask([
  {{ role: "system", content: `{ROLE}\\n{CHECK}` }},
  {{ role: "user", content: `Question: ${{question}}\\nReply: ${{reply}}` }},
]);
"""
SEVERAL = {
    "two_chats.py": TWO_CHATS,
    "two_chats.js": TWO_JS_CHATS,
    "keys.yaml": f'reply_prompt: "{WRITES}"\ncheck_prompt: |\n{INDENTED}',
    "named.yaml": (
        f'prompts:\n  - name: reply\n    template: "{WRITES}"\n  - name: check\n    template: |\n'
        f"{textwrap.indent(BODY, '      ')}"
    ),
    "strings.py": f"WRITE = {WRITES!r}\nCHECK = '''{written('{question}', '{reply}')}'''\n",
}


@pytest.mark.parametrize("name", SEVERAL)
def test_of_several_prompts_each_is_read_by_itself(tmp_path: Path, name: str) -> None:
    """Which is the judge, a person or a model says; its system text comes with it."""
    judges = prompts_of(tmp_path, name, SEVERAL[name])
    assert len(judges) == 2
    is_the_prompt(judges[1], ["question", "reply"])
    (named,) = read_own_prompts(tmp_path / name, judges[1].string)
    assert named.messages == judges[1].messages
    with pytest.raises(InputError, match="nothing"):
        read_own_prompts(tmp_path / name, "nothing")


@pytest.mark.parametrize(
    "code",
    [
        "JSON.stringify(docs, null, 2)",
        "docs.map((d, i) => `[${i}] ${d.title ? `${d.title}: ` : ''}${d.text}`).join('\\n')",
        "docs ? JSON.stringify(docs) : 'none'",
        "row.docs?.trim() ?? ''",
        "truncate(row.docs, 2000)",
        "Object.entries(docs).map(([k, v]) => `${k}: ${v}`)",
        "docs.length > 0 ? docs.join(', ') : '(none)'",
    ],
)
def test_code_in_a_template_literal_is_the_field_that_it_shows(tmp_path: Path, code: str) -> None:
    """Whatever formats a text of the row, its name is that of the row's."""
    text = f"const check = (docs, reply) => `{ROLE}\n\n${{{code}}}\n\n${{reply}}\n\n{CHECK}`;\n"
    (judge,) = prompts_of(tmp_path, "check.ts", text)
    assert fields_of(judge) == ["docs", "reply"]


@pytest.mark.parametrize(
    "code",
    [
        "json.dumps(docs, indent=2)",
        "chr(10).join(f'- {d.text}' for d in docs)",
        "'; '.join([d.text for d in row['docs']])",
        "row.get('docs', 'none')",
        "docs.strip() or 'none'",
        "docs[:2000]",
        "textwrap.indent(row.docs, '> ')",
        "docs if docs else 'none'",
    ],
)
def test_code_in_an_f_string_is_the_field_that_it_shows(tmp_path: Path, code: str) -> None:
    """Likewise in Python; a loop is said."""
    text = (
        f'def check(docs, reply):\n    return f"""{ROLE}\n\n{{{code}}}\n\n{{reply}}\n\n{CHECK}"""\n'
    )
    (judge,) = prompts_of(tmp_path, "check.py", text)
    assert fields_of(judge) == ["docs", "reply"]
    assert bool(judge.notes) is (" for d in " in code)


@pytest.mark.parametrize("name", ["check.py", "check.yaml", "check.json", "check.j2"])
def test_a_template_with_a_loop_wherever_it_stands(tmp_path: Path, name: str) -> None:
    """Jinja in code, YAML and JSON is read as in a file of its own."""
    loop = "{% for d in docs %}\n- {{ d.text }}\n{% endfor %}"
    template = (
        f"{ROLE}\n\n{{% if docs %}}Docs:\n{loop}\n{{% endif %}}\n{{{{ reply }}}}\n\n{CHECK}\n"
    )
    texts = {
        "check.py": f'from jinja2 import Template\nCHECK = Template("""{template}""")\n',
        "check.yaml": "template: |\n" + textwrap.indent(template, "  "),
        "check.json": json.dumps({"template": template}),
        "check.j2": template,
    }
    (judge,) = prompts_of(tmp_path, name, texts[name])
    assert fields_of(judge) == ["docs", "reply"]
    assert "loop over docs is one field" in " ".join(judge.notes)


def test_a_field_that_the_file_fills_with_a_constant_is_none_of_the_row(tmp_path: Path) -> None:
    """It is filled, and stays a field where one call gives something else."""
    prompt = f"CHECK = '''{ROLE} {{limit}} days.\n\nReply: {{reply}}\n\n{CHECK}'''\n"
    once = "text = CHECK.format(reply=row, limit=LIMIT)\n"
    (judge,) = prompts_of(tmp_path, "desk.py", f"LIMIT = 14\n{prompt}{once}")
    assert judge.fills == {"limit": "14"}
    found = understand(judge, ANSWERS)
    assert found.prompt is not None
    assert found.prompt.inputs == ("reply",)
    again = f"{once}other = CHECK.format(reply=row, limit=days)\n"
    (judge,) = prompts_of(tmp_path, "desk.py", f"LIMIT = 14\n{prompt}{again}")
    assert judge.fills == {}


def test_a_text_beside_the_one_with_fields_stands_before_it(tmp_path: Path) -> None:
    """A text under a key of its own belongs to the prompt, which is said."""
    text = f'system = """{ROLE}"""\nrules = """{RULES}"""\nuser = """{USER}\n\n{ASKS}"""\n'
    (judge,) = prompts_of(tmp_path, "plain.toml", text)
    assert [message.role for message in judge.messages] == ["system", "system", "user"]
    assert "Its text under rules stands before the row here." in judge.notes


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("judge.go", 'package judge\n\nvar q = "{{.question}}"\n', "no string"),
        ("judge.hbs", "{{#if a}}{{a}}{{/if}} is judged", "computes something"),
        ("judge.exe", "{a} is judged", "ends in .exe"),
        ("judge.py", "def (", "no Python"),
        ("judge.yaml", "a: [", "no YAML"),
        ("settings.yaml", "a: 1\nb: two", "none of its keys"),
    ],
)
def test_what_holds_no_prompt_is_refused(name: str, text: str, reason: str, tmp_path: Path) -> None:
    """Code is never taken for a prompt."""
    with pytest.raises(InputError, match=reason):
        prompts_of(tmp_path, name, text)


def test_a_pattern_of_javascript_is_no_string(tmp_path: Path) -> None:
    """A pattern of the braces that code fills does not stop the reading of the prompt beside it."""
    text = written("{{question}}", "{{reply}}")
    code = (
        f"const JUDGE = `{text}`;\nconst fill = t => t.replace(/\\{{\\{{(\\w+)\\}}\\}}/g, get);\n"
    )
    assert r"/\{\{(\w+)\}\}/g" in code
    (judge,) = prompts_of(tmp_path, "judge.js", code)
    is_the_prompt(judge, ["question", "reply"])


def test_two_prompts_of_one_name_are_told_apart_by_their_lines(tmp_path: Path) -> None:
    """Functions that call theirs `prompt` alike leave nobody without a name to say."""
    body = BODY.replace("{{", "{").replace("}}", "}")
    code = (
        f'def write(question):\n    prompt = f"{WRITES}"\n    return prompt\n\n\n'
        f'def check(question, reply):\n    prompt = f"""{body}"""\n'
        "    return prompt\n"
    )
    names = [judge.string for judge in prompts_of(tmp_path, "judge.py", code)]
    assert names == ["line 2", "line 7"]
    (judge,) = read_own_prompts(tmp_path / "judge.py", "line 7")
    is_the_prompt(judge, ["question", "reply"])
