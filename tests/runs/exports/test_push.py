"""Pushing is a flag: a real registry takes the export, and what cannot be pushed is refused before
anything happens.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from judgewright.judges import InputError, ModelError, Registry
from judgewright.runs.exports import TARGETS, push_export, stem, write_export

PROMPT = Registry().get("groundedness")


@pytest.mark.parametrize(
    ("target", "called"), [("mlflow", "prompts:/groundedness/1"), ("trulens", "prompt_version")]
)
def test_a_registry_in_sqlite_takes_the_export(
    target: str, called: str, tmp_path: Path, context, program
) -> None:
    """The tool's own client stores it, and says what it is called there."""
    python = program(target)
    export = write_export(context(PROMPT), TARGETS[target], tmp_path / "out")
    uri = f"sqlite:///{tmp_path}/registry.db"
    name = push_export(export.folder, stem(PROMPT), TARGETS[target], uri, interpreter=python)
    assert name.startswith(called)
    assert (tmp_path / "registry.db").stat().st_size > 0


@pytest.fixture
def phoenix(tmp_path: Path) -> Iterator[str]:
    """The address of Phoenix's own server."""
    python = Path(__file__).resolve().parents[3] / ".verify/phoenix-server/bin/python"
    if not python.exists():
        pytest.skip("Phoenix's server is not installed: make verify-exports")
    ports: list[int] = []
    for _ in range(2):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            ports.append(one.getsockname()[1])
    settings = {
        "PHOENIX_WORKING_DIR": str(tmp_path),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(ports[0]),
        "PHOENIX_GRPC_PORT": str(ports[1]),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    command = [str(python), "-m", "phoenix.server.main", "serve"]
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, env=os.environ | settings, cwd=tmp_path, stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{ports[0]}"
    try:
        while server.poll() is None:
            try:
                with urllib.request.urlopen(f"{url}/healthz", timeout=10):
                    break
            except OSError:
                time.sleep(0.5)
        assert server.poll() is None, (tmp_path / "server.log").read_text()[-2000:]
        yield url
    finally:
        server.terminate()
        server.wait()


def test_phoenixs_own_server_takes_the_prompt(
    phoenix: str, tmp_path: Path, context, program
) -> None:
    """It is pushed by the module's own lines, and the server gives back every message as it was
    written.
    """
    export = write_export(context(PROMPT), TARGETS["phoenix"], tmp_path / "out")
    pushed = push_export(
        export.folder, stem(PROMPT), TARGETS["phoenix"], phoenix, interpreter=program("phoenix")
    )
    with urllib.request.urlopen(f"{phoenix}/v1/prompts/{PROMPT.name}/latest", timeout=60) as answer:
        stored = json.load(answer)["data"]
    assert stored["id"] == pushed
    written = json.loads((export.folder / "prompt.json").read_text(encoding="utf-8"))
    found = [
        {
            "role": one["role"],
            "content": text if isinstance(text := one["content"], str) else text[0]["text"],
        }
        for one in stored["template"]["messages"]
    ]
    assert found == written
    assert stored["template_format"] == "MUSTACHE"


def test_a_registry_that_refuses_is_the_worlds_fault(tmp_path: Path, context, program) -> None:
    """A folder that does not exist holds no database."""
    python = program("trulens")
    export = write_export(context(PROMPT), TARGETS["trulens"], tmp_path / "out")
    with pytest.raises(ModelError, match="did not take the export"):
        push_export(
            export.folder,
            stem(PROMPT),
            TARGETS["trulens"],
            "sqlite:////nowhere/x.db",
            interpreter=python,
        )


def test_a_tool_without_a_registry_is_refused(tmp_path: Path) -> None:
    """Ragas has none."""
    with pytest.raises(InputError, match="no registry"):
        push_export(tmp_path, "groundedness", TARGETS["ragas"], "sqlite:///x.db")
