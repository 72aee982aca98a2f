"""`judgewright models`: the models that have names, their settings, and one question to each."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from ...judges.errors import InputError
from ...judges.models.question import DecisionApi
from ..terminal import answer, inline, say, say_json, say_table
from .decorators import json_option, reads_workspace, takes
from .help import Group
from .model_access import asking_environment

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
        address = (one.named.model, one.named.base_url) if one.named else ("n/a", "n/a")
        lines.append((one.name, *address, _key(one), ", ".join(one.settings())))
    say_table(("name", "model", "base URL", "key", "settings"), lines, left=5)


def _say_model(name: str, workspace: Workspace, *, as_json: bool) -> None:
    from ..actions.describe_models import describe_model, source_of

    described = describe_model(name, asking_environment(workspace.root))
    if as_json:
        say_json(described.to_json())
        return
    if named := described.named:
        values = {"model": named.model, "base_url": named.base_url, **described.settings()}
        lines: list[tuple[str, ...]] = []
        for field, value in values.items():
            text = value if isinstance(value, str) else json.dumps(value)
            lines.append((field, inline(text), source_of(described, field)))
        say_table(("setting", "value", "from"), lines, left=3)
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
@takes("base_url", None, "Where it is asked [default: OPENAI_BASE_URL].", metavar="URL")
@takes(
    "key_variable",
    None,
    "The environment variable that holds the key; never the key.",
    metavar="VARIABLE",
)
@takes("model", None, "Its name at the endpoint [default: the same name].", metavar="NAME")
@takes(
    "api",
    None,
    "The interface of a decision model, which answers with probabilities in place of text.",
    choices=get_args(DecisionApi),
)
@takes("path", None, "What stands behind the URL of a decision model, if unusual.", metavar="/PATH")
@takes(
    "settings",
    (),
    "Another field of its entry: extra_body, headers, temperature, response_format, max_tokens,"
    " optimizer_max_tokens, timeout, concurrency, requests_per_minute, tokens_per_minute or"
    " price (INPUT/OUTPUT[/CACHED], US dollars per million tokens). A VALUE may be JSON.",
    kind="pairs",
    flag="--set",
    metavar="FIELD=VALUE",
)
@json_option
def add(
    name: str,
    base_url: str | None,
    key_variable: str | None,
    model: str | None,
    api: str | None,
    path: str | None,
    settings: Mapping[str, str],
    as_json: bool,
) -> None:
    """Add NAME to your own models.yaml, below what stands there."""
    from ..config.add_model import add_entry
    from ..config.environment import read_environment

    named = {"base_url": base_url, "path": path, "key_variable": key_variable, "model": model}
    named["api"] = api
    fields: dict[str, Any] = {}  # Any: JSON
    fields |= {field: value for field, value in named.items() if value is not None}
    for field, text in settings.items():
        fields[field] = _read_price(text) if field == "price" else _read_value(text)
    file = read_environment().models
    entry = add_entry(file, name, fields)
    text = f"{entry.name} was added to {file}; try it: judgewright models test {entry.name}"
    answer({"name": entry.name, "path": str(file), "fields": fields}, text, as_json=as_json)


@models.command(epilog="Example:  judgewright models test fast")
@click.argument("name")
@reads_workspace
def test(name: str, workspace: Workspace, as_json: bool) -> None:
    """Ask NAME one question about a built-in row, and say what came back, how fast, and for how
    much.

    NAME is what --model takes; NAME@URL works too. The reply is not recorded.
    """
    from ..actions.try_model import try_model
    from ..reports.printing import say_template

    trial = try_model(name, asking_environment(workspace.root, name))
    answer(trial, partial(say_template, "model_test", trial=trial), as_json=as_json)


@models.command(
    epilog=(
        "Example:  judgewright models simulate --port 8399 --faults 429=0.10,503=0.05,garbage=0.05"
    ),
)
@takes("port", 8399, "Port to listen on; 0 takes a free one.", low=0, high=65535)
@takes("faults", "", "Errors to inject, such as 429=0.10,503=0.05,garbage=0.05.")
@takes(
    "api",
    "chat",
    "What it speaks: OpenAI's chat, or what decision models do: OpenAI's /v1/decisions, System"
    " One's /v1/systemone, or SGLang's /v1/decisions.",
    choices=("chat", *get_args(DecisionApi)),
)
@json_option
def simulate(port: int, faults: str, api: DecisionApi | Literal["chat"], as_json: bool) -> None:
    """Serve the simulated model as an OpenAI-compatible endpoint until it is interrupted.

    Then, elsewhere: judgewright bench groundedness rows.jsonl --model
        simulated@http://127.0.0.1:8399/v1
    """
    from ...judges import Simulated
    from ...judges.simulated import DecisionService, Faults, Server, make_app

    model, injected = Simulated(), Faults.parse(faults)
    if api == "chat":
        app = make_app(model, injected)
    else:
        app = DecisionService(api, faults=injected).app()
    server = Server(app, port=port)

    def listening(url: str) -> None:
        body = {"model": model.endpoint, "faults": faults, "url": url}
        answer(body, f"listening on {url}", as_json=as_json)

    if not as_json:
        say(f"simulated model {model.endpoint}; faults: {faults or 'none'}; stop it with Ctrl-C")
    # uvicorn raises the Ctrl-C that stopped it once more; stopping a server is no failure.
    with contextlib.suppress(KeyboardInterrupt):
        server.run(listening)


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
