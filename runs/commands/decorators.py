"""Options that several commands share, and how a dataclass of options becomes options of a
command.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...judges.errors import InputError
from ...optimize.options import Kind, Option, option, option_fields, spelling
from ..config.place import ServerAddress, read_place
from ..terminal import say, say_waiting
from .help import GroupedOption
from .output_paths import OutFile

if TYPE_CHECKING:
    from ..config.place import Place
    from ..store.workspace import Workspace

REQUIRED = MISSING
"""The default of an option that has to be given."""
F = TypeVar("F", bound=Callable[..., Any])  # Any: click passes whatever a command declares
T = TypeVar("T")


def options_of(**classes: type) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Give a command an option for each field of some dataclasses, and hand it one object of each.

    Args:
        classes: Dataclasses of `option`s, by the command's parameter that takes the object.
    """

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        @wraps(command)
        def call(**values: Any) -> T:  # Any: what click read
            for name, options in classes.items():
                own = {field.name: values.pop(field.name) for field, _ in option_fields(options)}
                values[name] = options(**own)
            return command(**values)

        # The decorator that is applied last is shown first.
        for options in reversed(classes.values()):
            for field, details in reversed(list(option_fields(options))):
                call = _click_option(field, details)(call)
        return call

    return decorate


def read_options(options: type[T], arguments: Sequence[str]) -> T:
    """Read options as a command would that takes only these.

    Raises:
        InputError: One of them is unknown, missing, or cannot be read.
    """

    @click.command(add_help_option=False)
    @options_of(read=options)
    def command(read: T) -> T:
        return read

    try:
        return command.main(list(arguments), prog_name="judgewright", standalone_mode=False)
    except click.ClickException as error:
        raise InputError(error.format_message()) from None


def _click_option(
    field: Field[Any], option: Option
) -> Callable[[F], F]:  # Any: a field of any type
    settings: dict[str, Any] = {
        "group": option.group,
        "help": option.help,
        "metavar": option.metavar or _METAVARS.get(option.kind),
    }
    settings["type"] = _click_type(option)
    settings["multiple"] = option.kind in ("integers", "repeated", "pairs", "texts")
    # With is_flag=False click would not take a value that begins with a dash.
    if option.kind == "flag":
        settings["is_flag"] = True
        if field.default is None:  # said by nobody is neither yes nor no
            settings["default"] = None
    if option.kind == "model":
        settings["help"] += "  [required]"
    elif field.default is MISSING and field.default_factory is MISSING:
        settings["required"] = True
    elif field.default not in (None, (), MISSING) and field.default is not False:
        settings["default"] = field.default
    settings["show_default"] = bool(str(settings.get("default", "")))

    def read(
        context: click.Context, parameter: click.Parameter, value: Any
    ) -> Any:  # Any: as the kind has it
        """Turn what was typed into what the field holds."""
        if context.resilient_parsing:
            return value
        if option.kind in ("pairs", "texts"):
            pairs = _read_pairs(value, parameter.opts[0], option)
            if option.kind == "texts":
                pairs = {name: _read_text(text, parameter.opts[0]) for name, text in pairs.items()}
            return pairs
        return _READERS[option.kind](value) if option.kind in _READERS else value

    settings["callback"] = read
    return click.option(spelling(field), field.name, cls=GroupedOption, **settings)


_METAVARS: Mapping[Kind, str] = {"integer": "INTEGER", "number": "NUMBER"}
"""Instead of click's `INTEGER RANGE`; the range stands behind the help."""


def _click_type(option: Option) -> click.ParamType | None:
    if option.type is not None:
        return option.type
    if option.choices:
        return click.Choice(option.choices)
    limited = option.low is not None or option.high is not None
    match option.kind:
        case "integer" | "integers":
            return click.IntRange(option.low, option.high) if limited else click.INT
        case "number":
            return click.FloatRange(option.low, option.high) if limited else click.FLOAT
        case "edit":
            return click.Path(path_type=Path, dir_okay=False, exists=True)
        case "file":
            return click.Path(path_type=Path, dir_okay=False)
        case "path":
            return click.Path(path_type=Path)
        case "out":
            return OutFile()
        case _:
            return None


def _read_shares(text: str | None) -> tuple[float, ...] | None:
    from ...judges import parse_shares

    return None if text is None else parse_shares(text)


def _read_planted(text: str | None) -> int | str | None:
    if text is None or text == "order":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"--planted {text!r} is neither a number of rows nor `order`")
    return int(text)


def _read_slice(text: str) -> str:
    from ...slices import read_slice
    from ...slices.saved import is_name

    # A name is looked up once the workspace is known.
    return text if text in ("auto", "all") or is_name(text) else str(read_slice(text))


def _read_edit(path: Path | None) -> str | None:
    from ...judges import read_prompt

    return None if path is None else read_prompt(path).to_yaml()


def _read_loss(text: str | None) -> str | None:
    import orjson

    from ..actions.write_loss import read_loss

    return None if text is None else orjson.dumps(read_loss(text).to_json()).decode()


def _read_via(text: str | None) -> str | None:
    from ..config.command_options import VIA, VIA_FORM

    way, _, folder = (text or "live").partition("=")
    if way not in VIA or bool(folder) != (way == "files"):
        raise InputError(
            f"a model is not reached via {text!r}, but {VIA_FORM}",
            hint="such as --via files=exchange",
        )
    return text


