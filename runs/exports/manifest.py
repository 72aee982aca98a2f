"""Write an export with its manifest: which judge, gated where, how its scores read, and what differs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from ...judges import DecisionRule, InputError, JudgePrompt, load_prompt
from .judge_module import raw_threshold
from .target import ExportContext, ExportedFiles, ScoreMap, Target
from .template_parts import DIFFERENCE
from .writing import MOST_BYTES, Destination, file_digest, put, text_digest

SCHEMA = 1
NAME = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An export on disk, as its manifest tells of it."""

    folder: Path
    body: dict[str, Any]  # Any: JSON

    @property
    def judge(self) -> JudgePrompt:
        """The judge it was made of."""
        return load_prompt(self.body["judge"]["yaml"], origin=f"the manifest in {self.folder}")

    @property
    def handover(self) -> ExportContext:
        """What it was written from."""
        rule = DecisionRule.from_json(self.body["rule"])
        return ExportContext(prompt=self.judge, rule=rule, provenance=dict(self.body["provenance"]))


def manifest(handover: ExportContext, target: Target, bundle: ExportedFiles) -> dict[str, Any]:  # Any: JSON
    """Return the manifest of a bundle as JSON."""
    prompt, rule, scores = handover.prompt, handover.rule, bundle.scores
    return {
        "schema_version": SCHEMA,
        "target": target.name,
        "tool": target.tool,
        "judge": {"name": prompt.name, "version": prompt.version, "parent": prompt.parent, "yaml": prompt.to_yaml()},
        "rule": {**rule.to_json(), "version": rule.version},
        "simulated": handover.simulated,
        "provenance": dict(handover.provenance),
        "scores": None if scores is None else asdict(scores) | {"threshold": _threshold(handover, bundle, scores)},
        "exact": bundle.exact,
        "own_fences": bundle.own_fences,
        "carries": None if bundle.carries is None else list(bundle.carries),
        "declared_differences": list(differences(handover, bundle)),
        "requires": list(target.requires),
        "files": {name: text_digest(text) for name, text in bundle.files.items()},
        "usage": bundle.usage,
    }


def _threshold(handover: ExportContext, bundle: ExportedFiles, scores: ScoreMap) -> float | None:
    """The tool's number from which the rule says positive; None where it never does."""
    grade = raw_threshold(handover) if bundle.calibrated else handover.rule.threshold
    return scores.of(grade, handover.prompt.scale) if math.isfinite(grade) else None


def differences(handover: ExportContext, bundle: ExportedFiles) -> tuple[str, ...]:
    """Return everything that is not the same judge there."""
    told = list(bundle.differences)
    if not bundle.own_fences:
        told.append(DIFFERENCE)
    if handover.rule.calibration is not None and not bundle.calibrated:
        told.append(
            f"The decision rule {handover.rule.version} calibrates the judge's probability before the threshold; the "
            "tool does not: apply the calibration that stands in the manifest."
        )
    return tuple(told)


def write_export(handover: ExportContext, target: Target, out: Path, *, force: bool = False) -> Export:
    """Write a judge for a tool: into the folder `out`, or, where it is one file and `out` has a suffix, as that file.

    An earlier export there is overwritten; any other file only with `force`.

    Raises:
        Refused: The tool cannot carry the judge.
        InputError: Several files cannot be written as one, or a file is there that is not ours.
        OSError: A file cannot be written.
    """
    # The judge as its own YAML says it, which is what the manifest has of it and what an export is held to.
    handover = replace(handover, prompt=load_prompt(handover.prompt.to_yaml()))
    bundle = target.write(handover)
    files = dict(bundle.files)
    if out.suffix and not out.is_dir():
        if len(files) > 1:
            raise InputError(f"--to {target.name} writes {len(files)} files, {out} is one", hint="name a folder")
        files = {out.name: next(iter(files.values()))}
        destination = Destination.of_file(out, NAME)
    else:
        destination = Destination.of_folder(out, NAME)
    body = manifest(handover, target, bundle)
    body["files"] = {name: text_digest(text) for name, text in files.items()}
    files[destination.manifest] = orjson.dumps(body, option=orjson.OPT_INDENT_2).decode() + "\n"
    put(files, destination, force=force)
    return Export(folder=destination.folder, body=body)


def read_export(path: Path) -> Export:
    """Read the manifest of an export: of a folder, or of the one file it is.

    Raises:
        InputError: There is none, it cannot be read, or a file is not what was written.
    """
    place = path / NAME if path.is_dir() else path.with_name(f"{path.name}.{NAME}")
    try:
        # A pipe would never end, and whoever made the folder may have put one there.
        if place.exists() and (not place.is_file() or place.stat().st_size > MOST_BYTES):
            raise InputError(f"{place} is no manifest: it is not a file of at most {MOST_BYTES:,} bytes")
        body = orjson.loads(place.read_bytes())
        export = Export(folder=place.parent, body=body)
        written = dict(body["files"])
        judge, version = export.handover.prompt, str(body["judge"]["version"])
        orjson.dumps(body)  # refuses what is nested too deep to be written again
    except OSError as error:
        raise InputError(f"{path} is no export: {place.name} cannot be read ({error.strerror})") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(f"{place} cannot be read: {type(error).__name__}: {error}") from None
    if not isinstance(body.get("target"), str):
        raise InputError(f"{place} names no target")
    if judge.version != version:
        raise InputError(f"{place}: the judge in it is {judge.version}, not {version}: it was edited")
    for name in written:
        if not name.isprintable():
            raise InputError(f"{place} names {name!r}, which is no file name")
        file = (export.folder / name).resolve()
        if not file.is_relative_to(export.folder.resolve()):
            raise InputError(f"{place} names {name!r}, which lies outside its folder")
        if not file.is_file():
            raise InputError(f"{place} names {name}, which is not there")
    return export


def changed_files(export: Export) -> list[str]:
    """Return the files that are no longer what was written."""
    return [name for name, digest in export.body["files"].items() if file_digest(export.folder / name) != digest]
