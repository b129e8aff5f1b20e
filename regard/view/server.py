"""The viewer's web server: bind a port, then serve the session until Ctrl-C. Needs the extra `regard[view]`."""

import socket
from typing import TYPE_CHECKING

from regard.core.errors import UserError
from regard.core.extras import require

if TYPE_CHECKING:
    from regard.view.session import Session

PORT = 7417


def check_installed() -> None:
    require("view", "regard view")


def bind(host: str, port: int | None) -> socket.socket:
    """A listening socket on the given port; without one on the usual port, or if that is taken on any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for choice in (PORT, 0) if port is None else (port,):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, choice))
            listener.listen()  # requests that arrive before the first answer wait, and the port stays ours
        except (OSError, OverflowError) as error:
            listener.close()
            reason = getattr(error, "strerror", None) or str(error)
            if choice == PORT and port is None:
                continue
            raise UserError(f"{host}:{choice}: cannot listen ({reason}); choose another --port or --host") from None
        return listener
    raise UserError(f"{host}: no free port")


def serve(session: "Session", listener: socket.socket, host: str) -> None:
    """Answer until Ctrl-C."""
    check_installed()
    import uvicorn

    from regard.view.routes import make_app

    config = uvicorn.Config(make_app(session, host), log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listener])
