"""`judgewright simulate`: the simulated model over HTTP."""

from __future__ import annotations

import click

from ...judges import Simulated
from ...judges.models import Faults
from ..terminal import say


@click.command(epilog="Example:  judgewright simulate --port 8399 --faults 429=0.10,503=0.05,garbage=0.05")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8399,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes a free one.",
)
@click.option("--faults", default="", help="Faults on order, such as 429=0.10,503=0.05,garbage=0.05,latency=0.2.")
def simulate(host: str, port: int, faults: str) -> None:
    """Serve the simulated model as an OpenAI-compatible endpoint until it is interrupted.

    Then, elsewhere: judgewright bench groundedness rows.jsonl --model simulated@http://127.0.0.1:8399/v1
    """
    from ...judges.models.serve import Server, make_app

    model = Simulated()
    ordered = Faults.parse(faults)
    say(f"simulated model {model.endpoint}; faults: {faults or 'none'}; stop it with Ctrl-C")
    Server(make_app(model, ordered), host=host, port=port).run(lambda url: say(f"listening on {url}"))
