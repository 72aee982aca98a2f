"""`judgewright judges add --description`: a judge from a description and a few labelled rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...judges.errors import InputError
from ...optimize.options import option
from ..config.command_options import AskOptions, ModelOptions
from ..terminal import answer, say
from .decorators import require_model
from .model_access import asking_environment

if TYPE_CHECKING:
    from ...judges import JudgePrompt
    from ..store.workspace import Workspace

_DRAFT_TOKENS = 4096
"""Of a draft, where nobody says otherwise."""
_words = partial(option, "Draft")


@dataclass(frozen=True, kw_only=True)
class DraftOptions:
    """What a judge is drafted from."""

    description: str | None = _words(
        None, "Have --model draft the judge that these words describe.", metavar="TEXT"
    )
    examples: Path | None = _words(
        None,
        "With --description: a few rows with the verdict that you would give; three are enough."
        " Never rows of a holdout.",
        kind="path",
        metavar="FILE",
    )
    label: str = _words("label", "With --examples: the column of the verdict.")

    @property
    def is_given(self) -> bool:
        """Whether a judge is to be drafted."""
        return self.description is not None or self.examples is not None


def add_drafted(
    workspace: Workspace,
    draft: DraftOptions,
    models: AskOptions,
    *,
    name: str | None,
    labels: tuple[str, ...],
    scale: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Have a model write the criteria of a judge; the columns of the rows are its fields.

    Raises:
        InputError: A word of the draft, its name or its model is missing.
    """
    from ...judges.prompt import check_name
    from ...judges.scale import parse_label_scale
    from ..actions.bench import describe_spending
    from ..actions.draft_judge import new_judge, read_examples, scale_of
    from ..actions.keep_judge import keep_judge
    from ..reports.printing import say_template

    model = require_model(models.model)
    if name is None or draft.description is None or draft.examples is None:
        raise InputError(
            "a draft needs a name, a description and examples",
            hint="--as NAME --description TEXT --examples FILE",
        )
    check_name(name)
    examples = read_examples(draft.examples, draft.label)
    verdicts = scale_of(examples, labels, parse_label_scale(scale) if scale else None)
    drafting = ModelOptions(**asdict(models))
    draft_reply = new_judge(
        workspace,
        name,
        draft.description,
        examples,
        verdicts,
        replace(drafting, max_tokens=models.max_tokens or _DRAFT_TOKENS),
        asking_environment(workspace.root, model),
    )
    prompt = draft_reply.prompt
    path, spec = keep_judge(workspace, prompt, out)
    stats = draft_reply.stats
    body = body_of(prompt, path=path, spec=spec, criteria=prompt.criteria)
    body |= {"simulated": draft_reply.simulated, "calls": stats.calls}
    body |= {"cost": stats.cost if stats.price_known else None}

    def say_drafted() -> None:
        scale = f"{prompt.scale.describe()}{positive_of(prompt)}"
        notes = describe_spending(stats)
        say_template(
            "drafted", prompt=prompt, made=draft_reply, path=path, scale=scale, notes=notes
        )
        say_next(prompt, spec)

    answer(body, say_drafted, as_json=as_json)


def body_of(prompt: JudgePrompt, **more: Any) -> dict[str, Any]:  # Any: JSON
    """Return a judge that was added, as `--json` prints it."""
    body = {"name": prompt.name, "version": prompt.version, "inputs": prompt.inputs}
    return {**body, "scale": prompt.scale.describe(), **more}


def positive_of(prompt: JudgePrompt) -> str:
    """Say which of two labels is the positive one."""
    if prompt.scale.kind != "binary":
        return ""
    negative, positive = prompt.scale.labels or ("0", "1")
    return f" ({negative} is 0, {positive} is 1, positive)"


def say_next(prompt: JudgePrompt, spec: str) -> None:
    """Say what to type now that a judge is there."""
    if "@" in spec:
        say(
            f"  {prompt.name!r} means what it meant before; to change that: judgewright judges use"
            f" {spec}"
        )
    say(f"Measure it: judgewright bench {spec} ROWS --model NAME")
