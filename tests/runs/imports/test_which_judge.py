"""Files that hold more than the judge: which prompt it is, what is sent with it, and what code puts
into it.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from judgewright.judges import InputError, JudgePrompt, JudgeSettings, Row
from judgewright.judges.models import Client
from judgewright.runs.imports import (
    AddOptions,
    ask_for_reading,
    read_own_prompt,
    read_own_prompts,
    understand,
)

from .scripted import Scripted

ROLE = "You check replies of a parcel service. The tone is of no interest."
RULES = "The reply must name the delivery day.\nIt must not promise a discount."
ASKS = "Reply with PASS or FAIL on the last line."
CHECK = f"{RULES}\n\n{ASKS}"
WRITES = "Customer asks: {question}. Answer in two friendly sentences."
LISTED = textwrap.indent(CHECK, "    ")


def judge_in(tmp_path: Path, name: str, text: str, string: str | None = None) -> JudgePrompt:
    """The judge that a file becomes, read without a question."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = understand(read_own_prompt(path, string), AddOptions())
    assert found.prompt is not None, found.questions
    return found.prompt


def sent(prompt: JudgePrompt) -> str:
    """All that the judge sends for a row."""
    row = Row(id="r", inputs={name: f"<<{name}>>" for name in prompt.inputs})
    return "\n".join(str(message.content) for message in prompt.messages(row))


TWO_CHATS = f"""
def answer(question):
    return ask([{{"role": "system", "content": "You are the help desk. Be brief."}},
                {{"role": "user", "content": f"Customer asks: {{question}}. Answer in two sentences."}}])

def judge(row, tools):
    return ask([{{"role": "system", "content": {json.dumps(f"{ROLE}{chr(10)}{CHECK}")}}},
                {{"role": "user", "content": f"Question: {{row['question']}}\\nReply: {{row.get('reply', 'none')}}"}}])
"""  # noqa: E501
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
const ANSWER_SYSTEM = `You are the help desk of a parcel service. Answer in two sentences.`;
const CHECK_ROLE = `{ROLE}`;
const prompt = (question: string, reply: string) => `Question: ${{question}}
Reply: ${{reply}}

{CHECK}`;
export const run = (q, r) => client.messages.create({{
  model: "m", system: CHECK_ROLE,
  messages: [{{ role: "user", content: prompt(q, r) }}],
}});
"""
TWO_JS_CHATS = f"""
const answer = (question) => ask([
  {{ role: "system", content: "You are the help desk of a parcel service. Answer in two sentences." }},
  {{ role: "user", content: `Customer asks: ${{question}}. Two sentences are enough.` }},
]);
const check = (question, reply) => ask([
  {{ role: "system", content: `{ROLE}\\n{CHECK}` }},
  {{ role: "user", content: `Question: ${{question}}\\nReply: ${{reply}}` }},
]);
"""  # noqa: E501
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "source": ["%%bash\n", "pip install openai\n"]},
            {"cell_type": "code", "source": [f"WRITE = {WRITES!r}\n", "df.head?\n"]},
            {"cell_type": "code", "source": [f"A = {WRITES!r}\n", f"B = {ROLE!r} + '\\n\\n'\n"]},
            {
                "cell_type": "code",
                "source": [
                    f"C = B + 'Question: {{question}}\\nReply: {{reply}}\\n\\n' + {CHECK!r}"
                ],
            },
        ]
    }
)
KEYED = f"{ROLE}\n\nReply: {{reply}}\n\n{CHECK}"
ROW = "Question: {question}\\nReply: {reply}"
KEYS = f"""
reply_prompt: "{WRITES}"
check_prompt: |
    {ROLE}

    Question: {{question}}
    Reply: {{reply}}

{LISTED}
"""
DEEP = f"""
reply:
  system: You are the help desk of a parcel service.
  user: "{WRITES}"
check:
  system: |
    {ROLE}

{LISTED}
  user: "{ROW}"
"""
NAMED = f"""
prompts:
  - name: reply
    template: "{WRITES}"
  - name: check
    messages:
    - role: system
      content: |
        {ROLE}

{textwrap.indent(CHECK, "        ")}
    - role: user
      content: "{ROW}"
"""
ODD_CHAT = f"""
conversation:
- role: system
  content: |
    {ROLE}

{LISTED}
- role: user
  content: "{ROW}"
