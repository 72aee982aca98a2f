"""The form that starts a run: its fields are the options of `optimize`, and it says what a terminal
would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from ...judges import InputError, JudgePrompt, JudgewrightError
from ...judges.files import ColumnReading, read_columns, write_grade_map
from ...optimize.options import Option, option_fields, shares_text, spelling
from ..actions.read_columns import read_header
from ..commands.decorators import read_options
from ..config.command_options import AskOptions, JudgeModelOptions, RowOptions
from ..config.optimize_options import OptimizeOptions
from ..store.banks import banks_of
from ..store.run_config import RunConfig
from ..store.workspace import Workspace
from .app_state import AppState
from .data_files import resolve_data_file
from .errors import words_of
from .file_data import stat_of
from .forms import field_of
from .start_columns import OF_INPUT, PICK, ColumnTable, column_table, guess_of, picked_columns

OWN_PLACE = ("objective", "model")
"""Options that have a place of their own in the form."""
GOAL = ("target", "guards", "floors")
"""Options that say the goal beside the objective; they stand with it."""
WORDS = {"target": "Metric to improve"}
"""What a field is called where that is not its option."""
FIRST = ("budget", "proposer", "steps")
"""Options that people reach for; the others are folded away."""
MOST_USED = "Most used"
NOT_HERE = frozenset({"edit", "holdout", "via", "optimizer_via", "yes"})
"""Options that name other files, want somebody to carry files, or answer a terminal's question."""
COLUMNS = ("label", "group", "id_", "columns", "label_map")
"""Options that say which column is what; they stand beside the judge."""
OWN = ("way", "data", "judge", "model", "other", "objective", "asked", "agreed")
"""Fields that are no option of a command's own."""
OTHER = "other"
"""The choice of a model that stands in the text field beside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """An option as the form shows it."""

    name: str
    flag: str
    """As it is typed."""
    words: str
    option: Option
    default: str
    several: bool
    """Whether it takes a value a line."""


def form_fields() -> dict[str, list[FormField]]:
    """Return the fields by heading; those that people reach for first have the first heading."""
    groups: dict[str, list[FormField]] = {MOST_USED: []}
    for one, option in option_fields(OptimizeOptions):
        if one.name in (*OWN_PLACE, *NOT_HERE):
            continue
        heading = MOST_USED if one.name in FIRST else option.group
        default = one.default if one.default is not MISSING else None
        default_text = (
            ""
            if default in (None, (), False)
            else shares_text(default)
            if option.kind == "shares"
            else default
        )
        flag = spelling(one)
        groups.setdefault(heading, []).append(
            FormField(
                name=one.name,
                flag=flag,
                words=WORDS.get(one.name) or flag[2:].replace("-", " ").capitalize(),
                option=option,
                default=str(default_text),
                several=option.kind in ("integers", "repeated", "pairs"),
            )
        )
    groups[MOST_USED].sort(key=lambda default_text: FIRST.index(default_text.name))
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class StartForm:
    """What a person has filled in so far."""

    way: str = ""
    """`measure`, or empty: improve."""
    data: str = ""
    """The data file, as a path below the workspace."""
    judge: str = ""
    model: str = ""
    other: str = ""
    """A model that is not in the list."""
    objective: str = ""
    asked: str = ""
    """The job in which a model reads the objective."""
    agreed: str = ""
    """`yes` where the person has agreed to the columns."""
    more: Mapping[str, str] = field(default_factory=dict[str, str])
    """What was typed into the other fields; a flag is `yes`."""

    @classmethod
    def of(cls, request: Request) -> StartForm:
        """Read the form of a POST, or the query of a link that fills it in."""
        if request.method == "POST":
            values = {name: field_of(request, name) for name in request.state.form if name != PICK}
            values |= picked_columns(request.state.form.get(PICK, ()))
        else:
            values = dict(request.query_params)
        picked = {
            name.removeprefix(OF_INPUT): one
            for name, one in values.items()
            if name.startswith(OF_INPUT)
        }
        values["columns"] = _columns_text({**_read_columns(values.get("columns", "")), **picked})
        usual = {one.name: one.default for fields in form_fields().values() for one in fields}
        return cls(
            **{name: values.get(name, "").strip() for name in OWN},
            more={
                name: value.strip()
                for name, value in values.items()
                if name in usual and value.strip() not in ("", usual[name])
            },
        )

    @property
    def query(self) -> str:
        """What a link has that fills in the form like this."""
        own = {name: getattr(self, name) for name in OWN}
        return urlencode({name: value for name, value in {**own, **self.more}.items() if value})

    @property
    def columns(self) -> dict[str, str]:
        """The columns that were said to hold inputs of the judge, by input."""
        return _read_columns(self.more.get("columns", ""))

    @property
    def named_model(self) -> str:
        """The model, wherever it was named."""
        return self.other if self.model == OTHER else self.model

    def lines(self, name: str) -> list[str]:
        """Return the lines of a field that takes several values."""
        lines = (line.strip() for line in self.more.get(name, "").splitlines())
        return [line for line in lines if line]

    def options(self, *, steps: int | None = None) -> list[str]:
        """Return the options of `optimize` as words.

        Args:
            steps: Instead of those of the form.
        """
        words = [f"--objective={self.objective}", f"--model={self.named_model}"]
        more = dict(self.more)
        if steps is not None:
            more["steps"] = str(steps)
        for heading in form_fields().values():
            for one in heading:
                value = more.get(one.name, "")
                flag = one.flag
                if one.option.kind == "flag":
                    words += [flag] if value else []
                elif one.several:
                    words += [f"{flag}={line}" for line in self.lines(one.name)]
                elif value and value != one.default:
                    words.append(f"{flag}={value}")
        return words

    def arguments(self, state: AppState, *, steps: int | None = None) -> list[str]:
        """Return the command that starts the run.

        Raises:
            InputError: Something is missing, or cannot be read.
        """
        judge, path = self.prompt(state), self.path(state)
        options = self.options(steps=steps)
        read_options(OptimizeOptions, options)
        return ["optimize", f"{judge.name}@{judge.version}", str(path), *options]

    def bench_arguments(self, state: AppState, *, seal: bool) -> list[str]:
        """Return the command that measures the judge.

        Args:
            seal: Whether a holdout is set aside first, and only the other rows are read.

        Raises:
            InputError: There is no such judge, or no such file.
        """
        judge, path = self.prompt(state), self.path(state)
        names = {one.name for options in (RowOptions, JudgeModelOptions) for one in fields(options)}
        form = replace(
            self,
            objective="",
            more={name: text for name, text in self.more.items() if name in names},
        )
        words = [word for word in form.options() if word != "--objective="]
        return [
            "bench",
            f"{judge.name}@{judge.version}",
            str(path),
            *(["--seal"] if seal else []),
            *words,
        ]

    def config(self, state: AppState) -> RunConfig:
        """Return the configuration of the run, as the command would read it.

        Raises:
            InputError: Something is missing, or cannot be read.
        """
        options = read_options(OptimizeOptions, self.options())
        return RunConfig(
            prompt=self.prompt(state).to_yaml(),
            data=str(self.path(state)),
            banks=banks_of(state.workspace),
            **vars(options),
        )

    def path(self, state: AppState) -> Path:
        """Return the data file."""
        return resolve_data_file(state.root, self.data)

    def prompt(self, state: AppState) -> JudgePrompt:
        """Return the judge.

        Raises:
            InputError: There is none of that name; the path of a file is no name.
        """
        if self.judge not in state.workspace.registry.names():
            raise InputError(f"there is no judge {self.judge!r}", hint="choose one of the list")
        return state.workspace.registry.get(self.judge)

    def header_key(self, state: AppState) -> tuple[object, ...]:
        """Return what a model's reading of the header depends on: the file as it is now, the
        version of the judge, the model.
        """
        prompt = self.prompt(state)
        return stat_of(self.path(state)), prompt.name, prompt.version, self.named_model


def goal_fields(objective: Mapping[str, Any]) -> dict[str, str]:  # Any: JSON
    """Return the fields that say an objective's target and limits."""
    guards = (f"{one['metric']}={one['margin']:g}" for one in objective["guards"])
    floors = (f"{one['metric']}={one['value']:g}" for one in objective.get("floors", ()))
    values = {"guards": "\n".join(guards), "floors": "\n".join(floors)}
    return {"target": objective["target"], **values}


