"""`judgewright review`: the page on which a run is read and decided about."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import webbrowser
from pathlib import Path
from types import FrameType

import click

from ...judges import InputError
from ...judges.extras import LIGHT_INSTALL, improves
from ..config.environment import Environment, has_browser
from ..config.place import Place
from ..store.workspace import Workspace
from ..terminal import say, say_json
from .decorators import open_workspace, reads_workspace, takes
from .help import Command
from .model_access import allow_origin_option, asking_environment

HOST = "127.0.0.1"
PORT = 8377


@click.command(cls=Command, epilog="Example:  judgewright review --port 8377")
@takes("port", PORT, "Port to listen on; 0 takes a free one.", low=0, high=65535)
@takes(
    "opening",
    False,
    "Open the page in a browser.  [default: no-open]",
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


def open_page() -> None:
    """Open the page of the nearest workspace, or of an empty one here, in the browser of whoever
    sits at this terminal.
    """
    with open_workspace(None) as workspace:
        opening = has_browser()
        ending = "it opens in your browser" if opening else "open this link in your browser"
        say(f"The page of the workspace in {workspace.place.root.resolve()}; {ending}:")
        if not opening:
            say(
                "(No browser can be opened from here. On another machine, first:"
                " ssh -L PORT:127.0.0.1:PORT THIS-MACHINE, with the number in the link as PORT.)"
            )
        if not improves():
            say(LIGHT_INSTALL)
        environment = asking_environment(workspace.root)
        serve_page(workspace.place, environment, port=PORT, opening=opening, or_free=True)


def serve_page(
    location: Path | Place,
    environment: Environment,
    *,
    port: int,
    opening: bool,
    as_json: bool = False,
    or_free: bool = False,
) -> None:
    """Serve the page of a workspace until it is interrupted, and print its link.

    Args:
        port: Where; 0 takes a free one.
        opening: Whether to open a browser.
        as_json: Whether the link is printed as JSON.
        or_free: Whether to take a free port where that one is taken.

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

    # A browser is started with the link that it opens, which other users of this machine can read:
    # that one opens the page once.
    token, ticket = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    with _listen(port, or_free=or_free) as listener:
        port = listener.getsockname()[1]
        app = review_app(location, token=token, ticket=ticket, port=port, environment=environment)
        link = f"http://{HOST}:{port}/?token={token}"
        if as_json:
            say_json({"link": link})
        else:
            say(f"{link}\nStop it with Ctrl-C.")
        if opening:
            # Some browsers run until they are closed.
            opened = link.replace(token, ticket)
            threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()
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


def _listen(port: int, *, or_free: bool) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if or_free:
            return socket.create_server((HOST, 0))
        raise InputError(
            f"port {port} cannot be used: {error.strerror}", hint="give another --port, or 0"
        ) from None
