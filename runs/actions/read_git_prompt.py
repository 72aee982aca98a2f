"""A judge's prompt as a revision of git has it: `git:REF:PATH`, for gates in continuous integration
and hooks.
"""

from __future__ import annotations

import subprocess

from ...judges import InputError, JudgePrompt, Registry, load_prompt

_PREFIX = "git:"
_SECONDS = 60


def judge_of(registry: Registry, spec: str) -> JudgePrompt:
    """Return the judge that a command names: as the registry does, or from a revision of the
    repository here.

    Args:
        registry: Where names are looked up.
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
    command = ["git", "show", "--no-textconv", f"{ref}:{path}"]
    try:
        result = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS)  # noqa: S603 - no shell; `ref` is no option
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"git could not be asked for {spec!r}: {error}") from None
    if result.returncode:
        complaint = result.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise InputError(f"git has no {path!r} at {ref!r}: {complaint}")
    try:
        return load_prompt(result.stdout.decode("utf-8"), edited=True)
    except UnicodeDecodeError:
        raise InputError(f"{path!r} at {ref!r} is no text") from None