"""
RAW = f"""
prompts:
- label: check
  raw: |
    {ROLE}

    Question: {{{{question}}}}
    Reply: {{{{reply}}}}

{LISTED}
- |
  Customer asks: {{{{question}}}}.
  Answer in two sentences.
providers: [openai:gpt-4o]
tests:
- vars: {{question: a, reply: b}}
  assert: [{{type: icontains, value: PASS}}]
"""
FILES = {
    "two_chats.py": TWO_CHATS,
    "function.py": FUNCTION,
    "sent.ts": TYPESCRIPT,
    "two_chats.js": TWO_JS_CHATS,
    "evaluation.ipynb": NOTEBOOK,
    "keys.yaml": KEYS,
    "deep.yaml": DEEP,
    "named.yaml": NAMED,
    "odd.yaml": ODD_CHAT,
    "promptfooconfig.yaml": RAW,
}


@pytest.mark.parametrize("name", FILES)
def test_the_one_that_asks_for_a_verdict_is_the_judge(tmp_path: Path, name: str) -> None:
    """Its system text comes with it, and no word of another prompt."""
    prompt = judge_in(tmp_path, name, FILES[name])
    assert (prompt.inputs, prompt.scale.labels) == (("question", "reply"), ("FAIL", "PASS"))
    assert ROLE in sent(prompt)
    assert RULES in prompt.criteria
    assert "help desk" not in sent(prompt)
    assert "two" not in sent(prompt)


@pytest.mark.parametrize(
    "name", ["two_chats.py", "keys.yaml", "named.yaml", "promptfooconfig.yaml"]
)
def test_what_was_not_taken_is_said(tmp_path: Path, name: str) -> None:
    """A file that holds other prompts is told so."""
    assert "Its file also holds" in judge_in(tmp_path, name, FILES[name]).note


def test_a_prompt_of_promptfoo_in_a_file_beside_it(tmp_path: Path) -> None:
    """`file://` is read in the folder of the configuration and nowhere else."""
    (tmp_path / "check.txt").write_text(
        f"{ROLE}\n\nReply: {{{{reply}}}}\n\n{CHECK}\n", encoding="utf-8"
    )
    config = "prompts: ['file://check.txt']\nproviders: [openai:gpt-4o]\n"
    assert ROLE in sent(judge_in(tmp_path, "promptfooconfig.yaml", config))
    with pytest.raises(InputError, match="outside the folder"):
        judge_in(tmp_path, "promptfooconfig.yaml", config.replace("check.txt", "../check.txt"))


def test_of_several_in_a_section_its_own_comment_counts(tmp_path: Path) -> None:
    """What is said over another prompt is not said of this one."""
    text = (
        f"# 2 or more is fine\nreply:\n  prompt: '{WRITES}'\n# 4 or more is sent\ncheck:\n "
        " prompt: |\n"
    )
    text += (
        f"    {ROLE}\n    Reply: {{reply}}\n\n    It names the day.\n    Give a score from 1 to 5,"
        " 5 is the best.\n"
    )
    assert judge_in(tmp_path, "judges.yaml", text).scale.threshold == 4.0


@pytest.mark.parametrize(
    ("code", "field"),
    [
        ("JSON.stringify(docs, null, 2)", "docs"),
        (
            "docs.map((d, i) => `[${i}] ${d.title ? `${d.title}: ` : ''}${d.text}`).join('\\n')",
            "docs",
        ),
        ("docs ? JSON.stringify(docs) : 'none'", "docs"),
        ("row.docs?.trim() ?? ''", "docs"),
        ("truncate(row.docs, 2000)", "docs"),
        ("Object.entries(docs).map(([k, v]) => `${k}: ${v}`)", "docs"),
        ("row['docs']", "docs"),
        ("docs.length > 0 ? docs.join(', ') : '(none)'", "docs"),
    ],
)
def test_code_in_a_template_literal_is_the_field_that_it_shows(
    tmp_path: Path, code: str, field: str
) -> None:
    """Whatever formats a text of the row, its name is that of the row's."""
    text = (
        f"export const check = (docs, reply) => `{ROLE}\n\nDocs:\n${{{code}}}\n\nReply:"
        f" ${{reply}}\n\n{CHECK}`;\n"
    )
    assert judge_in(tmp_path, "check.ts", text).inputs == (field, "reply")


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
    """Likewise in Python."""
    text = (
        f'def check(docs, reply):\n    return f"""{ROLE}\n\nDocs:\n{{{code}}}\n\nReply:'
        f' {{reply}}\n\n{CHECK}"""\n'
    )
    assert judge_in(tmp_path, "check.py", text).inputs == ("docs", "reply")


