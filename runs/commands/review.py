"""`judgewright review`: the page on which a run is read and decided about."""

from __future__ import annotations

import contextlib
import secrets
import socket
import webbrowser
from pathlib import Path
from types import FrameType

import click

from ...judges import InputError
from ..config.environment import Environment
from ..config.place import Place
from ..store.workspace import Workspace
from ..terminal import say, say_json
from .decorators import reads_workspace, takes
from .help import Command
from .model_access import allow_origin_option, asking_environment

HOST = "127.0.0.1"


@click.command(cls=Command, epilog="Example:  judgewright review --port 8377")
@takes("port", 8377, "Port to listen on; 0 takes a free one.", low=0, high=65535)
@takes(
    "opening",
    False,
    "Open the page in a browser; other users of this machine may see the link meanwhile. "
    " [default: no-open]",
    flag="--open/--no-open",
)
@allow_origin_option
@reads_workspace
def review(
    port: int, opening: bool, origins: tuple[str, ...], workspace: Workspace, as_json: bool
) -> None:
    """Serve the review page to this machine's user until it is interrupted.

    Open the link that is printed: it carries a secret, and who has it may decide.
    """
    # A workspace that is not there stays so: a page that reads makes nothing.
    serve_page(
        workspace.place,
        asking_environment(workspace.root, origins=origins),
        port=port,
        opening=opening,
        as_json=as_json,
    )


def serve_page(
    location: Path | Place,
    environment: Environment,
    *,
    port: int,
    opening: bool,
    as_json: bool = False,
    at: str = "/",
) -> None:
    """Serve the page of a workspace until it is interrupted, and print its link.

    Args:
        location: Where the workspace is.
        environment: Of whoever serves it.
        port: Where; 0 takes a free one.
        opening: Whether to open a browser.
        as_json: Whether the link is printed as JSON.
        at: The page that the link leads to.

    Raises:
        InputError: The port is taken.
    """
    import uvicorn

    from ..review import review_app

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """End streams of events first: the server waits for whoever is connected."""
            app.state.pages.closing = True
            super().handle_exit(sig, frame)

    token = secrets.token_urlsafe(32)
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise InputError(
            f"port {port} cannot be used: {error.strerror}", hint="give another --port, or 0"
        ) from None
    with listener:
        port = listener.getsockname()[1]
        app = review_app(location, token=token, port=port, environment=environment)
        link = f"http://{HOST}:{port}{at}?token={token}"
        if as_json:
            say_json({"link": link})
        else:
            say(f"{link}\nStop it with Ctrl-C.")
        if opening:
            webbrowser.open(link)
        # No access log: it would hold the link.
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
        )
        # uvicorn raises the Ctrl-C that stopped it once more; stopping a server is no failure.
        with contextlib.suppress(KeyboardInterrupt):
            Server(config).run(sockets=[listener])
        if (open_jobs := app.state.pages.open_jobs()) and not as_json:
            jobs = "job goes" if open_jobs == 1 else "jobs go"
            say(f"{open_jobs} {jobs} on without this page: judgewright runs list")
