"""One prompt in the syntaxes and files in which people keep theirs: it comes in as the same judge
from each.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from judgewright.judges import Completion, InputError, Verdict, read_reply
from judgewright.judges.response_format import response_format
from judgewright.judges.scale import parse_label_scale
from judgewright.runs.imports import AddOptions, read_own_prompt, understand

ROLE = "You check answers of our help desk bot."
RULES = (
    "The answer must address the question and must not promise refunds.\nNumbers have to match the"
    " tariff table."
)
ASKS = "Reply with PASS or FAIL on the last line."
SYSTEM = f"{ROLE}\n\n{RULES}\n\n{ASKS}"
USER = "Question: {question}\nAnswer: {answer}"


def written(question: str, answer: str) -> str:
    """The prompt with its placeholders."""
    return f"{ROLE}\n\nQuestion: {question}\nAnswer: {answer}\n\n{RULES}\n\n{ASKS}\n"


def same_judge(tmp_path: Path, name: str, text: str, fields: tuple[str, str]) -> None:
    """The file is read without a question, as the judge that it is."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    understood = understand(read_own_prompt(path), AddOptions())
    prompt = understood.prompt
    assert prompt is not None, understood.questions
    assert prompt.inputs == fields
    assert prompt.scale.labels == ("FAIL", "PASS")
    assert (prompt.criteria, prompt.system.split("\n")[0]) == (RULES, ROLE)
    assert "refunds" not in prompt.reply


@pytest.mark.parametrize(
    ("form", "fields"),
    [
        ("{{$NAME}}", "question answer"),  # Semantic Kernel
        ("{{.NAME}}", "question answer"),  # Go
        ("{{ $json.NAME }}", "question answer"),  # n8n
        ("{{#sys.NAME#}}", "question answer"),  # Dify
        ("{{&NAME}}", "question answer"),
        ("{{json NAME}}", "question answer"),
        ("{{user-NAME}}", "user_question user_answer"),
        ("{{ NAME | strip }}", "question answer"),
        ("{the NAME}", "the_question the_answer"),
        ("{NAME!r}", "question answer"),
        ("{NAME:.200}", "question answer"),
        ("${NAME}", "question answer"),
        ("<%= NAME %>", "question answer"),
        ("%NAME%", "question answer"),
        ("##NAME##", "question answer"),
        ("<NAME>", "question answer"),
        ("[[NAME]]", "question answer"),
        ("[insert NAME here]", "question answer"),
        ("@NAME", "question answer"),
        (":NAME", "question answer"),
        ("{0}", "Question Answer"),
        ("%s", "Question Answer"),
    ],
)
def test_fields_in_any_syntax(tmp_path: Path, form: str, fields: str) -> None:
    """What stands alone after a label is a field, in whatever marks."""
    first, second = fields.split()
    text = written(form.replace("NAME", "question"), form.replace("NAME", "answer"))
    same_judge(tmp_path, "judge.txt", text, (first, second))


def test_what_the_judge_fills_in_is_no_field(tmp_path: Path) -> None:
    """Placeholders of the answer's form are left alone where nothing else is a field."""
    path = tmp_path / "judge.txt"
    path.write_text(f"{RULES}\n\nScore: <score>\nReason: <reason>\n", encoding="utf-8")
    with pytest.raises(InputError, match="no field"):
        understand(read_own_prompt(path), AddOptions())


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


