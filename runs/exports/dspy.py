"""DSPy: a signature, an adapter that sends our messages, and the saved state of the module made of
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from keyword import iskeyword
from string import Template
from typing import Any

from ...judges import Example, JudgePrompt, OutputScale
from .message_templates import example_row, fill_module, module_differences, stem
from .source_text import json_literal, json_text, literal, text_literal
from .target import SAME_LIMIT, ExportContext, ExportedFiles, Refused, ScoreMap, Target

STATE = "state.json"
REPLY_FIELD = "judgewright_reply"
"""The field of a saved demonstration that holds the reply as it was written."""
_RESERVED_NAMES = (
    "append append_instructions bool config construct copy delete demos dict dspy dump_state equals"
    " fields float from_orm input_fields insert instructions int json judgewright_reply lm"
    " load_state mro new_signature output_fields prediction prepend register schema schema_json"
    " self signature str update_forward_refs validate with_instructions with_updated_fields"
)
RESERVED = frozenset(_RESERVED_NAMES.split())
"""Names that a field of a DSPy signature cannot have: its class has them, `dspy.Predict` takes
them, or we do.
"""

_MODULE = Template('''\
"""The judge $title for DSPy 3.4.

$origin.
$decision.
Written by Judgewright.
"""

import inspect
$imports
from pathlib import Path

import dspy
from dspy.utils.exceptions import AdapterParseError

$user_text

REQUEST = $request
"""What a request says besides the model and the messages, unless the model was made with other settings."""

INSTRUCTIONS = $instructions


class JudgeSignature(dspy.Signature):
    __doc__ = INSTRUCTIONS

$fields

$reading

$value

class JudgeAdapter(dspy.Adapter):
    """Sends the judge's own messages and reads its own replies, where DSPy's adapters have headers of theirs."""

    def __call__(self, lm, lm_kwargs, signature, demos, inputs):
        given = {name: value for name, value in {**lm.kwargs, **lm_kwargs}.items() if value is not None}
        asked = self.format(signature, demos, inputs)
        replies = lm(messages=asked, **{**REQUEST, **given})
        return [self._read(signature, lm, asked, reply) for reply in replies]

    async def acall(self, lm, lm_kwargs, signature, demos, inputs):
        given = {name: value for name, value in {**lm.kwargs, **lm_kwargs}.items() if value is not None}
        asked = self.format(signature, demos, inputs)
        replies = await lm.acall(messages=asked, **{**REQUEST, **given})
        return [self._read(signature, lm, asked, reply) for reply in replies]

    def _read(self, signature, lm, asked, reply):
        # DSPy hands on the text alone, JSON in it written anew; what the endpoint said stands in the model's history.
        entry = next((one for one in reversed(lm.history) if one["messages"] is asked), None)
        completion = entry and entry["response"]
        if not hasattr(completion, "choices"):
            completion = getattr(completion, "provider_data", None)
        text = reply.get("text") if isinstance(reply, dict) else reply
        try:
            read_completion(completion) if completion is not None else read_reply(text)
        except ValueError as error:
            raise AdapterParseError("JudgeAdapter", signature, text or "", message=str(error)) from None
        return self.parse(signature, text or "")

    def format(self, signature, demos, inputs):
        # DSPy takes tabs and white space off instructions; where nothing else was changed, the judge's own text goes.
        same = signature.instructions == inspect.cleandoc(INSTRUCTIONS)
        messages = [{"role": "system", "content": INSTRUCTIONS if same else signature.instructions}]
        for demo in demos:
            reply = demo.get("$reply_field") or self.format_reply(signature, demo)
            messages.append({"role": "user", "content": user_text(demo)})
            messages.append({"role": "assistant", "content": reply})
        return [*messages, {"role": "user", "content": user_text(inputs)}]

    def format_reply(self, signature, demo):
        """Return the reply of a demonstration that DSPy made."""
        return json.dumps({name: demo.get(name) for name in signature.output_fields}, ensure_ascii=False)

    def parse(self, signature, completion):
        try:
            grade, reason = read_reply(completion)
        except ValueError as error:
            raise AdapterParseError("JudgeAdapter", signature, completion, message=str(error)) from None
        body = read_text(completion, REPLY_FORM).fields
        return {**{name: body.get(name) for name in signature.output_fields}, "$score": value_of(grade)}


class Judge(dspy.Module):
    """The judge; its prediction's `$score` is $what."""

    def __init__(self):
        super().__init__()
        self.judge = dspy.Predict(JudgeSignature)

    def forward(self, $arguments):
        with dspy.context(adapter=JudgeAdapter()):
            return self.judge($passed)


