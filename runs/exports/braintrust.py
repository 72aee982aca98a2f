"""Braintrust: a scorer that sends the judge's own messages."""

from __future__ import annotations

from string import Template

from .message_templates import example_row, fill_module, module_differences, stem
from .source_text import literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target

_MODULE = Template('''\
"""$origin

A Braintrust $kind written by Judgewright. $decision.
"""

$imports
from braintrust import wrap_openai
from openai import OpenAI
$names

$user_text

$messages

$reading

LOW, HIGH = $low, $high
"""$ends"""


class Judge$base:
    """$says"""

    def __init__(self, model, client=None, output_is=None, parameters=None):
        """Take a model at any endpoint that speaks the OpenAI protocol.

        Args:
            model: Its name there.
            client: An OpenAI client; made from OPENAI_API_KEY and OPENAI_BASE_URL, and traced, unless given.
            output_is: The input that is the task's output; the case's input, or its metadata, hold the others.
            parameters: What the request says otherwise than REQUEST; None leaves a part of it out.
        """
        self.model = model
        self.client = client or wrap_openai(OpenAI())
        self.output_is = output_is
        self.parameters = parameters or {}
        self.__name__ = NAME

    def _name(self):
        return NAME

    def $method(self, output=None, expected=None, input=None, metadata=None, **_):
        """Judge one case; $without."""
        given = input if isinstance(input, Mapping) else {}
        row = {**(metadata or {}), **given}
        if self.output_is is not None:
            row[self.output_is] = output
        completion = self.client.chat.completions.create(
            model=self.model, messages=messages(row), **settings(**self.parameters)
        )
        try:
            grade, reasons = read_completion(completion)
        except ValueError as problem:
            return $nothing
        return $result
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the scorer, or the classifier of a judge that chooses among labels."""
    prompt, scale = context.prompt, context.prompt.scale
    name = f"{stem(prompt)}_braintrust"
    if "self" in prompt.inputs:
        raise Refused("a field 'self' cannot be handed to Braintrust")
    if scale.kind == "choice":
        parts = {
            "kind": "classifier",
            "names": "from braintrust import Classification",
            "ends": "The places of the first and the last label.",
            "base": "",
            "says": "The judge as a Braintrust classifier, for `Eval(classifiers=[...])`.",
            "method": "__call__",
            "without": "a reply without a label gives no classification",
            "nothing": "None",
            "result": (
                f"Classification(id={literal(scale.labels)}[int(grade)], name=NAME,"
                ' metadata={"reason": reasons})'
            ),
        }
        scores = ScoreMap.of_grades(
            context, "The id of the classification is the label; our grade is its place."
        )
        shown = "classification"
    else:
        parts = {
            "kind": "scorer",
            "names": "from autoevals import Score, Scorer",
            "ends": "The judge's lowest and highest grade; scores run from 0 to 1 between them.",
            "base": "(Scorer)",
            "says": "The judge as a Braintrust scorer, for `Eval(scores=[...])`.",
            "method": "_run_eval_sync",
            "without": "a reply without a grade has the score None, which Braintrust leaves out",
            "nothing": 'Score(name=NAME, score=None, metadata={"unscored": str(problem)})',
            "result": (
                "Score(\n            name=NAME,\n            score=(grade - LOW) / (HIGH - LOW),\n "
                '           metadata={"grade": grade, "positive": grade >= THRESHOLD, "reason":'
                " reasons},\n        )"
            ),
        }
        how = (
            "Scores run from 0 at the lowest grade to 1 at the highest; metadata hold the grade and"
            " the decision."
        )
        scores = ScoreMap.of_shares(context, how)
        shown = "score"
    module = fill_module(_MODULE, context, low=str(scale.low), high=str(scale.high), **parts)
    return ExportedFiles(
        files={f"{name}.py": module},
        own_fences=True,
        differences=module_differences(context),
        scores=scores,
        usage=(
            f"from {name} import Judge\n"
            f'{shown} = Judge("{context.model}")(None, input={example_row(prompt.inputs)})\n'
            '# braintrust.Eval("project", data=..., task=...,'
            f" {'classifiers' if scale.kind == 'choice' else 'scores'}"
            f'=[Judge("{context.model}")])'
        ),
    )


TARGET = Target(
    name="braintrust",
    tool="Braintrust 0.47",
    write=write,
    check="braintrust.py",
    requires=("braintrust>=0.46,<0.49", "autoevals>=0.4,<0.5", "openai>=2.20,<4"),
)
