"""Azure AI Evaluation: an evaluator that sends the judge's own messages."""

from __future__ import annotations

from keyword import iskeyword
from string import Template

from .message_templates import example_row, fill_module, module_differences, stem
from .source_text import literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target

_RESERVED = ("args", "cls", "kwargs", "self")
"""Names of arguments that Azure leaves out."""

_MODULE = Template('''\
"""$origin

An evaluator for Azure AI Evaluation written by Judgewright. $decision.
"""

$imports
from openai import AzureOpenAI, OpenAI

$user_text

$messages

$reading

class Judge:
    """The judge as an evaluator; a reply without a grade raises ValueError, and that row has no result."""

    def __init__(self, model_config, parameters=None):
        """Take a model as Azure's own evaluators do.

        Args:
            model_config: An OpenAIModelConfiguration or an AzureOpenAIModelConfiguration.
            parameters: What the request says otherwise than REQUEST; None leaves a part of it out.
        """
        if endpoint := model_config.get("azure_endpoint"):
            self.model = model_config["azure_deployment"]
            self.client = AzureOpenAI(
                azure_endpoint=endpoint,
                azure_deployment=self.model,
                api_key=model_config.get("api_key"),
                api_version=model_config.get("api_version") or "2024-10-21",
            )
        else:
            self.model = model_config["model"]
            self.client = OpenAI(
                api_key=model_config.get("api_key"),
                base_url=model_config.get("base_url"),
                organization=model_config.get("organization"),
                default_headers=model_config.get("extra_headers"),
            )
        self.parameters = parameters or {}

    def __call__(self, *, $arguments):
        """Judge one row."""
        return self._judge({$row})

    def _judge(self, row):
        completion = self.client.chat.completions.create(
            model=self.model, messages=messages(row), **settings(**self.parameters)
        )
        grade, reasons = read_completion(completion)
        return {$result}
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the evaluator.

    Raises:
        Refused: A field cannot be an argument.
    """
    prompt, scale = context.prompt, context.prompt.scale
    for field in prompt.inputs:
        if field in _RESERVED or iskeyword(field):
            raise Refused(f"a field {field!r} cannot be an argument of an evaluator of Azure's")
    name = f"{stem(prompt)}_azure"
    reason = 'f"{NAME}_reason": reasons'
    if scale.kind == "choice":
        result = f'f"{{NAME}}_label": {literal(scale.labels)}[int(grade)], {reason}'
        how = "The label stands in NAME_label; our grade is the place in the list."
    else:
        result = (
            f'NAME: grade, f"{{NAME}}_result": "pass" if grade >= THRESHOLD else "fail", {reason}'
        )
        how = (
            "The result of the judge's name is its grade, unaltered; NAME_result is the decision,"
            " pass or fail."
        )
    module = fill_module(
        _MODULE,
        context,
        arguments=", ".join(prompt.inputs),
        row=", ".join(f"{literal(field)}: {field}" for field in prompt.inputs),
        result=result,
    )
    return ExportedFiles(
        files={f"{name}.py": module},
        own_fences=True,
        differences=module_differences(context),
        scores=ScoreMap.of_grades(context, how),
        usage=(
            f"from {name} import Judge\n"
            f'model_config = {{"model": "{context.model}"}}  # with OPENAI_API_KEY; or as for'
            " Azure's own evaluators\n"
            f"result = Judge(model_config)(**{example_row(prompt.inputs)})\n"
            '# azure.ai.evaluation.evaluate(data="rows.jsonl", evaluators={"judge":'
            " Judge(model_config)})"
        ),
    )


TARGET = Target(
    name="azure",
    tool="Azure AI Evaluation 1.18",
    write=write,
    check="azure.py",
    requires=("azure-ai-evaluation>=1.18,<1.19", "openai>=2.20,<4"),
)
