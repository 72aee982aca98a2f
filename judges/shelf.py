"""The shelf: judge prompts that ship with the package, and those a workspace keeps, version by version."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from . import prompts
from .errors import PromptError
from .prompt import JudgePrompt, check_name, load_prompt


class Shelf:
    """Finds prompts by `name`, `name@version` or file path.

    A workspace folder holds `NAME/VERSION.yaml`, one file a version, and `NAME/current`, which names the
    version that plain `NAME` means. Without one, `NAME` means the shipped prompt.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def names(self) -> tuple[str, ...]:
        """Every prompt name, shipped and kept."""
        return tuple(sorted({*_shipped_names(), *self._kept_names()}))

    def get(self, spec: str) -> JudgePrompt:
        """Return one prompt.

        Args:
            spec: `name`, `name@version` (the first digits suffice), or the path of a YAML file.

        Raises:
            PromptError: There is no such prompt, or several versions start with these digits.
        """
        if spec.endswith((".yaml", ".yml")) or os.sep in spec:
            return read_prompt(Path(spec))
        name, _, version = spec.partition("@")
        if name not in self.names():
            raise PromptError(
                f"there is no judge {name!r}", hint=f"known: {', '.join(self.names())}, or a path to a YAML file"
            )
        versions = self.versions(name)
        wanted = version or self._current(name) or versions[0].version
        found = [prompt for prompt in versions if prompt.version.startswith(wanted)]
        if len(found) != 1:
            known = ", ".join(prompt.version for prompt in versions)
            problem = "has no version" if not found else "has several versions starting with"
            raise PromptError(f"judge {name!r} {problem} {wanted!r}", hint=f"versions: {known}")
        return found[0]

    def versions(self, name: str) -> tuple[JudgePrompt, ...]:
        """Every version of a prompt, the shipped one first, then in the order of lineage."""
        shipped = [load_prompt(_shipped_text(name), origin=f"{name} (shipped)")] if name in _shipped_names() else []
        kept = [read_prompt(path) for path in self._kept_files(name)]
        ordered = {prompt.version: prompt for prompt in shipped}
        waiting = sorted((p for p in kept if p.version not in ordered), key=lambda p: p.version)
        while waiting:
            ready = [
                p for p in waiting if p.parent in ordered or p.parent not in {w.version for w in waiting}
            ] or waiting
            ordered |= {prompt.version: prompt for prompt in ready}
            waiting = [p for p in waiting if p.version not in ordered]
        return tuple(ordered.values())

    def log(self, spec: str) -> tuple[JudgePrompt, ...]:
        """Return a prompt and its ancestors as far as the shelf knows them, newest first."""
        prompt = self.get(spec)
        known = {other.version: other for other in self.versions(prompt.name)} if prompt.name in self.names() else {}
        lineage = [prompt]
        while (parent := known.get(lineage[-1].parent or "")) is not None and parent not in lineage:
            lineage.append(parent)
        return tuple(lineage)

    def keep(self, prompt: JudgePrompt, *, current: bool = True) -> Path:
        """Write a version into the workspace and, unless told otherwise, make it what `name` means.

        Raises:
            PromptError: The shelf has no workspace folder, or it would lead outside it.
        """
        folder = self._home(prompt.name)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{prompt.version}.yaml"
        write_beside(path, prompt.to_yaml())
        if current:
            write_beside(folder / "current", prompt.version + "\n")
        return path

    def _home(self, name: str) -> Path:
        if self._folder is None:
            raise PromptError("this shelf has no workspace folder to keep prompts in")
        home = self._folder / check_name(name)
        if home.is_symlink() or home.resolve().parent != self._folder.resolve():
            raise PromptError(f"{home.name!r} leads outside the workspace's prompts folder")
        return home

    def _current(self, name: str) -> str | None:
        if self._folder is None:
            return None
        pointer = self._home(name) / "current"
        return pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else None

    def _kept_names(self) -> list[str]:
        if self._folder is None or not self._folder.is_dir():
            return []
        return [d.name for d in self._folder.iterdir() if d.is_dir() and any(d.glob("*.yaml"))]

    def _kept_files(self, name: str) -> list[Path]:
        return [] if self._folder is None else sorted(self._home(name).glob("*.yaml"))


def read_prompt(path: Path) -> JudgePrompt:
    """Read one prompt file.

    Raises:
        PromptError: There is no such file, or it is not a prompt.
    """
    try:
        return load_prompt(path.read_text(encoding="utf-8-sig"), origin=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"cannot read the prompt file {str(path)!r}: {error}") from None


def write_beside(path: Path, text: str) -> None:
    """Write a whole file beside its place, flush it to disk, and rename it there.

    A crash leaves the old file or the new one, never a part. It does not keep two writers from
    overwriting each other.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with beside.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _shipped_names() -> tuple[str, ...]:
    folder = files(prompts)
    return tuple(sorted(f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")))


def _shipped_text(name: str) -> str:
    return (files(prompts) / f"{name}.yaml").read_text(encoding="utf-8")
