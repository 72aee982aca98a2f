"""Prompts as people write them: forty files, read without a hint, with the answers that models give to them."""  # noqa: E501

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from judgewright.judges import (
    Completion,
    InputError,
    JudgePrompt,
    OutputScale,
    Row,
    Verdict,
    load_prompt,
    read_reply,
    response_format,
)
from judgewright.runs.exports import TARGETS, ExportContext, write_export
from judgewright.runs.imports import AddOptions, read_back, read_own_prompt, understand

FOLDER = Path(__file__).parent / "own_prompts"
CASES: list[tuple[Path, dict[str, Any]]] = [
    (folder / case["file"], case)
    for folder in (FOLDER, FOLDER / "unseen")
    for case in yaml.safe_load((folder / "expected.yaml").read_text(encoding="utf-8"))
]
"""Of the first thirty the reader was made; the ten in `unseen` were written afterwards."""


def options(case: dict[str, Any]) -> AddOptions:
    """What a person says where the file has to be asked about."""
    said = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in case.get("options", {}).items()
    }
    return AddOptions(**said)


def added(path: Path, case: dict[str, Any]) -> JudgePrompt:
    """The judge that a file becomes."""
    prompt = understand(read_own_prompt(path), options(case)).prompt
    assert prompt is not None
    return prompt


def score(prompt: JudgePrompt, reply: str) -> float | None:
    """The grade of a reply."""
    answer = read_reply(prompt, Completion(text=reply))
    return answer.score if isinstance(answer, Verdict) else None


@pytest.mark.parametrize(("path", "case"), CASES, ids=[path.name for path, _ in CASES])
class TestPrompt:
    """Each prompt of the collection."""

    def test_inputs_scale_and_criteria_are_the_users(
        self, path: Path, case: dict[str, Any]
    ) -> None:
        """Fields keep their names, labels their words; criteria hold the rules and nothing else."""
        prompt = added(path, case)
        assert list(prompt.inputs) == case["inputs"]
        told = {name: getattr(prompt.scale, name) for name in case["scale"]}
        assert {
            name: list(value) if isinstance(value, tuple) else value for name, value in told.items()
        } == case["scale"]
        assert case["criteria"] in prompt.criteria
        assert [other for other in case["others"] if other in prompt.criteria] == []
        assert len(prompt.examples) == case.get("examples", 0)

    def test_typical_answers_are_read(self, path: Path, case: dict[str, Any]) -> None:
        """Every answer that models give to it has its grade."""
        prompt = added(path, case)
        assert [score(prompt, reply) for reply, _ in case["answers"]] == [
            grade for _, grade in case["answers"]
        ]

    def test_its_words_are_sent_in_their_order(self, path: Path, case: dict[str, Any]) -> None:
        """All that a text says is sent, and but for criteria that stood after the row in its order."""  # noqa: E501
        prompt = added(path, case)
        row = Row(id="r", inputs={name: f"<<{name}>>" for name in prompt.inputs})
        sent = "\n".join(str(message.content) for message in prompt.messages(row))
        sent = re.sub(r"</?([A-Za-z_]\w*)-[0-9a-f]{8}>", " ", sent)
        if path.suffix != ".txt":
            assert prompt.criteria in sent
            return
        text = path.read_text(encoding="utf-8").replace("{{{", "{").replace("}}}", "}")
        for name in prompt.inputs:
            text = text.replace(f"{{{{{name}}}}}", f"<<{name}>>").replace(
                f"{{{name}}}", f"<<{name}>>"
            )
        if "{{" in text:
            text = text.replace("{{", "{").replace("}}", "}")
        expected = text.split()
        moved = any(
            "stand after a field" in note
            for note in understand(read_own_prompt(path), options(case)).notes
        )
        words = iter(sent.split())
        assert moved or all(word in words for word in expected)
        assert set(expected) <= set(sent.split())

    def test_it_is_the_same_from_its_own_file(self, path: Path, case: dict[str, Any]) -> None:
        """What is saved is what was shown."""
        prompt = added(path, case)
        assert load_prompt(prompt.to_yaml()) == prompt

    @pytest.mark.parametrize("target", ["python", "promptfoo", "yaml", "langchain", "inspect"])
    def test_it_goes_out_and_comes_home(
        self, target: str, path: Path, case: dict[str, Any], tmp_path: Path
    ) -> None:
        """Export and import: one version."""
        prompt = added(path, case)
        if target == "promptfoo" and "output" in prompt.inputs:
            prompt = added(path, case | {"options": {"fields": {"output": "written"}}})
        write_export(
            ExportContext(prompt=prompt, rule=prompt.rule, provenance={}),
            TARGETS[target],
            tmp_path / "out",
        )
        assert read_back(tmp_path / "out").prompt.version == prompt.version

    def test_the_exported_module_reads_the_same(
        self, path: Path, case: dict[str, Any], tmp_path: Path
    ) -> None:
        """The Python that goes with an export gives each typical answer its grade."""
        prompt = added(path, case)
        write_export(
            ExportContext(prompt=prompt, rule=prompt.rule, provenance={}),
            TARGETS["python"],
            tmp_path / "out",
        )
        (module,) = (tmp_path / "out").glob("*.py")
        names: dict[str, Any] = {}
        exec(compile(module.read_text(encoding="utf-8"), module.name, "exec"), names)
        found = [names["read_reply"](reply)[0] for reply, _ in case["answers"]]
        assert found == [grade for _, grade in case["answers"]]


