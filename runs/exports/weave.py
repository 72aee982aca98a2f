"""Weave: a scorer that sends the judge's own messages."""

from __future__ import annotations

from string import Template

from .message_templates import example_row, fill_module, module_differences, stem
from .source_text import literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target

_RESERVED = ("inputs", "kwargs", "model_output", "output", "self")
"""Arguments of `score` that Weave fills itself."""

_MODULE = Template('''\
"""$origin

A Weave scorer written by Judgewright. $decision.
"""

$imports
import weave
from openai import OpenAI
from pydantic import Field, PrivateAttr

$user_text

$messages

$reading

class Judge(weave.Scorer):
    """The judge as a Weave scorer; a reply without a grade leaves every value None, which Weave's means leave out."""

    name: str | None = NAME
    model: str
    base_url: str | None = None
    """Any endpoint that speaks the OpenAI protocol; the key is OPENAI_API_KEY."""
    output_is: str | None = None
    """The input that is the evaluated model's output; the row holds the others."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """What the request says otherwise than REQUEST; None leaves a part of it out."""
    _client: OpenAI | None = PrivateAttr(default=None)

    @weave.op
    def score(self, *, output=None, **kwargs):
        """Judge one row: its inputs by name; other names are ignored."""
        row = kwargs if self.output_is is None else {**kwargs, self.output_is: output}
        self._client = self._client or OpenAI(base_url=self.base_url)
        completion = self._client.chat.completions.create(
            model=self.model, messages=messages(row), **settings(**self.parameters)
        )
        try:
            grade, reasons = read_completion(completion)
        except ValueError as problem:
            return {$nothing, "reason": f"unscored: {problem}"}
        return {$something, "reason": reasons}
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the scorer.

    Raises:
        Refused: Weave takes one of its fields for itself.
    """
    prompt, scale = context.prompt, context.prompt.scale
    for field in prompt.inputs:
        if field in _RESERVED:
            raise Refused(f"Weave keeps the field {field!r} for itself")
    name = f"{stem(prompt)}_weave"
    if scale.kind == "choice":
        parts = {
            "nothing": '"label": None',
            "something": f'"label": {literal(scale.labels)}[int(grade)]',
        }
        how = "The label stands in `label`; our grade is the place in the list."
    else:
        parts = {
            "nothing": '"score": None, "positive": None',
            "something": '"score": grade, "positive": grade >= THRESHOLD',
        }
        how = "`score` is the judge's grade, unaltered."
    usage = (
        f"import weave\nfrom {name} import Judge\n"
        f'result = Judge(model="{context.model}").score(**{example_row(prompt.inputs)})\n'
        "# weave.Evaluation(dataset=rows,"
        f' scorers=[Judge(model="{context.model}")]).evaluate(your_model)'
    )
    return ExportedFiles(
        files={f"{name}.py": fill_module(_MODULE, context, **parts)},
        own_fences=True,
        differences=module_differences(context),
        scores=ScoreMap.of_grades(context, how),
        usage=usage,
    )


TARGET = Target(
    name="weave",
    tool="Weave 0.54",
    write=write,
    check="weave.py",
    requires=("weave>=0.53,<0.55", "openai>=2.20,<4"),
)