def _read_columns(text: str) -> dict[str, str]:
    pairs = (line.strip().partition("=") for line in text.splitlines() if "=" in line)
    return {name: column for name, _, column in pairs}


def _columns_text(columns: Mapping[str, str]) -> str:
    return "\n".join(
        f"{name}={column}" for name, column in columns.items() if column and column != name
    )


def fitting_judges(state: AppState, path: Path) -> list[tuple[JudgePrompt, bool]]:
    """Return every judge, those first whose inputs a data file has, by their names or as its
    columns are guessed; with whether it has them.
    """
    registry = state.workspace.registry
    ranks: list[tuple[int, JudgePrompt]] = []
    for prompt in map(registry.get, registry.names()):
        guessed = guess_of(state, path, prompt.inputs, label_needed=False)
        ranks.append((0 if guessed.exact else 1 if guessed.sure else 2, prompt))
    return [(prompt, rank < 2) for rank, prompt in sorted(ranks, key=lambda one: one[0])]


def columns_of(state: AppState, form: StartForm, *, sent: bool = False) -> ColumnTable:
    """Return the table of the file's columns as the form has it.

    Args:
        state: The workspace.
        form: What was filled in.
        sent: Whether the form comes with a table, whose guesses nobody need have agreed to.
    """
    prompt = form.prompt(state) if form.judge in state.workspace.registry.names() else None
    chosen = {f"{OF_INPUT}{name}": column for name, column in form.columns.items()}
    chosen |= {name: form.more[name] for name in ("label", "group", "id_") if name in form.more}
    inputs = prompt.inputs if prompt else ()
    guessed = guess_of(state, form.path(state), inputs, chosen)
    agreed = bool(form.agreed) or (guessed.exact and not sent)
    reading = state.readings.get(form.header_key(state)) if prompt else None
    guessed = read_columns(guessed, reading) if reading else guessed
    return replace(
        column_table(guessed, agreed=agreed),
        reading=reading,
        label_map=form.more.get("label_map") or write_grade_map(guessed.label_map),
    )


def read_by_model(state: AppState, form: StartForm) -> None:
    """Have the chosen model read the header of the data file, and keep what it says.

    Raises:
        InputError: There is no such judge, or no such file.
    """
    prompt, model = form.prompt(state), form.named_model
    key = form.header_key(state)
    environment = state.environment.in_workspace(state.root).naming(model)
    models = AskOptions(model=model, budget=form.more.get("budget"))
    guessed = guess_of(state, form.path(state), prompt.inputs)
    try:
        with Workspace(state.place) as workspace:
            reading, _ = read_header(workspace, guessed, prompt, models, environment)
    except JudgewrightError as error:
        reading = ColumnReading(model=model, problem=words_of(error))
    state.readings[key] = reading
