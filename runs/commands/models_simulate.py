"""`judgewright models simulate`: the simulated model over HTTP."""

from __future__ import annotations

import contextlib

import click

from ...judges import Simulated
from ...judges.simulated.faults import Faults
from ..terminal import say, say_json
from .decorators import json_option
from .help import Command


@click.command(
    cls=Command,
    epilog=(
        "Example:  judgewright models simulate --port 8399 --faults 429=0.10,503=0.05,garbage=0.05"
    ),
)
@click.option(
    "--port",
    default=8399,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--faults",
    default="",
    help="Errors to inject, such as 429=0.10,503=0.05,garbage=0.05,batch_lost=0.1.",
)
@json_option
def simulate(port: int, faults: str, as_json: bool) -> None:
    """Serve the simulated model as an OpenAI-compatible endpoint until it is interrupted.

    Then, elsewhere: judgewright bench groundedness rows.jsonl --model
        simulated@http://127.0.0.1:8399/v1
    """
    from ...judges.simulated.serve import Server, make_app

    model = Simulated()
    server = Server(make_app(model, Faults.parse(faults)), port=port)

    def listening(url: str) -> None:
        if as_json:
            say_json({"model": model.endpoint, "faults": faults, "url": url})
        else:
            say(f"listening on {url}")

    if not as_json:
        say(f"simulated model {model.endpoint}; faults: {faults or 'none'}; stop it with Ctrl-C")
    # uvicorn raises the Ctrl-C that stopped it once more; stopping a server is no failure.
    with contextlib.suppress(KeyboardInterrupt):
        server.run(listening)
