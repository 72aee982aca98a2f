"""openevals: an evaluator made by `create_llm_as_judge` that asks with our own messages, fences and
reply format.
"""

from __future__ import annotations

from string import Template

from .message_templates import example_row, fill_module, module_differences, stem
from .target import SAME_LIMIT, ExportContext, ExportedFiles, Refused, ScoreMap, Target

_RESERVED = (
    "attachments",
    "config",
    "feedback_key",
    "langsmith_extra",
    "ls_framework",
    "return_raw_outputs",
    "run_name",
    "scorer",
)
"""Arguments of openevals and of LangSmith's tracing, which the prompt never sees."""

_MODULE = Template('''\
"""$origin

$decision. Written by Judgewright for openevals.
"""

$imports
from types import SimpleNamespace

from openevals.llm import create_llm_as_judge

$user_text

$messages

$reading

class AskedModel:
    """A model as openevals knows one, which asks as the judge is asked and hands on the grade that was read."""

    def __init__(self, judge, parameters):
        self.judge = judge
        self.parameters = settings(**(parameters or {}))
        self.chat = SimpleNamespace(completions=self)

    def create(self, *, model, messages, **_):
        """Ask, and answer with the grade in place of the reply; openevals itself does not see how a reply ended."""
        if hasattr(self.judge, "chat"):
            grade, reasons = read_completion(
                self.judge.chat.completions.create(model=model, messages=messages, **self.parameters)
            )
        else:
            message = self.judge.bind(**self.parameters).invoke(messages)
            told = message.response_metadata
            ending = "tool_calls" if message.tool_calls else told.get("finish_reason") or told.get("stop_reason") or ""
            grade, reasons = read_reply(str(message.text), ending, message.additional_kwargs.get("refusal"))
        content = json.dumps({"grade": grade, "reasons": reasons})
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=content))])


def evaluator(judge, *, model=NAME, parameters=None, **options):
    """Return an evaluator of rows.

    Args:
        judge: A LangChain chat model; or an OpenAI client, and then `model="NAME"` beside it.
        parameters: What the request says otherwise than REQUEST; None leaves a part of it out.
        options: More for `create_llm_as_judge`.
    """

    def asked(inputs=None, outputs=None, reference_outputs=None, **row):
        given = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        return messages({**given, **row})

    told = AskedModel(judge, parameters)
    ask = create_llm_as_judge(
        prompt=asked, judge=told, model=model, feedback_key=NAME, output_schema={"title": "verdict"}, **options
    )

    def evaluate(**row):
        """Return the feedback on one row, given by its fields; raise ValueError where the reply has no grade."""
        read = ask(**row)
        score, reasons = read["grade"], read["reasons"]
        told = {"positive": score >= THRESHOLD, "version": VERSION}
        return {"key": NAME, "score": score, "comment": reasons, "metadata": told}

    return evaluate
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the module.

    Raises:
        Refused: openevals takes one of its fields for itself.
    """
    prompt, name = context.prompt, f"{stem(context.prompt)}_openevals"
    for field in prompt.inputs:
        if field in _RESERVED:
            raise Refused(f"openevals keeps the field {field!r} for itself")
    text = fill_module(_MODULE, context)
    return ExportedFiles(
        files={f"{name}.py": text},
        own_fences=True,
        also_sends=(SAME_LIMIT, "stream"),
        differences=module_differences(context),
        scores=ScoreMap.of_grades(context, "The score is the judge's own grade."),
        usage=(
            f"from langchain_openai import ChatOpenAI\n"
            f"from {name} import evaluator\n"
            "feedback ="
            f' evaluator(ChatOpenAI(model="{context.model}"))(**{example_row(prompt.inputs)})'
        ),
    )


TARGET = Target(
    name="openevals",
    tool="openevals 0.2",
    write=write,
    check="openevals.py",
    requires=("openevals>=0.2,<0.3",),
)