def load(bundle, lm=None):
    """Return the judge with its saved instructions and demonstrations.

    Args:
        bundle: The folder with $state.
        lm: The model, such as dspy.LM("openai/your-model", api_base=URL); the configured one unless given.

    Raises:
        ValueError: The saved fields are not the signature's, in its order. DSPy itself goes by position and checks
            nothing.
    """
    path = Path(bundle) / "$state"
    saved = json.loads(path.read_text(encoding="utf-8"))["judge"]["signature"]["fields"]
    if saved != JudgeSignature.dump_state()["fields"]:
        raise ValueError(f"{path}: its fields are not {list(JudgeSignature.fields)}, in this order")
    judge = Judge()
    judge.load(path)
    if lm is not None:
        judge.set_lm(lm)
    return judge
''')  # noqa: E501

_VALUE = '''\
def value_of(grade):
    """Return what the prediction's `{score}` is for a grade."""
    return {value}


def grade_of(prediction):
    """Return the grade of a prediction."""
    return {grade}


def positive(prediction):
    """Whether a prediction counts as positive."""
    return grade_of(prediction) >= THRESHOLD
'''


def write(context: ExportContext) -> ExportedFiles:
    """Write the module, and the saved state that it loads.

    Raises:
        Refused: A field of the row or of the reply has a name that a DSPy signature cannot have.
    """
    prompt = context.prompt
    outputs = [name for name, _ in _outputs(prompt)]
    for name in (*prompt.inputs, *outputs):
        reserved = name in RESERVED or iskeyword(name) or name.startswith(("_", "model_", "parse_"))
        if reserved or not name.isidentifier():
            raise Refused(f"a field of a DSPy signature cannot be called {name!r}")
    both = set(prompt.inputs).intersection(outputs)
    if both:
        raise Refused(
            f"{min(both)!r} is a field of the row and of the reply; a DSPy signature has it once"
        )
    module = f"{stem(prompt)}_dspy"
    score = _score_field(prompt)
    return ExportedFiles(
        files={f"{module}.py": _module(context), STATE: _state(prompt)},
        own_fences=True,
        also_sends=(SAME_LIMIT,),
        differences=(
            (
                f"{STATE} and JudgeSignature can be used with DSPy's own adapters too; they write"
                " headers and an answer format of their own around the judge's system message,"
                " which is then another judge."
            ),
            (
                "`dspy.Evaluate` counts a row without a verdict as `failure_score`, 0.0 unless you"
                " give another, which is no grade: leave such rows out of its average."
            ),
            *module_differences(context),
        ),
        unscored="counted as 0",
        scores=ScoreMap.of_grades(
            context,
            f"`grade_of(prediction)` is the grade; the prediction's {score!r} is"
            f" {_kind(prompt.scale)[2]}.",
        ),
        usage=f"import dspy\nimport {module}\n"
        f'judge = {module}.load(".", dspy.LM("openai/{context.model}"))  # the folder with'
        f" {STATE}\n"
        f"score = judge(**{example_row(prompt.inputs)}).{score}",
    )


def _module(context: ExportContext) -> str:
    prompt = context.prompt
    score = _score_field(prompt)
    annotation, value, what = _kind(prompt.scale)
    grade = f'float(prediction["{score}"])'
    if prompt.scale.labels:
        grade = f'float({literal(prompt.scale.labels)}.index(prediction["{score}"]))'
    if prompt.scale.low_is_good:
        grade = f"turned({grade})"
    return fill_module(
        _MODULE,
        context,
        title=prompt.name,
        request=json_literal(context.request),
        instructions=text_literal(prompt.system_text(), 0),
        fields="".join(_signature_fields(prompt, annotation)),
        value=_VALUE.format(score=score, value=value, grade=grade),
        score=score,
        what=what,
        reply_field=REPLY_FIELD,
        arguments=", ".join(prompt.inputs),
        passed=", ".join(f"{name}={name}" for name in prompt.inputs),
        state=STATE,
    )


def _signature_fields(prompt: JudgePrompt, score_annotation: str) -> Iterator[str]:
    for name, description in _inputs(prompt):
        yield _signature_field(name, "str", "InputField", description)
    annotations = {"text": "str", "confidence": "float", "score": score_annotation}
    for name, description in _outputs(prompt):
        kind = prompt.reply_schema.get(name, "score")
        yield _signature_field(name, annotations[kind], "OutputField", description)


def _signature_field(name: str, annotation: str, function: str, description: str) -> str:
    prefix = literal(_prefix(name))
    return (
        f"    {name}: {annotation} = dspy.{function}(prefix={prefix},"
        f" desc={literal(description)})\n"
    )


def _state(prompt: JudgePrompt) -> str:
    """Return the saved state of the module: DSPy gives the fields to the signature's by position,
    inputs first.
    """
    fields = [
        {"prefix": _prefix(name), "description": text}
        for name, text in (*_inputs(prompt), *_outputs(prompt))
    ]
    body = {
        "judge": {
            "traces": [],
            "train": [],
            "demos": [_demo(prompt, example) for example in prompt.examples],
            "signature": {"instructions": prompt.system_text(), "fields": fields},
            "lm": None,
        },
        "metadata": {"dependency_versions": {"dspy": version("dspy")}},
    }
    return json_text(body)


def _demo(prompt: JudgePrompt, example: Example) -> dict[str, Any]:  # Any: JSON
    """Return the demonstration's inputs, the fields of its reply where it is JSON, and the reply as
    it stands.
    """
    try:
        reply = json.loads(example.reply)
    except ValueError:
        reply = {}
    demo: dict[str, Any] = {name: example.inputs[name] for name in prompt.inputs}
    if isinstance(reply, dict):
        for name, _ in _outputs(prompt):
            if name in reply:
                demo[name] = reply[name]
    demo[REPLY_FIELD] = example.reply
    return demo


def _inputs(prompt: JudgePrompt) -> Iterator[tuple[str, str]]:
    for name in prompt.inputs:
        yield name, f"the {name.replace('_', ' ')}"


def _outputs(prompt: JudgePrompt) -> Iterator[tuple[str, str]]:
    scale = prompt.scale
    score = f"a whole number from {scale.low} to {scale.high}"
    if scale.kind == "probability":
        score = "a probability from 0 to 1"
    elif scale.labels:
        score = f"one of {', '.join(scale.labels)}"
    for name, kind in (prompt.reply_schema or {"score": "score"}).items():
        words = name.replace("_", " ")
        yield (
            name,
            {"text": f"the {words}", "confidence": f"the {words}, from 0 to 1", "score": score}[
                kind
            ],
        )


def _score_field(prompt: JudgePrompt) -> str:
    return next((name for name, kind in prompt.reply_schema.items() if kind == "score"), "score")


def _kind(scale: OutputScale) -> tuple[str, str, str]:
    """Return the annotation of the score, its value for a grade, and what that is."""
    if scale.labels:
        labels = literal(scale.labels)
        return f"Literal[{labels[1:-1]}]", f"{labels}[int(grade)]", "the label"
    if scale.low_is_good:  # as it stands in a reply: DSPy makes demonstrations of predictions
        return "float", "turned(grade)", "the judge's own number, of which low is good"
    return {
        "graded": ("int", "int(grade)", "the grade"),
        "binary": ("bool", "bool(grade)", "True or False"),
        "probability": ("float", "grade", "the probability"),
    }[scale.kind]


def _prefix(name: str) -> str:
    return name.replace("_", " ").title() + ":"


TARGET = Target(
    name="dspy", tool="DSPy 3.4", write=write, check="dspy.py", bundled=("dspy>=3.4,<3.5",)
)