def test_a_loop_in_code_is_said(tmp_path: Path) -> None:
    """What it writes round each text is not here, so the row has to bring it."""
    code = "''.join(f'- {d}' for d in docs)"
    text = (
        f'def check(docs, reply):\n    return f"""{ROLE}\n\n{{{code}}}\n\nReply:'
        f' {{reply}}\n\n{CHECK}"""\n'
    )
    assert "loop over docs is one field" in judge_in(tmp_path, "check.py", text).note


PIECES = f"""
PARTS = {{"role": {ROLE!r}, "rules": {RULES!r}}}

def check(question, reply):
    lines = [PARTS["role"], "", "Question: " + question, "Reply: " + reply, ""]
    lines += [PARTS["rules"], ""]
    lines.append({ASKS!r})
    return "\\n".join(lines)
"""
WITH_EXAMPLES = f"""
SHOTS = [{{"role": "user", "content": "Question: When?\\nReply: On Monday."}},
         {{"role": "assistant", "content": "It names the day.\\nPASS"}}]

def check(question, reply):
    return ask([{{"role": "system", "content": {f"{ROLE}{chr(10)}{CHECK}"!r}}}, *SHOTS,
                {{"role": "user", "content": f"Question: {{question}}\\nReply: {{reply}}"}}])
"""
LINES = json.dumps(
    {
        "check": {
            "lines": [ROLE, "", "Question: {question}", "Reply: {reply}", "", *CHECK.split("\n")]
        }
    }
)
JAVA = f"""
String p = "{ROLE}\\n\\n" +
  "Question: " + question + "\\n" +
  "Reply: " + reply + "\\n\\n" +
  {json.dumps(CHECK)};
"""
CONDITIONS = f"""{ROLE}

{{% if question is defined and question %}}
Question: {{{{ question or "none" }}}}
{{% endif %}}
Reply: {{{{ reply["text"] if reply else "(empty)" }}}}

{CHECK}
"""


@pytest.mark.parametrize(
    "loop",
    [
        "{chr(10).join(f'{n}. {rule}' for n, rule in enumerate(RULES, 1))}",
        "{chr(10).join([f'{n + 1}. {rule}' for n, rule in enumerate(RULES)])}",
        "{LISTED}",
    ],
)
def test_a_loop_over_constants_is_written_out(tmp_path: Path, loop: str) -> None:
    """The rules of a list are no text of the row."""
    listed = "LISTED = chr(10).join(f'{n}. {rule}' for n, rule in enumerate(RULES, start=1))"
    code = (
        f"RULES = {RULES.splitlines()!r}\n{listed}\n\ndef check(reply):\n    return"
        f' f"""{ROLE}\n\n{loop}\n\n'
    )
    prompt = judge_in(tmp_path, "check.py", f'{code}Reply: {{reply}}\n\n{ASKS}"""\n')
    assert prompt.inputs == ("reply",)
    assert "1. The reply must name the delivery day.\n2. It must not promise a discount." in sent(
        prompt
    )


@pytest.mark.parametrize(
    ("name", "text", "examples"),
    [
        ("pieces.py", PIECES, 0),
        ("examples.py", WITH_EXAMPLES, 1),
        ("lines.json", LINES, 0),
        ("Check.java", JAVA, 0),
        ("check.j2", CONDITIONS, 0),
    ],
)
def test_a_prompt_in_pieces_comes_in_whole(
    tmp_path: Path, name: str, text: str, examples: int
) -> None:
    """Constants in a dictionary, lists that grow, demonstrations of a name, lines, and what stands
    in for no text.
    """
    prompt = judge_in(tmp_path, name, text)
    assert [field.partition("_")[0] for field in prompt.inputs] == ["question", "reply"]
    assert ROLE in sent(prompt)
    assert RULES in prompt.criteria
    assert len(prompt.examples) == examples


