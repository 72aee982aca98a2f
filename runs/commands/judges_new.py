"""`judgewright judges new`: a judge from a description and a few labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..config.options import ModelOptions
from ..terminal import inline, say, say_json, simulated_mark
from .help import Command, GroupedOption
from .model_access import asking_environment
from .options import json_option, options_of, writes_workspace
from .output_paths import OutFile

if TYPE_CHECKING:
    from ..store.workspace import Workspace

NEW = """\
Example:  judgewright judges new politeness "A reply is polite when it greets and blames nobody." --examples three.jsonl --model your-model
Grades:   judgewright judges new tone "How friendly a reply is." --examples rows.csv --scale 1..5@4 --model NAME
"""  # noqa: E501


@click.command(
    "new", cls=Command, context_settings={"default_map": {"max_tokens": 4096}}, epilog=NEW
)
@click.argument("name")
@click.argument("description")
@click.option(
    "--examples",
    "file",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help=(
        "A few rows with the verdict that you would give; three are enough. Never rows of a"
        " holdout."
    ),
)
@click.option(
    "--label",
    default="label",
    show_default=True,
    help="Column of the verdict.",
    cls=GroupedOption,
    group="Data",
)
@click.option(
    "--labels",
    help="The verdicts, the worst first, such as FAIL,PASS [default: those of the rows].",
    cls=GroupedOption,
    group="Judging",
)
@click.option(
    "--scale",
    help="LOW..HIGH@THRESHOLD, binary, probability, or low-probability where low is good.",
    cls=GroupedOption,
    group="Judging",
)
@click.option(
    "--out", type=OutFile(), help="Write the judge as YAML [default: keep it in the workspace]."
)
@options_of(models=ModelOptions)
@writes_workspace
@json_option
def new(
    name: str,
    description: str,
    file: Path,
    label: str,
    labels: str | None,
    scale: str | None,
    out: Path | None,
    models: ModelOptions,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Make the judge NAME from a DESCRIPTION of what is wanted and a few rows: the model writes its
    criteria.

    The columns of the rows are its fields. What the model wrote is a first version: measure it on
    labelled rows, then optimize it.
    """
    from ...judges.prompt import check_name
    from ...judges.scale import parse_label_scale
    from ..actions.bench import describe_spending
    from ..actions.keep_judge import keep_judge
    from ..actions.new_judge import new_judge, read_examples, scale_of
    from .judges_add import positive_of, read_labels

    check_name(name)
    examples = read_examples(file, label)
    verdicts = scale_of(examples, read_labels(labels), parse_label_scale(scale) if scale else None)
    environment = asking_environment(workspace.root, models.model)
    made = new_judge(workspace, name, description, examples, verdicts, models, environment)
    prompt = made.prompt
    path, spec = keep_judge(workspace.registry, prompt, out)
    if as_json:
        say_json(
            {
                "name": prompt.name,
                "version": prompt.version,
                "path": path,
                "spec": spec,
                "inputs": prompt.inputs,
                "scale": prompt.scale.describe(),
                "criteria": prompt.criteria,
                "simulated": made.simulated,
                "calls": made.stats.calls,
                "cost": made.stats.cost if made.stats.price_known else None,
            }
        )
        return
    say(f"{prompt.name}@{prompt.version} written to {path}{simulated_mark(made.simulated)}")
    say(f"  inputs     {', '.join(prompt.inputs)}")
    say(f"  scale      {inline(prompt.scale.describe())}{positive_of(prompt)}")
    for line in prompt.criteria.split("\n"):
        say(f"  {inline(line)}")
    for note in describe_spending(made.stats):
        say(f"note: {note}")
    if "@" in spec:
        say(
            f"  {prompt.name!r} means what it meant before; to change that: judgewright judges use"
            f" {spec}"
        )
    say(f"Measure it: judgewright bench {spec} ROWS --model NAME")
