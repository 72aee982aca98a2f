"""Install each tool that an export is verified in, in an environment of its own under .verify/.

    python tests/runs/exports/install_tools.py [TARGET ...]

What a registry refuses is named, and its tests skip.
"""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from judgewright.runs.exports import TARGETS, Target

PHOENIX = replace(
    TARGETS["phoenix"],
    name="phoenix-server",
    tool="Phoenix's server",
    requires=("arize-phoenix==20.26.1",),
)
"""The server that a test pushes to; the evaluator and the client need none."""
SLICES = replace(
    TARGETS["yaml"],
    name="slices",
    tool="sliceline and pysubgroup",
    requires=("sliceline==0.3.0", "pysubgroup==0.8.0"),
)
"""What `make benchmarks` holds our search for slices against; they ask for other versions of numpy
than ours.
"""
DECISIONS = replace(
    TARGETS["yaml"],
    name="decision-sdks",
    tool="the clients of decision models",
    requires=("openai==3.57.0", "typesafe-sdk==0.7.5"),
)
"""What the served decision models are held against; openai's is another version than ours."""
BESIDE = {tool.name: tool for tool in (PHOENIX, SLICES, DECISIONS)}
ENVIRONMENTS = Path(__file__).resolve().parents[3] / ".verify"


def commands(target: Target, folder: Path) -> list[list[str]]:
    """What installs a tool."""
    if target.runtime == "node":
        return [
            [
                "npm",
                "install",
                "--silent",
                "--omit=optional",
                "--prefix",
                str(folder),
                *target.requires,
            ]
        ]
    if uv := shutil.which("uv"):
        python = str(folder / "bin" / "python")
        return [
            [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "--quiet", "--python", python, *target.requires],
        ]
    pip = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    return [[sys.executable, "-m", "venv", str(folder)], [*pip, *target.requires]]


def install(target: Target) -> bool:
    """Install one tool, unless that very version is there; say what went wrong."""
    folder = ENVIRONMENTS / target.name
    stamp, wanted = folder / ".requires", " ".join(target.requires)
    if stamp.is_file() and stamp.read_text() == wanted:
        return True
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in commands(target, folder):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            said = (ran.stderr or ran.stdout).strip().splitlines()[-1:]
            print(f"NOT INSTALLED: {target.tool}: {' '.join(said)[:300]}")
            shutil.rmtree(folder)
            return False
    stamp.write_text(wanted)
    print(f"installed {target.tool}: {wanted}")
    return True


if __name__ == "__main__":
    named = sys.argv[1:] or [
        *(name for name, target in TARGETS.items() if target.requires),
        *BESIDE,
    ]
    for name in named:
        install(BESIDE.get(name) or TARGETS[name])
