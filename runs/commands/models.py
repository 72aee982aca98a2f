"""`judgewright models`: the models that have names, their settings, and what their endpoints
honour.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...judges.errors import InputError
from ..terminal import inline, say, say_json, say_table
from .decorators import json_option, read_pairs, reads_workspace
from .help import Group
from .model_access import asking_environment
from .models_simulate import simulate

if TYPE_CHECKING:
    from ..actions.describe_models import ModelDescription
    from ..store.workspace import Workspace

LISTS = """\
Example:  judgewright models list
One:      judgewright models list fast
"""


@click.group(cls=Group)
def models() -> None:
    """List, add and test the models that `--model NAME` can name, and serve the simulated one."""


@models.command("list", epilog=LISTS)
@click.argument("name", required=False)
@reads_workspace
def list_(name: str | None, workspace: Workspace, as_json: bool) -> None:
    """List the models of your own models.yaml and of the workspace's.

    With NAME: what it stands for, where each setting comes from, and whether its key is there.
    """
    from ..actions.describe_models import describe_models

    if name is not None:
        _say_model(name, workspace, as_json=as_json)
        return
    environment = asking_environment(workspace.root)
    described = describe_models(environment)
    if as_json:
        say_json({"models": [one.to_json() for one in described]})
        return
    if not described:
        say(
            f"no model has a name yet; add one to {environment.models or 'a models.yaml'}:"
            " judgewright models add"
        )
        return
    lines: list[tuple[str, ...]] = []
    for one in described:
        named = one.named
        address = named.base_url if named else "n/a"
        lines.append(
            (
                one.name,
                named.model if named else "n/a",
                address,
                _key(one),
                ", ".join(one.settings()),
            )
        )
    say_table(("name", "model", "base URL", "key", "settings"), lines, left=5)


def _say_model(name: str, workspace: Workspace, *, as_json: bool) -> None:
    from ..actions.describe_models import describe_model, source_of

    described = describe_model(name, asking_environment(workspace.root))
    if as_json:
        say_json(described.to_json())
        return
    if named := described.named:
        values = {"model": named.model, "base_url": named.base_url, **described.settings()}
        shown = {
            field: value if isinstance(value, str) else json.dumps(value)
            for field, value in values.items()
        }
        say_table(
            ("setting", "value", "from"),
            [(field, inline(value), source_of(described, field)) for field, value in shown.items()],
            left=3,
        )
        say(f"key: {_key(described)}")
    if described.problem:
        say(f"it cannot be asked now: {described.problem}")


@models.command(
    epilog=(
        "Example:  judgewright models add fast --model your-model --set"
        ' extra_body=\'{"reasoning_effort": "low"}\' --set price=0.15/0.60\n'
        "Another provider:  judgewright models add acme --base-url https://api.acme.example/v1"
        " --key-variable ACME_KEY"
    )
)
@click.argument("name")
@click.option("--base-url", metavar="URL", help="Where it is asked [default: OPENAI_BASE_URL].")
@click.option(
    "--key-variable",
    metavar="VARIABLE",
    help="The environment variable that holds the key; never the key.",
)
@click.option("--model", metavar="NAME", help="Its name at the endpoint [default: the same name].")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="FIELD=VALUE",
    help=(
        "Another field of its entry: extra_body, headers, temperature, response_format, max_tokens,"
        " optimizer_max_tokens, timeout, concurrency, requests_per_minute, tokens_per_minute or"
        " price (INPUT/OUTPUT[/CACHED], US dollars per million tokens). A VALUE may be JSON."
    ),
)
@json_option
def add(
    name: str,
    base_url: str | None,
    key_variable: str | None,
    model: str | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Add NAME to your own models.yaml, below what stands there."""
    from ..config.add_model import add_entry
    from ..config.environment import read_environment

    named = {"base_url": base_url, "key_variable": key_variable, "model": model}
    fields: dict[str, Any] = {}  # Any: JSON
    fields |= {field: value for field, value in named.items() if value is not None}
    for field, text in read_pairs(settings, "--set", "FIELD=VALUE").items():
        fields[field] = _read_price(text) if field == "price" else _read_value(text)
    path = read_environment().models
    entry = add_entry(path, name, fields)
    if as_json:
        say_json({"name": entry.name, "path": str(path), "fields": fields})
    else:
        say(f"{entry.name} was added to {path}; try it: judgewright models test {entry.name}")


@models.command(
    epilog="Example:  judgewright models test fast --rows rows.jsonl --judge groundedness"
)
@click.argument("name")
@click.option("--rows", type=click.Path(path_type=Path), help="Ask about this file's first rows.")
@click.option(
    "--judge",
    default="groundedness",
    show_default=True,
    help="The judge that is asked about the rows.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 200),
    default=6,
    show_default=True,
    help="Ask about so many rows.",
)
@click.option("--max-tokens", type=click.IntRange(1), help="Tokens of one verdict.")
@reads_workspace
def test(
    name: str,
    rows: Path | None,
    judge: str,
    limit: int,
    max_tokens: int | None,
    workspace: Workspace,
    as_json: bool,
) -> None:
    """Ask NAME a few small things, and say which settings its endpoint honours, how fast it is and
    what it costs.

    It sends about twenty requests. Without --rows they are about built-in rows, which are made up.
    NAME is what --model takes; NAME@URL works too. No reply is recorded; what is ignored is kept in
    the workspace, if there is one, for plan and bench.
    """
    from ...judges import JudgeSettings, load_dataset
    from ...judges.files.rows_in_memory import rows_in_memory
    from ..actions.check_model import check_model
    from ..demo import demo_rows
    from ..store.model_tests import keep_test

    prompt = workspace.registry.get(judge)
    source = rows or rows_in_memory(demo_rows(documents=3), name="the built-in rows")
    dataset = load_dataset(
        source, inputs=prompt.inputs, scale=prompt.scale, limit=limit, skip_incomplete=True
    )
    environment = asking_environment(workspace.root, name)
    tell = partial(say, to_stderr=True) if not as_json else lambda line: None
    report = check_model(
        name, environment, prompt, dataset, judge=JudgeSettings(max_tokens=max_tokens), tell=tell
    )
    ignored = [check.setting for check in report.checks if check.outcome == "ignored"]
    why_not = "there is no workspace here yet"
    try:
        kept = keep_test(workspace, model=report.model, endpoint=report.base_url, ignored=ignored)
    except OSError as error:
        kept, why_not = False, str(error)
    if not kept:
        say(f"what it found is not kept for plan and bench: {inline(why_not)}", to_stderr=True)
    if as_json:
        say_json(report.to_json())
    else:
        from ..reports.printing import say_template

        checks = [(check.setting, check.outcome, check.reason) for check in report.checks]
        say_template("model_test", report=report, judge=judge, checks=checks)


models.add_command(simulate)


def _key(described: ModelDescription) -> str:
    if described.key_variable is None:
        return "none"
    return f"{described.key_variable} ({'set' if described.key_set else 'not set'})"


def _read_value(text: str) -> Any:  # Any: JSON
    """Read a value as JSON; other text stands for itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read_price(text: str) -> dict[str, float]:
    parts = text.split("/")
    try:
        prices = [float(part) for part in parts]
    except ValueError:
        prices = []
    if not 2 <= len(prices) <= 3:
        raise InputError(
            f"the price {text!r} is not INPUT/OUTPUT or INPUT/OUTPUT/CACHED",
            hint="for example --set price=0.15/0.60",
        )
    return dict(zip(("input", "output", "cached"), prices, strict=False))
