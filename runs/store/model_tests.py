"""What `models test` found in this workspace, by model and endpoint: single replies do not show all
of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ...judges import InputError, Model
from ...judges.files.small_file import read_small
from ...judges.files.write_beside import write_beside
from .workspace import Workspace

_MOST_BYTES = 1_000_000
_SETTINGS = (
    "JSON schema",
    "temperature",
    "seed",
    "log-probabilities",
    "max_tokens",
    "max_completion_tokens",
)
"""The settings of a command that an endpoint may ignore, as the test names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTest:
    """One test."""

    day: str
    ignored: tuple[str, ...]
    """Settings."""

    def note(self, *, confidence: str) -> str:
        """Say which settings of a command have no effect; empty where all have.

        Args:
            confidence: Where the command takes confidences from; only `tok` asks for
                log-probabilities.
        """
        needed = [name for name in _SETTINGS if name != "log-probabilities" or confidence == "tok"]
        names = ", ".join(name for name in needed if name in self.ignored)
        return (
            f"ignored by the endpoint, as `models test` found on {self.day}: {names}"
            if names
            else ""
        )


_TESTS = TypeAdapter(dict[str, ModelTest])


def keep_test(workspace: Workspace, *, model: str, endpoint: str, ignored: Sequence[str]) -> bool:
    """Keep what a test found, instead of what an earlier one did; False where there is no
    workspace, which none makes.

    Args:
        ignored: Settings.

    Raises:
        OSError: The workspace's folder cannot be written.
    """
    path = _path(workspace)
    if not path.parent.is_dir():
        return False
    test = ModelTest(day=datetime.now(UTC).date().isoformat(), ignored=tuple(ignored))
    tests = {**_read(path), f"{model}@{endpoint}": test}
    write_beside(path, _TESTS.dump_json(tests, indent=1).decode() + "\n")
    return True


def find_test(workspace: Workspace, model: Model) -> ModelTest | None:
    """Return the last test of a model in this workspace."""
    return _read(_path(workspace)).get(f"{model.name}@{model.endpoint}")


def _path(workspace: Workspace) -> Path:
    return workspace.folder / "model-tests.json"


def _read(path: Path) -> Mapping[str, ModelTest]:
    try:
        return _TESTS.validate_json(read_small(path, limit=_MOST_BYTES))
    except FileNotFoundError:
        return {}
    except ValidationError as error:
        raise InputError(
            f"{path} cannot be read: {error}", hint="remove it; `models test` makes it anew"
        ) from None
