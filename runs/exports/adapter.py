"""How a judge becomes files of a Python tool: an adapter of `adapters/` as it stands, and the judge
beside it as data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from keyword import iskeyword
from typing import Any, Literal

from ...judges import JudgePrompt, OutputScale
from ...judges.asked_question import AskedQuestion
from ...judges.models.decision_wire import wire_body
from ...judges.models.question import INTERFACES, DecisionApi
from .carried_cases import cases_body, chooser_files
from .source_text import comment_text, json_text
from .stored_prompts import PROMPT, STORED
from .target import ExportContext, ExportedFiles, Refused, ScoreMap

JUDGE_FILE = "judge.json"
SLOW_FILE = "slow_judge.json"
"""The judge that the slow model of a cascade is."""
READER = ("judgewright_judge.py", "reply_reading.py")
"""What every adapter imports; both lie beside it."""
DISTRIBUTION_READER = "distribution_reading.py"
"""What reads the answers of decision models."""
_RESERVED_BY_DSPY = (
    "append append_instructions bool config construct copy delete demos dict dspy dump_state equals"
    " fields float from_orm input_fields insert instructions int json judgewright_reply lm"
    " load_state mro new_signature output_fields prediction prepend register schema schema_json"
    " self signature str update_forward_refs validate with_instructions with_updated_fields"
)
RESERVED = frozenset(_RESERVED_BY_DSPY.split())
"""Names that a field of a DSPy signature cannot have: its class has them, `dspy.Predict` takes
them, or we do.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """A tool's entry in `targets.yaml`, which says what the parts are: called with a judge, it
    returns the files.
    """

    name: str
    usage: str
    how: str
    how_choice: str = ""
    shares: bool = False
    taken: Sequence[str] = ()
    why_taken: str = ""
    keywords: bool = False
    no_labels: str = ""
    task: str = ""
    differences: Sequence[str] = ()
    chat_differences: Sequence[str] = ()
    own_fences: bool = True
    also_sends: Sequence[str] = ()
    unread: Sequence[str] = ()
    unscored: Literal["left out", "counted as 0"] = "left out"

    def __call__(self, context: ExportContext) -> ExportedFiles:
        """Return the files of a judge.

        Raises:
            Refused: The tool cannot carry it.
        """
        prompt = context.prompt
        self._check(prompt)
        module, chooses = f"{stem(prompt)}_{self.name}", prompt.scale.kind == "choice"
        values = {
            "module": module,
            "model": context.model,
            "judge": prompt.name,
            "row": example_row(*prompt.inputs),
            "first": example_row(*prompt.inputs[:-1]) if prompt.inputs[1:] else "",
            "last": prompt.inputs[-1],
            "chooses": chooses,
            "path": "" if context.api is None else INTERFACES[context.api].path,
            "version": prompt.version,
            "origin": comment_text(context.origin),
        }
        own, notes = self._own_files(context)
        judges = {JUDGE_FILE: context} | ({SLOW_FILE: context.slow} if context.slow else {})
        asks_chat = context.api is None
        if self.task:
            own[f"{module}.yaml"] = _render(adapter_text(self.task), values)
        how = self.how_choice if chooses and self.how_choice else self.how
        return ExportedFiles(
            files={
                **own,
                **{name: json_text(judge_body(one)) for name, one in judges.items()},
                **reader(*([] if asks_chat else [DISTRIBUTION_READER])),
                **(chooser_files(prompt) if asks_chat or context.slow else {}),
            },
            own_fences=self.own_fences,
            differences=(
                *self.differences,
                *(self.chat_differences if asks_chat else ()),
                *notes,
                *calibration_notes(context),
                *_cascade_notes(prompt),
            ),
            also_sends=tuple(self.also_sends) if asks_chat else (),
            unread=tuple(self.unread),
            unscored=self.unscored,
            scores=ScoreMap.of(context, how, shares=self.shares and not chooses),
            usage=_render(self.usage, values),
        )

    def _own_files(self, context: ExportContext) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return what is the tool's own, and why there is no prompt for its store."""
        own: dict[str, str] = {}
        if self.name != "python":  # which the reader is enough for
            own[f"{stem(context.prompt)}_{self.name}.py"] = adapter_text(f"{self.name}_judge.py")
        if self.name not in STORED or context.api is not None:
            return own, ()
        try:
            return {**own, PROMPT: json_text(STORED[self.name](context))}, ()
        except Refused as reason:
            if not self.own_fences:  # the tool has nothing but the prompt
                raise
            return own, (f"{PROMPT} is not written: {reason}.",)

    def _check(self, prompt: JudgePrompt) -> None:
        """Raise `Refused` for a judge that the tool cannot carry."""
        for field in prompt.inputs:
            if field in self.taken or (self.keywords and iskeyword(field)):
                raise Refused(self.why_taken.format(repr(field)))
        labels = prompt.scale.labels
        if self.no_labels and prompt.scale.kind == "choice":
            raise Refused(
                f"{prompt.name} chooses one of {', '.join(labels)}: {self.no_labels}",
                hint="export it to mlflow or dspy, which keep labels",
            )
        if self.name == "dspy":
            _check_signature(prompt)


