"""Open the page of a queue in the browser, from a script or a notebook that goes on meanwhile."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import webbrowser
from urllib.parse import urlencode, urlsplit, urlunsplit

from ...judges.errors import WorldError
from ..config.environment import read_environment
from ..config.place import Place


def open_queue_page(place: Place, queue: str, annotator: str, *, browser: bool) -> str:
    """Serve the page of a queue until this process ends, and return its link.

    Args:
        place: Of the workspace.
        queue: Its run.
        annotator: Who labels.
        browser: Whether to open it in a browser.

    Raises:
        WorldError: The page cannot be served.
    """
    # -P: a module in the working folder is never imported.
    command = [sys.executable, "-P", "-m", "judgewright", "review", "--port=0", "--json"]
    server = subprocess.Popen(  # noqa: S603  # our own program
        [*command, f"--workspace={place}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**read_environment().variables, **place.secrets},
    )
    atexit.register(server.terminate)
    assert server.stdout is not None
    lines: list[str] = []
    for line in server.stdout:
        lines.append(line)
        if line.startswith("}"):
            break
    body = json.loads("".join(lines) or "{}")
    if "link" not in body:
        raise WorldError("the page cannot be served", hint="try `judgewright review`")
    parts = urlsplit(str(body["link"]))
    query = f"{urlencode({'annotator': annotator})}&{parts.query}"
    link = urlunsplit(parts._replace(path=f"/label/{queue}", query=query))
    if browser:
        webbrowser.open(link)
    return link