@pytest.mark.parametrize("name", ["check.py", "check.yaml", "check.json"])
def test_a_template_with_a_loop_wherever_it_stands(tmp_path: Path, name: str) -> None:
    """Jinja in code, YAML and JSON is read as in a file of its own."""
    loop = "{% for d in docs %}\n- {{ d.text }}\n{% endfor %}"
    template = (
        f"{ROLE}\n\n{{% if docs %}}Docs:\n{loop}\n{{% endif %}}\nReply: {{{{ reply"
        f" }}}}\n\n{CHECK}\n"
    )
    texts = {
        "check.py": f'from jinja2 import Template\nCHECK = Template("""{template}""")\n',
        "check.yaml": "template: |\n" + textwrap.indent(template, "  "),
        "check.json": json.dumps({"template": template}),
    }
    prompt = judge_in(tmp_path, name, texts[name])
    assert prompt.inputs == ("docs", "reply")
    assert "loop over docs is one field" in prompt.note


def test_a_loop_over_constants_is_written_out_in_javascript(tmp_path: Path) -> None:
    """Likewise there."""
    text = (
        f"const RULES: string[] = {json.dumps(RULES.splitlines())};\nexport const check = (reply)"
        f" => `{ROLE}\n\n"
    )
    text += (
        "${RULES.map((rule, n) => `${n + 1}. ${rule}`).join('\\n')}"
        + f"\n\nReply: ${{reply}}\n\n{ASKS}`;\n"
    )
    prompt = judge_in(tmp_path, "check.ts", text)
    assert prompt.inputs == ("reply",)
    assert "1. The reply must name the delivery day.\n2. It must not promise a discount." in sent(
        prompt
    )


def test_an_enum_is_compared_by_identity(tmp_path: Path) -> None:
    """`is` says what passes as `==` does."""
    text = "Answer with one word: wrong, partly or right."
    code = (
        'class V(str, Enum):\n    OK = "partly"\n\nP ='
        f' """{ROLE}\n\n{{reply}}\n\n{RULES}\n\n{text}"""\n\n'
    )
    code += 'def passed(v):\n    return v.label in (V.OK, "right")\n'
    assert judge_in(tmp_path, "check.py", code).scale.threshold == 1.0
    code = code.replace('in (V.OK, "right")', "is not None and v.label is V.OK")
    path = tmp_path / "check.py"
    path.write_text(code, encoding="utf-8")
    assert understand(
        read_own_prompt(path), AddOptions()
    ).questions  # only the middle one would pass


FIRST = "Look at the letter {letter}. Blorp letters are about money, frimp letters are not."
SECOND = "Sum up the letter {letter} as a poem about the sea in which no money occurs at all."
NAMES = ("unordered", "scale", "threshold", "verdict", "first_words", "last_words", "open")


@pytest.mark.parametrize("last", ["frimp letters are not.", ""])
def test_where_no_words_of_ours_tell_the_model_says_which_it_is(tmp_path: Path, last: str) -> None:
    """It is shown both in one request; the one that it quotes is the judge, and without a quotation
    it is asked.
    """
    path = tmp_path / "letters.py"
    path.write_text(f"ONE = {FIRST!r}\nTWO = {SECOND!r}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"ONE .*TWO .*"):
        read_own_prompt(path)
    judges = read_own_prompts(path)
    reply = {"places": [], "labels": ["blorp", "frimp"], "form": [], **dict.fromkeys(NAMES, "")}
    reply |= {"first_words": "Blorp letters are about" if last else "", "last_words": last}
    model = Scripted(json.dumps(reply))
    with Client(model) as client:
        if not last:
            with pytest.raises(InputError, match=r"ONE .*TWO .*"):
                ask_for_reading(judges, client, JudgeSettings())
            return
        judge, _ = ask_for_reading(judges, client, JudgeSettings())
    assert judge.string == "ONE"
    assert "Its file also holds TWO" in judge.notes[-1]
    assert len(model.asked) == 1
    assert "poem about the sea" in model.asked[0].messages[-1].content


def test_several_judges_are_asked_about_whatever_a_model_says(tmp_path: Path) -> None:
    """Where two of a file ask for a verdict, neither is taken."""
    path = tmp_path / "checks.py"
    path.write_text(
        f"FACTS = {KEYED!r}\nTONE = {KEYED.replace('a discount', 'a refund')!r}\n", encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"FACTS .*TONE"):
        read_own_prompts(path)