def _check_signature(prompt: JudgePrompt) -> None:
    outputs = tuple(prompt.reply_schema or {"score": "score"})
    for name in (*prompt.inputs, *outputs):
        taken = name in RESERVED or iskeyword(name) or name.startswith(("_", "model_", "parse_"))
        if taken or not name.isidentifier():
            raise Refused(f"a field of a DSPy signature cannot be called {name!r}")
    if both := set(prompt.inputs).intersection(outputs):
        raise Refused(
            f"{min(both)!r} is a field of the row and of the reply; a DSPy signature has it once"
        )


def judge_body(context: ExportContext) -> dict[str, Any]:  # Any: JSON
    """Return what an adapter reads of a judge."""
    prompt, reply = context.prompt, context.prompt.reply.strip()
    threshold = context.raw_threshold
    return {
        "schema_version": 1,
        "name": prompt.name,
        "version": prompt.version,
        "origin": context.origin,
        "inputs": list(prompt.inputs),
        "system": prompt.system_text(),
        "template": prompt.template,
        "reply": f"\n\n{reply}" if reply else "",
        "fields": dict(prompt.reply_schema),
        "form": dict(prompt.reply_form) if context.api is None else scale_body(context.scale),
        "threshold": threshold if math.isfinite(threshold) else None,
        "request": context.request,
        **({} if context.api is None else {"question": _question_body(prompt, context.api)}),
        **_cascade_body(prompt),
        **(cases_body(prompt) if context.api is None else {}),
    }


def scale_body(scale: OutputScale) -> dict[str, Any]:  # Any: JSON
    """Return what an adapter reads of the scale of verdicts."""
    form = {"kind": scale.kind, "low": scale.low, "high": scale.high}
    return {**form, "labels": list(scale.labels)}


def _question_body(prompt: JudgePrompt, api: DecisionApi) -> dict[str, Any]:  # Any: JSON
    """Return what an adapter needs to ask a decision model, and to read its answer."""
    asked = AskedQuestion(prompt=prompt, api=api)
    question = asked.question
    return {
        "api": api,
        "path": INTERFACES[api].path,
        "by_name": asked.by_name,
        "kind": question.kind,
        "names": [option.name for option in question.options],
        "good": list(asked.good),
        "questions": wire_body(api, "", [question], "")["questions"],
    }


def _cascade_body(prompt: JudgePrompt) -> dict[str, Any]:  # Any: JSON
    """Return where an adapter asks the slow model of a cascade, and by which name."""
    if prompt.cascade is None:
        return {}
    band = [prompt.cascade.low, prompt.cascade.high]
    return {"cascade": {"model": prompt.cascade.model, "band": band}}


def _cascade_notes(prompt: JudgePrompt) -> tuple[str, ...]:
    """Say how an adapter finds the slow model of a cascade."""
    if prompt.cascade is None:
        return ()
    return (
        f"In the band the chat model `{prompt.cascade.model}` is asked, by that name and of the"
        " fast one's client; to ask it elsewhere set `slow_model`, a name, and `slow_client`, an"
        " OpenAI client, on the judge (`JUDGE` of the module).",
    )


def adapter_text(name: str) -> str:
    """Return a file of `adapters/`."""
    return (files("judgewright.runs.exports") / "adapters" / name).read_text(encoding="utf-8")


def reader(*more: str) -> dict[str, str]:
    """Return the files that read a judge and its replies in Python, and more files of `judges/`."""
    folder = files("judgewright.judges")
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in (READER[1], *more)}
    return {READER[0]: adapter_text(READER[0]), **texts}


def _render(template: str, values: Mapping[str, object]) -> str:
    """Return a text of a Jinja template, for a file that is no HTML."""
    from jinja2 import StrictUndefined, Template

    filled = Template(template, undefined=StrictUndefined, keep_trailing_newline=True)
    return filled.render(values)


def example_row(*names: str) -> str:
    """Return a row as the lines that show the use write it."""
    return json.dumps(dict.fromkeys(names, "..."), ensure_ascii=False)


def stem(prompt: JudgePrompt) -> str:
    """Return the judge's name as a Python module can be called."""
    name = prompt.name.replace("-", "_")
    return name if name.isidentifier() else f"judge_{name}"


def calibration_notes(context: ExportContext) -> tuple[str, ...]:
    """Say how a calibrated rule arrives in an adapter."""
    rule, scale = context.rule, context.scale
    if rule.calibration is None:
        return ()
    if scale.kind != "probability":
        return ("The rule's calibration concerns the stated confidence, which is not used there.",)
    raw = "grade" if scale.low_is_good else "probability"
    return (
        "Scores are the judge's raw ones, not calibrated. The threshold is"
        f" {context.raw_threshold:.6g}, the raw {raw} from which the calibrated one reaches"
        f" {rule.threshold:g}, so rows are decided as the rule decides them.",
    )