@pytest.mark.parametrize(
    ("path", "case"), [(p, c) for p, c in CASES if "asks" in c], ids=lambda value: str(value)[-20:]
)
def test_what_the_words_leave_open_is_asked(path: Path, case: dict[str, Any]) -> None:
    """There is no judge until it is said, and the question names the option."""
    found = understand(read_own_prompt(path), AddOptions())
    assert found.prompt is None
    assert [question for question in found.questions if case["asks"] in question.text]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_promptfoo_grader_reads_the_same(tmp_path: Path) -> None:
    """Its JavaScript gives the typical answers their grades, at every mark, path and named grade."""  # noqa: E501
    cases: list[tuple[str, object, str, float]] = []
    for path, case in CASES:
        prompt = added(path, case)
        if "output" in prompt.inputs:  # promptfoo sets it itself
            continue
        out = tmp_path / path.stem
        write_export(
            ExportContext(prompt=prompt, rule=prompt.rule, provenance={}), TARGETS["promptfoo"], out
        )
        (grader,) = out.glob("*.grader.mjs")
        form = re.search(
            r"^const REPLY_FORM = (.*);", grader.read_text(encoding="utf-8"), re.MULTILINE
        )
        assert form is not None
        reader = str(out / "reply_reading.mjs")
        cases += [
            (reader, json.loads(form.group(1)), reply, grade) for reply, grade in case["answers"]
        ]
    script = tmp_path / "run.mjs"
    script.write_text(
        "const found = [];\n"
        f"for (const [file, form, reply, grade] of {json.dumps(cases)}) {{\n"
        "  const { readReply } = await import(file);\n"
        "  let score; try { score = readReply(reply, form).score } catch (error) { score = String(error) }\n"  # noqa: E501
        "  if (score !== grade) found.push([file.split('/').at(-2), reply, grade, score]);\n"
        "}\nconsole.log(JSON.stringify(found));\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        ["node", str(script)], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == []


def test_a_nested_answer_has_a_nested_schema() -> None:
    """Where an endpoint holds the model to a schema, it is that of the user's own JSON."""
    path = FOLDER / "24_nested.txt"
    form = response_format(added(path, {}))
    assert form is not None
    inner = form["json_schema"]["schema"]["properties"]["evaluation"]
    assert list(inner["properties"]) == ["reason", "score"]
    assert inner["properties"]["score"]["enum"] == [1, 2, 3, 4, 5]


FRESH: list[dict[str, Any]] = yaml.safe_load(
    (FOLDER / "fresh" / "expected.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", FRESH, ids=[case["file"] for case in FRESH])
def test_prompts_by_somebody_else(case: dict[str, Any]) -> None:
    """Words, fields and scale are theirs; what cannot be read is unscored, never another grade."""
    path = FOLDER / "fresh" / case["file"]
    if "refused" in case:
        with pytest.raises(InputError, match="depends on item"):
            read_own_prompt(path)
        return
    found = understand(read_own_prompt(path, case.get("string")), AddOptions())
    if "asks" in case:
        assert [question.option for question in found.questions] == [case["asks"]]
        return
    assert found.prompt is not None
    assert list(found.prompt.inputs) == case["inputs"]
    told = {name: getattr(found.prompt.scale, name) for name in case["scale"]}
    assert {
        name: list(value) if isinstance(value, tuple) else value for name, value in told.items()
    } == case["scale"]
    assert [score(found.prompt, reply) for reply, _ in case["answers"]] == [
        grade for _, grade in case["answers"]
    ]
    assert [score(found.prompt, reply) for reply in case.get("unread", ())] == [None] * len(
        case.get("unread", ())
    )


FORMS: list[dict[str, Any]] = [
    case
    for path in sorted((FOLDER / "forms").glob("*.yaml"))
    for case in yaml.safe_load(path.read_text(encoding="utf-8"))
]


def in_short(scale: OutputScale) -> str:
    """Write a scale as the tables in `forms` do."""
    if scale.low_is_good:
        return "low prob"
    if scale.kind in ("probability", "choice"):
        return " ".join(
            ("prob" if scale.kind == "probability" else "choice", ",".join(scale.labels))
        ).strip()
    if len(scale.labels) > 20:
        return f"{scale.labels[0]}..{scale.labels[-1]}"
    return "<".join(scale.labels) or (
        "bit" if scale.kind == "binary" else f"{scale.low}..{scale.high}"
    )


@pytest.mark.parametrize("case", FORMS, ids=[case["name"] for case in FORMS])
def test_forms_of_prompts(case: dict[str, Any], tmp_path: Path) -> None:
    """What the words say is read without a hint, and what they leave open is asked and never guessed."""  # noqa: E501
    path = tmp_path / (case["name"] + case.get("ext", ".txt"))
    path.write_text(case["text"], encoding="utf-8")
    if "refused" in case:
        with pytest.raises(InputError, match=case["refused"]):
            read_own_prompt(path)
        return
    found = understand(read_own_prompt(path), AddOptions())
    asked = case.get("asks", [])
    assert [question.option for question in found.questions] == (
        [asked] if isinstance(asked, str) else asked
    )
    if found.prompt is None:
        return
    scale = found.prompt.scale
    assert (set(found.prompt.inputs), in_short(scale)) == (set(case["inputs"]), case["scale"])
    if "from" in case:
        least = scale.labels[int(scale.threshold)] if scale.labels else scale.threshold
        assert least == case["from"]
    assert case.get("criteria", "") in found.prompt.criteria
    assert [other for other in case.get("others", ()) if other in found.prompt.criteria] == []
    assert [score(found.prompt, reply) for reply, _ in case["answers"]] == [
        grade for _, grade in case["answers"]
    ]