def _read_pairs(pairs: tuple[str, ...], typed: str, option: Option) -> dict[str, str]:
    """Read pairs that an option was given; only a text may be empty."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, between, value = pair.partition("=")
        if not (name and between) or not (value or option.kind == "texts"):
            raise InputError(f"{typed} {pair!r} is not {option.metavar or 'NAME=VALUE'}")
        values[name] = value
    return values


def _read_text(text: str, typed: str) -> str:
    """Read the text that stands in a file where `@FILE` is in its place."""
    from ...judges.files.small_file import read_small_text

    if not text.startswith("@"):
        return text
    try:
        return read_small_text(Path(text[1:]))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{typed} cannot read {text[1:]!r}: {error}") from None


def names(text: str | None) -> tuple[str, ...]:
    """Read comma-separated names; nothing gives none."""
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()


def _read_labels(text: str | None) -> tuple[str, ...]:
    labels = tuple(part.strip() for part in text.split(",")) if text else ()
    if not all(labels):
        raise InputError(
            f"--labels {text!r} has an empty label", hint="write them as FAIL,PASS, the worst first"
        )
    return labels


def require_model(model: str | None) -> str:
    """Return the model that was named: without one a run would call a stand-in, or cost somebody
    money.

    Raises:
        InputError: None was.
    """
    if model is None:
        raise InputError(
            "no model is named: add --model NAME, NAME@https://host/v1, or simulated (made up, no"
            " key)"
        )
    return model


_READERS: Mapping[Kind, Callable[[Any], Any]] = {  # Any: as each kind has it
    "names": names,
    "labels": _read_labels,
    "planted": _read_planted,
    "shares": _read_shares,
    "slice": _read_slice,
    "edit": _read_edit,
    "loss": _read_loss,
    "model": require_model,
    "via": _read_via,
}


def takes(
    name: str, default: Any, help: str, *, group: str = "Output", **details: Any
) -> Callable[[F], F]:  # Any: what `option` takes
    """Give a command one option, declared as a field of a dataclass of options is."""
    field = option(group, default, help, **details)
    field.name = name
    return _click_option(field, field.metadata["option"])


json_option = takes("as_json", False, "Print one JSON object instead of text.", flag="--json")
all_option = takes(
    "show_all",
    False,
    "Show single rows that are sealed to a run too: that opens its holdout, and the ledger says"
    " so.",
    flag="--all",
)
sealed_option = takes(
    "sealed",
    False,
    "Read rows too that `bench --seal` set aside: that is a look, which the next gate on them"
    " counts.",
)
no_wait_option = takes(
    "no_wait",
    False,
    "Leave with 3 instead of waiting: for another run that writes to the workspace, or for a"
    " batch.",
)


class PlaceType(click.ParamType):
    """A folder, or the address of a server."""

    name = "directory"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | ServerAddress:
        """See `click.ParamType`."""
        location = read_place(value)
        if isinstance(location, Path):
            click.Path(path_type=Path, file_okay=False).convert(value, param, ctx)
        return location


def reads_workspace(command: Callable[..., T]) -> Callable[..., T]:
    """Add `--workspace` and `--json`, and hand the command the workspace, which is closed when the
    command ends.
    """
    return _with_workspace(command, waits=False)


def writes_workspace(command: Callable[..., T]) -> Callable[..., T]:
    """Do the same for a command that writes: a write waits, and says so, while another run
    writes.
    """
    return _with_workspace(command, waits=True)


def _with_workspace(command: Callable[..., T], *, waits: bool) -> Callable[..., T]:
    command = json_option(command)

    @wraps(command)
    def call(
        *,
        workspace: Path | ServerAddress | None,
        no_wait: bool = False,
        **values: Any,  # Any: what click read
    ) -> T:
        with open_workspace(workspace, wait=waits and not no_wait) as opened:
            try:
                return command(workspace=opened, **values)
            except InputError as error:
                from ...judges.files import UnclearColumnsError
                from .confirm_columns import add_model_reading

                if isinstance(error, UnclearColumnsError):
                    add_model_reading(error, opened, values)
                raise

    text = (
        "Folder of the workspace, or postgresql://... [default: the nearest with .judgewright/,"
        " else here]."
    )
    return takes("workspace", None, text, type=PlaceType())(call)


def open_workspace(named: Path | ServerAddress | None, *, wait: bool = False) -> Workspace:
    """Return the workspace a command works in; with `wait` a write waits, and says so, while
    another run writes.
    """
    from ..config.environment import read_environment
    from ..store.workspace import find_workspace

    on_wait = say_waiting if wait else None
    address = named or read_environment().workspace
    workspace = find_workspace(Path.cwd(), given=address, on_wait=on_wait)
    if address is None and workspace.exists and Path.cwd() != workspace.folder.parent:
        say(f"workspace: {workspace.place}, a folder above this one", to_stderr=True)
    return workspace


def elsewhere(location: Place) -> str:
    """Return the option that a command to copy needs to find a workspace from here; empty where it
    needs none.
    """
    here = location.address is None and location.root.resolve() == Path.cwd()
    return "" if here else f" --workspace {shlex.quote(str(location))}"


def named_run(
    workspace: Workspace,
    name: str,
    *,
    kinds: Collection[str] = ("optimize",),
    come_to: Collection[str] = (),
    unfinished: bool = False,
) -> str:
    """Return the id of the run that a person means by an id, its beginning, its name, or `latest`;
    see `find_run`.

    Raises:
        InputError: There is no workspace or no such run, or there are several.
    """
    from ..store.journal import find_run

    workspace.require()
    return find_run(workspace.database, name, kinds=kinds, come_to=come_to, unfinished=unfinished)
