"""Arize Phoenix: an evaluator that sends the judge's own messages, and a prompt for its store."""

from __future__ import annotations

from string import Template

from .message_templates import example_row, fill_module, module_differences, stem
from .source_text import json_text, literal
from .target import ExportContext, ExportedFiles, Refused, ScoreMap, Target
from .template_parts import template_messages
from .template_syntaxes import chat_messages, double_brace

_MODULE = Template('''\
"""$origin

A Phoenix evaluator written by Judgewright. $decision.
"""

$imports
${store_imports}
from phoenix.evals import Evaluator, Score
from pydantic import create_model

$user_text

$messages

$reading

class Judge(Evaluator):
    """The judge as a Phoenix evaluator; its score is the judge's grade, None where the reply has none."""

    def __init__(self, llm, *, name=NAME, **parameters):
        """Take an LLM of Phoenix's kind.

        Args:
            parameters: What the request says otherwise than REQUEST; None leaves a part of it out.
        """
        inputs = create_model("Row", **{field: (str, ...) for field in INPUTS})
        super().__init__(name=name, kind="llm", direction="$direction", input_schema=inputs)
        self.llm = llm
        self.parameters = settings(**parameters)

    def _evaluate(self, eval_input):
        # generate_text gives the text alone, and not how it ended; clients of other kinds than OpenAI's give no more.
        create, asked = self._client(self.llm._sync_adapter), messages(eval_input)
        if create is None:
            return [self._score(read_reply, self.llm.generate_text(asked, **self.parameters))]
        return [self._score(read_completion, create(model=self.llm.model, messages=asked, **self.parameters))]

    async def _async_evaluate(self, eval_input):
        create, asked = self._client(self.llm._async_adapter), messages(eval_input)
        if create is None:
            return [self._score(read_reply, await self.llm.async_generate_text(asked, **self.parameters))]
        return [self._score(read_completion, await create(model=self.llm.model, messages=asked, **self.parameters))]

    def _client(self, adapter):
        return adapter.client.chat.completions.create if adapter.client_name() == "openai" else None

    def _score(self, read, reply):
        told = {"name": self.name, "kind": "llm", "direction": self.direction}
        try:
            grade, reasons = read(reply)
        except ValueError as problem:
            return Score(explanation=f"unscored: {problem}", metadata={"model": self.llm.model}, **told)
        metadata = {"model": self.llm.model, "judge": f"{NAME}@{VERSION}"}
        label = $label
        return Score(score=grade, label=label, explanation=reasons, metadata=metadata, **told)
$store''')  # noqa: E501

_STORE = Template('''

def stored_messages():
    """Return the messages of the prompt that lies beside this file, with {{name}} where a row's fields go."""
    return json.loads(Path(__file__).with_name("$prompt_file").read_text(encoding="utf-8"))


def push(model_name=$model, *, client=None, model_provider="OPENAI", name=NAME):
    """Store the prompt in Phoenix, for people to read and try.

    Args:
        model_name: The model it is tried with there.
        client: A phoenix.client.Client(base_url=..., api_key=...); made from the environment unless given.
    """
    from phoenix.client import Client
    from phoenix.client.types import PromptVersion

    version = PromptVersion(
        stored_messages(),
        model_name=model_name,
        model_provider=model_provider,
        template_format="MUSTACHE",
        description=$origin_text,
    )
    return (client or Client()).prompts.create(name=name, version=version)
''')  # noqa: E501

_CLIENT_DIFFERENCE = (
    "With an LLM of another provider than OpenAI, Phoenix gives the text of a reply and not how it"
    " ended: one that was cut off is read as if it were whole."
)


def write(context: ExportContext) -> ExportedFiles:
    """Write the evaluator, and beside it the prompt it can store, unless the prompt's own text
    would be read there.
    """
    prompt, scale = context.prompt, context.prompt.scale
    name = f"{stem(prompt)}_phoenix"
    files, store, store_imports = {}, "", ""
    differences = [_CLIENT_DIFFERENCE, *module_differences(context)]
    try:
        messages = chat_messages(template_messages(prompt), double_brace)
    except Refused as reason:
        differences.append(f"There is no prompt for Phoenix's store: {reason}.")
    else:
        files[f"{name}.json"] = json_text(messages)
        store = _STORE.substitute(
            prompt_file=f"{name}.json",
            origin_text=repr(context.origin),
            model=literal(context.model),
        )
        store_imports = "from pathlib import Path\n"
        differences.append(
            f"{name}.json, which push() stores, has fixed tags as fences; the evaluator has the"
            " judge's own. Phoenix's client fills the stored prompt field by field, so that"
            " {{name}} in a row's text is filled too; the evaluator fills in one pass."
        )
    if scale.kind == "choice":
        direction, label = "neutral", f"{literal(scale.labels)}[int(grade)]"
        how = "The score is the place of its label, which the score names too."
    else:
        direction, label = "maximize", '"positive" if grade >= THRESHOLD else "negative"'
        how = "The score is the judge's grade, unaltered."
    module = fill_module(
        _MODULE,
        context,
        store_imports=store_imports,
        direction=direction,
        label=label,
        store=store,
    )
    return ExportedFiles(
        files={f"{name}.py": module, **files},
        own_fences=True,
        differences=tuple(differences),
        scores=ScoreMap.of_grades(context, how),
        usage=(
            f"from phoenix.evals import LLM\nfrom {name} import Judge\n"
            '[score] = Judge(LLM(provider="openai",'
            f' model="{context.model}")).evaluate({example_row(prompt.inputs)})'
        ),
    )


TARGET = Target(
    name="phoenix",
    tool="Arize Phoenix evals 3",
    write=write,
    check="phoenix.py",
    push=(
        "from phoenix.client import Client\nfrom STEM_phoenix import push\n"
        "stored = push(client=Client(base_url=uri))\nprint(stored.id)"
    ),
    requires=("arize-phoenix-evals>=3.8,<4", "arize-phoenix-client>=3.4,<4", "openai>=2.20,<4"),
)
