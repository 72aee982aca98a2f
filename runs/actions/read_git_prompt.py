"""A judge's prompt as a revision of git has it: `git:REF:PATH`, for gates in continuous integration
and hooks.
"""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from ...judges import InputError, JudgePrompt, Registry, load_prompt
from ...judges.cases import BANK_FILE, BANKS

_PREFIX = "git:"
_SECONDS = 60


def judge_of(registry: Registry, spec: str) -> JudgePrompt:
    """Return the judge that a command names: as the registry does, or from a revision of the
    repository here.

    Args:
        spec: What `Registry.get` takes, or `git:REF:PATH` with a path from the top of the
            repository.

    Raises:
        InputError: The revision has no such file, or git is not there.
        PromptError: It is no judge.
    """
    if not spec.startswith(_PREFIX):
        return registry.get(spec)
    ref, _, path = spec.removeprefix(_PREFIX).rpartition(":")
    if not ref or not path or ref.startswith("-"):
        raise InputError(
            f"{spec!r} names no file of a revision",
            hint="write git:REF:PATH, such as git:HEAD:judge.yaml",
        )
    try:
        text = _show(ref, path).decode("utf-8")
        with TemporaryDirectory() as folder:
            if "\ncases:" in text:
                _copy_banks(ref, path, Path(folder))
            return load_prompt(text, edited=True, folder=Path(folder))
    except UnicodeDecodeError:
        raise InputError(f"{path!r} at {ref!r} is no text") from None


def _copy_banks(ref: str, path: str, folder: Path) -> None:
    """Copy the banks of decided cases that a judge of a revision may name: those beside it, and
    those of the registry that it stands in.
    """
    home = PurePosixPath(path).parent
    for place in (home, home.parent / BANKS):
        words = ("ls-tree", "--name-only", "--full-tree", "-z", ref, f"{place}/")
        names = _git(*words, about=f"{str(place)!r} at {ref!r}")
        for name in names.decode("utf-8", "surrogateescape").split("\0"):
            if name.endswith(BANK_FILE):
                (folder / PurePosixPath(name).name).write_bytes(_show(ref, name))


def _show(ref: str, path: str) -> bytes:
    return _git("show", "--no-textconv", f"{ref}:{path}", about=f"{path!r} at {ref!r}")


def _git(*words: str, about: str) -> bytes:
    try:
        result = subprocess.run(["git", *words], capture_output=True, check=False, timeout=_SECONDS)  # noqa: S603, S607 - no shell; a revision is no option
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"git could not be asked for {about}: {error}") from None
    if result.returncode:
        complaint = result.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise InputError(f"git has no {about}: {complaint}")
    return result.stdout