BODY = written("{{question}}", "{{answer}}")
CODE = {
    "judge.go": (
        "package judge\n\n// for the help desk\nvar t = parse(`"
        + written("{{.question}}", "{{.answer}}")
        + "`)\n"
    ),
    "judge.rb": (
        "PROMPT = <<~PROMPT\n"
        + _indented(written("#{question}", "#{answer}"))
        + "PROMPT\n\ncall(PROMPT)\n"
    ),
    "Judge.cs": (
        'class J { string P = $"""\n'
        + _indented(written("{question}", "{answer}"))
        + '    """; }\n'
    ),
    "judge.php": "<?php\nreturn <<<EOT\n" + written("$question", "{$answer}") + "EOT;\n",
    "judge.rs": 'fn p() -> String { format!(r#"' + written("{question}", "{answer}") + '"#) }\n',
    "judge.sh": (
        'question="$1"\nread -r P <<EOF\n'
        + written("$question", "${answer}")
        + 'EOF\ncurl -d "$P" "$URL"\n'
    ),
    "judge.swift": 'let p = """\n' + written("\\(question)", "\\(answer)") + '"""\n',
    "judge.sql": "INSERT INTO p VALUES ('desk', '" + BODY + "');\n",
    "judge.toml": 'name = "desk"\nprompt = """\n' + BODY + '"""\n',
    "judge.md": "---\ntitle: Desk\nowner: ana\n---\n\n" + BODY,
    "judge.hbs": "{{! for the help desk }}\n" + written("{{question}}", "{{{answer}}}"),
    "judge.ipynb": json.dumps(
        {
            "cells": [{"cell_type": "code", "source": ["%pip install x\n", f'P = """{BODY}"""\n']}],
            "nbformat": 4,
        }
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
    "lines.json": json.dumps({"prompt": BODY.split("\n")}),
    "pairs.yaml": json.dumps([{"system": SYSTEM}, {"user": USER}]),
    "grown.py": (
        f"def p(question, answer):\n    t = {ROLE!r} + '\\n\\n'\n    t += f'Question:"
        " {question}\\n'\n    t += f'Answer: {answer}\\n\\n'\n    t +="
        f" {RULES + chr(10) * 2 + ASKS!r}\n    return t\n"
    ),
    "appended.py": (
        f"def p(question, answer):\n    ps = [{ROLE!r}]\n"
        "    ps.append(f'Question: {question}\\nAnswer: {answer}')\n"
        f"    ps.append({RULES + chr(10) * 2 + ASKS!r})\n    return '\\n\\n'.join(ps)\n"
    ),
    "percent.py": f'P = """{written("%(question)s", "%(answer)s")}"""\n',
    "named.ts": (
        f"const SYSTEM = `{SYSTEM}`;\nconst m = [\n  {{ role: 'system', content: SYSTEM }},\n  {{"
        " role: 'user', content: `Question: ${row.question}\\nAnswer: ${row.answer}` },\n];\n"
    ),
}


@pytest.mark.parametrize("name", CODE)
def test_prompts_in_any_file(tmp_path: Path, name: str) -> None:
    """The code, the settings and the comments round a prompt are no part of it."""
    same_judge(tmp_path, name, CODE[name], ("question", "answer"))


def test_a_schema_in_typescript_is_the_answer(tmp_path: Path) -> None:
    """A zod schema that is sent beside the messages says which labels there are."""
    text = (
        'generateObject({ schema: z.object({ reason: z.string(), verdict: z.enum(["FAIL",'
        f' "PASS"]) }}),\n  system: `{ROLE}\n\n{RULES}`, prompt: `Question: ${{question}}\\nAnswer:'
        " ${answer}` });\n"
    )
    same_judge(tmp_path, "judge.ts", text, ("question", "answer"))


def test_what_passes_may_stand_in_a_table_of_its_own(tmp_path: Path) -> None:
    """A settings file keeps the prompt in one table and the gate in another, both inside a
    third.
    """
    path = tmp_path / "judge.toml"
    asks = "Give a grade from 0 to 10.\nGrade: N"
    path.write_text(
        f"[check]\nmodel = 'm'\n[check.prompt]\nsystem = '{ROLE}'\n"
        f"user = '''Answer: {{answer}}\n\n{RULES}\n\n{asks}'''\n[check.gate]\npass_threshold = 8\n",
        encoding="utf-8",
    )
    understood = understand(read_own_prompt(path), AddOptions())
    assert understood.scale is not None
    assert (understood.scale.high, understood.scale.threshold) == (10, 8.0)


def test_a_field_of_an_inner_object_is_read_there(tmp_path: Path) -> None:
    """A zod schema may hold the verdict in an object of its own; replies have it there too."""
    path = tmp_path / "judge.ts"
    path.write_text(
        "generateObject({ schema: z.object({ notes: z.string(), outcome: z.object({\n  sure:"
        f' z.boolean(), verdict: z.enum(["FAIL", "PASS"]) }}) }}),\n  system: `{ROLE}\n\n{RULES}`,'
        " prompt: `Question: ${question}\nAnswer: ${answer}` });\n",
        encoding="utf-8",
    )
    prompt = understand(read_own_prompt(path), AddOptions()).prompt
    assert prompt is not None
    assert list(prompt.reply_schema.items())[-1] == ("outcome.verdict", "score")
    reply = '{"notes": "Two facts are missing.", "outcome": {"sure": true, "verdict": "FAIL"}}'
    verdict = read_reply(prompt, Completion(text=reply))
    assert isinstance(verdict, Verdict)
    assert prompt.scale.labels[int(verdict.score)] == "FAIL"


def test_code_without_a_long_string_is_refused(tmp_path: Path) -> None:
    """Code is never taken for a prompt."""
    path = tmp_path / "judge.go"
    path.write_text('package judge\n\nvar q = "{{.question}}"\n', encoding="utf-8")
    with pytest.raises(InputError, match="no string over several lines"):
        read_own_prompt(path)


def test_of_several_strings_the_one_that_asks_for_a_verdict_is_the_prompt(tmp_path: Path) -> None:
    """Another has a model write what is judged."""
    write = (
        'WRITE = "Write an answer to {question} in the voice of our help desk, with one example."\n'
    )
    judge = f"CHECK = '''{written('{question}', '{answer}')}'''\n"
    same_judge(tmp_path, "desk.py", write + judge, ("question", "answer"))


def test_a_chat_that_writes_what_is_judged_is_not_the_prompt(tmp_path: Path) -> None:
    """The judge is the string beside it."""
    chat = (
        'chat = [{"role": "user", "content": f"Write a short answer to {question}, with one'
        ' example."}]\n'
    )
    judge = f"def check(question, answer):\n    return f'''{written('{question}', '{answer}')}'''\n"
    same_judge(tmp_path, "desk.py", chat + judge, ("question", "answer"))


def test_a_field_that_the_file_fills_with_a_constant_is_none_of_the_row(tmp_path: Path) -> None:
    """It is filled, and stays a field where one call gives something else."""
    rules = RULES.replace("promise", "promise in {limit} days any")
    prompt = f"CHECK = '''{ROLE}\n\nQuestion: {{question}}\n\n{rules}\n\n{ASKS}'''\n"
    once = "text = CHECK.format(question=row, limit=LIMIT)\n"
    path = tmp_path / "desk.py"
    path.write_text(f"LIMIT = 14\n{prompt}{once}", encoding="utf-8")
    found = understand(read_own_prompt(path), AddOptions()).prompt
    assert found is not None
    assert found.inputs == ("question",)
    assert "promise in 14 days any" in found.criteria
    path.write_text(
        f"LIMIT = 14\n{prompt}{once}other = CHECK.format(question=row, limit=days)\n",
        encoding="utf-8",
    )
    assert set(understand(read_own_prompt(path), AddOptions()).fields) == {"question", "limit"}


def test_each_line_of_a_form_is_part_of_the_answer(tmp_path: Path) -> None:
    """The verdict stands in the second; by its word with `--verdict`, where another comes later."""
    path = tmp_path / "severity.txt"
    form = "Return your finding as\nPROBLEM: ...\nSEVERITY: n"
    path.write_text(
        f"Rate the worst problem, 1 to 5.\n\n{USER}\n\n{RULES}\n\n{form}\n", encoding="utf-8"
    )
    scale = parse_label_scale("5..1")
    prompt = understand(read_own_prompt(path), AddOptions(scale=scale)).prompt
    assert prompt is not None
    assert prompt.reply_mark == "SEVERITY: ..."
    path.write_text(path.read_text(encoding="utf-8") + "LENGTH: n\n", encoding="utf-8")
    prompt = understand(read_own_prompt(path), AddOptions(scale=scale, verdict="severity")).prompt
    assert prompt is not None
    assert prompt.reply_mark == "severity: ..."
    reply = read_reply(prompt, Completion(text="PROBLEM: a date\nSEVERITY: 4\nLENGTH: 5"))
    assert isinstance(reply, Verdict)
    assert reply.score == 1


def test_the_only_prompt_of_a_file_may_be_called_instructions(tmp_path: Path) -> None:
    """Its name does not make it the system text of another."""
    same_judge(
        tmp_path,
        "desk.py",
        f"INSTRUCTIONS = '''{written('{question}', '{answer}')}'''\n",
        ("question", "answer"),
    )


def test_json_in_doubled_braces_computes_nothing(tmp_path: Path) -> None:
    """In an f-string they stand for single ones, whatever signs the JSON has."""
    path = tmp_path / "desk.yaml"
    asks = 'Return JSON: {{"reasons": ["..."], "verdict": "PASS" | "FAIL"}}'
    text = written("{question}", "{answer}").replace(ASKS, asks)
    path.write_text(f"prompt: |\n{textwrap.indent(text, '  ')}", encoding="utf-8")
    prompt = understand(read_own_prompt(path), AddOptions()).prompt
    assert prompt is not None
    assert (prompt.inputs, prompt.scale.labels) == (("question", "answer"), ("FAIL", "PASS"))
    assert '{"reasons": ["..."]' in prompt.reply


MLFLOW = {
    "instructions": "Does {{ outputs }} answer what {{ inputs }} asks?\n\nSmall talk is fine.",
    "model": "openai:/gpt-4o",
    "feedback_value_type": {"enum": ["no", "yes"], "type": "string"},
}
"""A judge of MLflow, its instructions written by an optimizer, which name the fields inside
sentences.
"""


def test_instructions_of_mlflow_name_the_fields_and_the_row_follows(tmp_path: Path) -> None:
    """MLflow sends no row's text inside its instructions, and all of them may be edited."""
    path = tmp_path / "aligned.json"
    path.write_text(
        json.dumps({"name": "desk", "instructions_judge_pydantic_data": MLFLOW}), encoding="utf-8"
    )
    prompt = understand(read_own_prompt(path), AddOptions(fields={"inputs": "question"})).prompt
    assert prompt is not None
    assert prompt.criteria == "Does outputs answer what inputs asks?\n\nSmall talk is fine."
    assert prompt.template == "outputs:\n{{outputs}}\n\ninputs:\n{{question}}"
    assert prompt.scale.labels == ("no", "yes")


def test_guidelines_that_mlflow_learnt_stand_behind_its_instructions(tmp_path: Path) -> None:
    """A judge aligned by memory keeps them apart from its instructions; a missing part of it is
    said.
    """
    path = tmp_path / "aligned.json"
    memory = {
        "base_judge": {"name": "desk", "instructions_judge_pydantic_data": MLFLOW},
        "episodic_trace_ids": ["tr-1"],
        "semantic_memory": [
            {"guideline_text": "Refunds are never promised.", "source_trace_ids": ["tr-1"]}
        ],
    }
    body = {
        "name": "desk",
        "instructions_judge_pydantic_data": None,
        "memory_augmented_judge_data": memory,
    }
    path.write_text(json.dumps(body), encoding="utf-8")
    found = understand(read_own_prompt(path), AddOptions())
    assert found.prompt is not None
    assert found.prompt.criteria.endswith(
        "Small talk is fine.\n\nGuidelines:\n- Refunds are never promised."
    )
    assert "The examples that MLflow looks up for each row are not here." in found.notes


CAPITALS = """You compare a [LANGUAGE] text with its source. Domain: [DOMAIN_NAME].

Source text
[SOURCE_TEXT]

> [TRANSLATION]

Every number has to come through. [1] and [SIC] mark notes of the editor.

Reason: [REASON]
Verdict: [VERDICT]

The verdict is PASS or FAIL.
"""


def test_of_fields_in_capitals_all_are_fields(tmp_path: Path) -> None:
    """One alone on its line tells how they are written; what the judge fills in is none."""
    path = tmp_path / "judge.txt"
    path.write_text(CAPITALS.replace(" and [SIC]", ""), encoding="utf-8")
    prompt = understand(read_own_prompt(path), AddOptions(labels=("FAIL", "PASS"))).prompt
    assert prompt is not None
    assert prompt.inputs == ("LANGUAGE", "DOMAIN_NAME", "SOURCE_TEXT", "TRANSLATION")


def test_what_may_be_a_field_and_is_taken_for_text_is_said(tmp_path: Path) -> None:
    """Small letters in a sentence are too little to go by."""
    path = tmp_path / "judge.txt"
    path.write_text(
        f"{ROLE} It is about [name of product].\n\n[answer]\n\n{RULES}\n\n{ASKS}\n",
        encoding="utf-8",
    )
    found = understand(read_own_prompt(path), AddOptions())
    assert [note for note in found.notes if "write {name_of_product}" in note]


def test_a_doubled_per_cent_sign_is_one(tmp_path: Path) -> None:
    """A text that Python formats with % writes it so."""
    path = tmp_path / "judge.txt"
    rules = RULES.replace("promise refunds", "promise refunds of 100%%")
    path.write_text(
        f"{ROLE}\n\n%(question)s\n\n%(answer)s\n\n{rules}\n\n{ASKS}\n", encoding="utf-8"
    )
    prompt = understand(read_own_prompt(path), AddOptions()).prompt
    assert prompt is not None
    assert "of 100%." in prompt.criteria


def test_a_text_of_rules_beside_system_and_user_belongs_to_the_prompt(tmp_path: Path) -> None:
    """Unless the message with the row has a place for it."""
    rules = "Each sentence says one thing. Long words are explained at once. No double negation."
    user = "Text:\n{{text}}\n\nEnd with: Result: <number from 0 to 100>"
    path = tmp_path / "plain.toml"
    path.write_text(
        f'system = """You check plain language."""\nrules = """{rules}"""\nuser = """{user}"""\n',
        "utf-8",
    )
    judge = read_own_prompt(path)
    assert [message.text({"text": "T"}) for message in judge.messages][1] == rules
    assert "Its text under rules stands before the row here." in judge.notes
    filled = path.read_text("utf-8").replace("Text:", "{{rules}}\nText:")
    path.write_text(filled, "utf-8")
    assert len(read_own_prompt(path).messages) == 2


def test_messages_may_be_pairs_of_role_and_text(tmp_path: Path) -> None:
    """As LangChain takes them, in JSON."""
    ask = "Text: {text}\n\nEnd with: Result: <number from 0 to 100>"
    path = tmp_path / "evaluator.json"
    chat = [["system", "You check plain language. Each sentence says one thing."], ["human", ask]]
    path.write_text(json.dumps({"name": "plain", "prompt": chat}), "utf-8")
    assert [message.role for message in read_own_prompt(path).messages] == ["system", "user"]


def test_all_texts_of_a_schema_beside_the_prompt_are_asked_for(tmp_path: Path) -> None:
    """Where the prompt does not say how to answer, one sentence names each field, half points as
    numbers.
    """
    schema = "z.object({ good: z.string(), bad: z.string(), score: z.number().min(1).max(3) })"
    words = (
        "You check texts.\n\nFacts count more than style.\n\n${text}\n\nScore it from 1 to 3. Half"
        " points are allowed."
    )
    sends = "const { object } = await generateObject({ schema, prompt: JUDGE });"
    text = f"const schema = {schema};\nconst JUDGE = `{words}`;\n{sends}\n"
    path = tmp_path / "judge.ts"
    path.write_text(text, "utf-8")
    prompt = understand(read_own_prompt(path), AddOptions()).prompt
    assert prompt is not None
    assert list(prompt.reply_schema) == ["good", "bad", "score"]
    assert all(f'"{name}": ' in prompt.reply for name in prompt.reply_schema)
    asked = response_format(prompt)
    assert asked is not None
    assert asked["json_schema"]["schema"]["properties"]["score"] == {
        "type": "number",
        "enum": [1.0, 1.5, 2.0, 2.5, 3.0],
    }
