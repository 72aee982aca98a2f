"""Labels of a judge's versions, such as `production`: each is a small file beside the versions,
which git keeps.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field

from .errors import InputError, PromptError, explain_yaml_error
from .files.small_file import read_small_text
from .files.write_beside import write_beside
from .prompt import TextDumper, check_name

FOLDER = "tags"
USUAL = ("production", "staging")
"""Labels that are offered first."""
_HEX = re.compile(r"[0-9a-f]+")
_MOST = 4_000


class PromptTag(BaseModel):
    """A label and the version it is on."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    label: str
    version: str = Field(pattern="^[0-9a-f]{12}$")
    by: str = ""
    """Who put it there."""
    at: str = ""
    """When, UTC in ISO 8601."""


def check_label(label: str) -> str:
    """Return a label that a version may have.

    Raises:
        InputError: It is no name, or could be taken for a version.
    """
    try:
        check_name(label)
    except PromptError:
        raise InputError(
            f"{label!r} is no label: use up to 64 of a-z 0-9 _ -, starting with a letter or digit"
        ) from None
    if label == "current" or _HEX.fullmatch(label):
        raise InputError(
            f"label {label!r} could be taken for a version", hint="such as production or staging"
        )
    return label


def read_tags(home: Path) -> tuple[PromptTag, ...]:
    """Return the labels of a judge, whose folder is given, by name.

    Raises:
        PromptError: A file cannot be read, or names no version.
    """
    folder = _folder(home)
    if not folder.is_dir():
        return ()
    paths = sorted(
        path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")
    )
    return tuple(_read(path) for path in paths)


def write_tag(home: Path, label: str, version: str, *, by: str) -> PromptTag:
    """Put a label on a version; it is taken from the version that had it.

    Raises:
        InputError: It is no label.
        PromptError: The folder leads outside the workspace.
    """
    folder = _folder(home)
    tag = PromptTag(
        label=check_label(label),
        version=version,
        by=by,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    folder.mkdir(parents=True, exist_ok=True)
    body = tag.model_dump(exclude={"label"})
    write_beside(
        folder / label,
        yaml.dump(body, Dumper=TextDumper, sort_keys=False, allow_unicode=True, width=110),
    )
    return tag


def remove_tag(home: Path, label: str) -> None:
    """Take a label away.

    Raises:
        InputError: No version has it.
    """
    path = _folder(home) / check_label(label)
    if not path.is_file():
        raise InputError(f"no version of {home.name!r} has the label {label!r}")
    path.unlink()


def _folder(home: Path) -> Path:
    folder = home / FOLDER
    if folder.is_symlink():
        raise PromptError(f"{str(folder)!r} leads outside the workspace's prompts folder")
    return folder


def _read(path: Path) -> PromptTag:
    try:
        text = read_small_text(path)
        if len(text) > _MOST:
            raise PromptError(f"a label of more than {_MOST:,} characters is not read")
        body = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  # text and nothing else
        return PromptTag.model_validate(body | {"label": check_label(path.name)})
    except InputError as error:
        raise PromptError(f"{path}: {error}") from None
    except (OSError, yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise PromptError(
            f"cannot read the label {str(path)!r}: {explain_yaml_error(error)}"
        ) from None
