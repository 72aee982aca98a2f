"""TruLens: a metric that sends our messages, and the entry for its registry."""

from __future__ import annotations

import re
from keyword import iskeyword
from string import Template

from .message_templates import example_row, fill_module, module_differences, stem
from .source_text import comment_text, json_text
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .template_parts import FENCE_DIFFERENCE, template_messages
from .template_syntaxes import chat_messages, double_brace

REGISTRY = "registry.json"
_STATEMENT = re.compile(r"\{%.*?%\}", re.DOTALL)
_RENDER_ARGUMENTS = frozenset({"self", "model_overrides", "strict"})

_MODULE = Template('''\
"""The judge $title for TruLens 2.16.

$origin.
$decision; as a TruLens score, at positive(score).
Written by Judgewright.
"""

$imports
from pathlib import Path

from trulens.core import Metric, TruSession

$user_text

$messages

$reading

LOW, HIGH = $low, $high


def score_of(grade):
    """Return TruLens' score for a grade: 0 for the lowest, 1 for the highest."""
    return (grade - LOW) / (HIGH - LOW)


def positive(score):
    """Whether a score counts as positive."""
    return score >= score_of(THRESHOLD)


def make_metric(provider, *, parameters=None, **options):
    """Return the judge as a TruLens metric.

    Args:
        provider: The model, as any TruLens LLM provider: `OpenAI(model_engine=..., base_url=...)`, `LiteLLM(...)`.
        parameters: What the request says otherwise than REQUEST; None leaves a part of it out.
        options: What `Metric` takes besides, `selectors` above all; a list of contexts is joined by blank lines.
    """

    def _ask(row):
        row = {name: text if isinstance(text, str) else "\\n\\n".join(text) for name, text in row.items()}
        # The provider's generate_score would ask for an answer format of its own and read 2 out of "2 of 3"; what it
        # calls in the end gives the text alone, and not how it ended, which only OpenAI's client is asked for.
        asked = {"messages": messages(row), **settings(**(parameters or {}))}
        client = getattr(provider.endpoint, "client", None)
        if hasattr(client, "chat"):
            create = client.chat.completions.create
            completion = provider.endpoint.run_in_pace(func=create, model=provider.model_engine, **asked)
            grade, reason = read_completion(completion)
        else:
            asked.pop("response_format", None)
            grade, reason = read_reply(provider.endpoint.run_in_pace(func=provider._create_chat_completion, **asked))
        return score_of(grade), {"reason": reason}

    def judge($arguments):
        return _ask({$row})

    return Metric(implementation=judge, name=NAME, metric_type=NAME, **options)


def push(bundle, database_url, *, label=None):
    """Store the prompt in a TruLens registry and return its version id; TruLens moves the label `latest` onto it.

    Args:
        bundle: The folder with $registry.
        database_url: Such as sqlite:///trulens.sqlite.
        label: A label to move as well, such as staging; none unless given.
    """
    entry = json.loads((Path(bundle) / "$registry").read_text(encoding="utf-8"))
    session = TruSession(database_url=database_url)
    prompt = session.create_prompt(**entry["prompt"])
    version = session.create_prompt_version(prompt, **entry["version"])
    if label is not None:
        session.set_prompt_label(prompt, label, version)
    return version.version_id
''')  # noqa: E501


def write(context: ExportContext) -> ExportedFiles:
    """Write the metric, and the registry's entry unless the registry would read the prompt's own
    text.

    Raises:
        Refused: The judge chooses among labels, or a field cannot be an argument.
    """
    prompt = context.prompt
    if prompt.scale.kind == "choice" and len(prompt.scale.labels) > 2:
        raise Refused(
            f"a TruLens metric is a number from 0 to 1, and the {len(prompt.scale.labels)} labels"
            f" of {prompt.name!r} have no order",
            hint="export it to mlflow or dspy, which keep labels",
        )
    for field in prompt.inputs:
        if iskeyword(field) or field == "self":
            raise Refused(
                f"the field {field!r} is a word of Python's own and cannot be an argument of a"
                " TruLens metric"
            )
    module = f"{stem(prompt)}_trulens"
    files = {f"{module}.py": _module(context)}
    differences = [
        (
            "With a provider of TruLens that has no OpenAI client, no response format is sent, and"
            " a reply that was cut off is read as if it were whole."
        ),
        *module_differences(context),
    ]
    try:
        files[REGISTRY] = _registry_entry(context)
        differences.append(f"{REGISTRY}: {FENCE_DIFFERENCE}")
    except Refused as reason:
        differences.append(f"{REGISTRY} is not written: {reason}.")
    return ExportedFiles(
        files=files,
        own_fences=True,
        differences=tuple(differences),
        scores=ScoreMap.of_shares(
            context, "TruLens' score is the grade's place between the ends of the scale."
        ),
        usage=f"from trulens.providers.openai import OpenAI\nimport {module}\n"
        f'metric = {module}.make_metric(OpenAI(model_engine="{context.model}"))\n'
        f"score, reasons = metric(**{example_row(prompt.inputs)})\n"
        f"# in an app: {module}.make_metric(provider, "
        f"selectors={{{prompt.inputs[0]!r}: Selector.select_record_input(), ...}})",
    )


def _module(context: ExportContext) -> str:
    prompt = context.prompt
    return fill_module(
        _MODULE,
        context,
        title=prompt.name,
        low=str(prompt.scale.low),
        high=str(prompt.scale.high),
        arguments=", ".join(prompt.inputs),
        row=", ".join(f'"{name}": {name}' for name in prompt.inputs),
        registry=REGISTRY,
    )


def _registry_entry(context: ExportContext) -> str:
    prompt = context.prompt
    for field in sorted(prompt.inputs):
        if field in _RENDER_ARGUMENTS:
            raise Refused(f"TruLens' registry cannot render the field {field!r}")
    messages = chat_messages(template_messages(prompt), double_brace)
    for message in messages:
        statement = _STATEMENT.search(message["content"])
        if statement:
            raise Refused(f"TruLens' registry refuses {statement.group()[:60]!r} in a prompt")
    body = {
        "prompt": {"slug": prompt.name, "name": prompt.name, "prompt_type": "chat"},
        "version": {
            "messages": messages,
            "variables": list(prompt.inputs),
            "model_defaults": {
                name: value for name, value in context.request.items() if name != "response_format"
            },
            "change_note": comment_text(context.origin),
        },
    }
    return json_text(body)


TARGET = Target(
    name="trulens",
    tool="TruLens 2.16",
    write=write,
    check="trulens.py",
    requires=(
        "trulens-core>=2.15,<2.17",
        "trulens-feedback>=2.15,<2.17",
        "trulens-providers-openai>=2.15,<2.17",
    ),
    push="from STEM_trulens import push\nprint(push('.', uri))",
)
