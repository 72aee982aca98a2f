"""How `--help` looks: options of long commands under headings, an example on one line at the
end.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import click

from ..plugins import load

LONG = 12
"""Options from which a command's help is in groups."""
WIDTH = 26
"""Columns of an option's name; a longer name has a line of its own."""
GROUPS = (
    *("Goal", "Draft", "Data", "Verdict files", "Model", "Judging", "Calibration", "Slices"),
    *("Search", "Gate", "Without labels", "Trust", "Output"),
)
"""Headings, in the order in which they are shown."""


class GroupedOption(click.Option):
    """An option under a heading."""

    def __init__(
        self, *args: Any, group: str, **kwargs: Any
    ) -> None:  # Any: what click.Option takes
        super().__init__(*args, **kwargs)
        self.group = group


EVERY_OPTION = "judgewright.every_option"
"""Where the context keeps that rare options are to be shown too."""


class Command(click.Command):
    """A command whose help is in groups where it has many options.

    Args:
        often: The options that people use, by their spelling; `--help` shows these, and
            `--help-all` every option. All of them unless given.
    """

    def __init__(
        self, *args: Any, often: str = "", **kwargs: Any
    ) -> None:  # Any: what click.Command takes
        super().__init__(*args, **kwargs)
        self._often = frozenset(often.split())

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """See `click.Command`; where `--help` does not show all, `--help-all` stands beside it."""
        params = super().get_params(ctx)
        if not self._often:
            return params
        shows_all = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help=f"Show all {sum(_is_shown(param) for param in params)} options and exit.",
        )
        return [*params, shows_all]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See `click.Command`; an option or value that was retired is known to say so."""
        typed = " ".join(args).replace("=", " ").split()
        try:
            return super().parse_args(ctx, args)
        except (click.NoSuchOption, click.BadParameter) as error:
            command, retired = ctx.command_path.partition(" ")[2], _retired(ctx)
            names = [f"{command} {' '.join(pair)}" for pair in pairwise(typed)]
            if isinstance(error, click.NoSuchOption):
                names += [f"{command} {error.option_name}", error.option_name]
            for name in retired.keys() & names:
                raise _removed(name, retired[name]) from None
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, under their headings where there are many."""
        options = [param for param in self.get_params(ctx) if _is_shown(param)]
        if self._often and not ctx.meta.get(EVERY_OPTION):
            usual = {*self._often, "--help", "--help-all"}
            options = [param for param in options if usual.intersection(param.opts)]
        if len(options) < LONG:
            super().format_options(ctx, formatter)
            return
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
        for param in options:
            record = param.get_help_record(ctx)
            if record is not None:
                groups[param.group if isinstance(param, GroupedOption) else GROUPS[-1]].append(
                    record
                )
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    # Padded, so that the texts of all groups begin in one column.
                    formatter.write_dl(
                        [(option.ljust(WIDTH), text) for option, text in records], col_max=WIDTH
                    )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on its line."""
        _write_examples(self.epilog, formatter)


class LazyGroup(click.Group):
    """A group whose help is printed without importing any of its commands.

    Args:
        lazy: By name `module:attribute`, imported when it is called, and a line for the help.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, tuple[str, str]], **kwargs: Any
    ) -> None:  # Any: what click.Group takes
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """See `click.Group`."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See `click.Group`."""
        if cmd_name not in self._lazy:
            return None
        command = load(self._lazy[cmd_name][0])
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See `click.Group`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._lazy.items()])


class Group(click.Group):
    """A command with commands of its own, of the same looks."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they were written."""
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See `click.Group`; a word that was retired is there to say so."""
        command = super().get_command(ctx, cmd_name)
        retired = _retired(ctx)
        words = f"{ctx.command_path.partition(' ')[2]} {cmd_name}"
        if command is None and words in retired:
            return retired_command(words, retired[words])
        return command

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on its line."""
        _write_examples(self.epilog, formatter)


def _is_shown(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and not param.hidden


def _show_all(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    if is_set and not context.resilient_parsing:
        context.meta[EVERY_OPTION] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


def _retired(context: click.Context) -> Mapping[str, str]:
    return getattr(context.find_root().command, "retired", {})


def _removed(name: str, instead: str) -> Exception:
    from ...judges.errors import InputError

    return InputError(f"`{name}` was removed: {instead}")


def retired_command(name: str, instead: str) -> click.Command:
    """Return a command that takes any arguments and only says what replaced it."""

    def refuse() -> None:
        raise _removed(name, instead)

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(
        name, callback=refuse, context_settings=anything, add_help_option=False, hidden=True
    )


def _write_examples(epilog: str | None, formatter: click.HelpFormatter) -> None:
    # Not wrapped: half a command pasted is another command.
    if epilog:
        formatter.write_paragraph()
        for line in epilog.splitlines():
            formatter.write(f"  {line}\n")
