"""The server of the dashboard: loopback only, reading only, for its own pages only.

A page of another site can make the browser ask any address on this machine. So requests whose
``Host`` is not ours are refused (that is what DNS rebinding needs), and those that another site
caused; nothing but GET is answered, and nothing that is asked changes anything.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from archeng.checks import needed
from archeng.dashboard.live import Live
from archeng.errors import SettingsError
from archeng.report import style_sheet

logger = logging.getLogger("archeng")

ADDRESS = "127.0.0.1"
USUAL_PORT = 8517  # of `archeng dashboard`; any free one if it is taken
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_FIGURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
_FILES = {
    "/": ("dashboard.html", "text/html"),
    "/app.js": ("dashboard.js", "text/javascript"),
    "/app.css": ("dashboard.css", "text/css"),
    "/favicon.ico": ("icon.svg", "image/svg+xml"),
}  # of the folder `assets`, by their addresses


class DashboardServer(ThreadingHTTPServer):
    """Serves one journal on 127.0.0.1; without a port on the usual one, or any if that is taken.

    Raises
    ------
    SettingsError
        If the port is taken or not allowed.
    """

    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # there it would let two programs share a port

    def __init__(self, live: Live, port: int | None = None) -> None:
        self.live = live
        try:
            super().__init__((ADDRESS, USUAL_PORT if port is None else port), _Handler)
        except (OSError, OverflowError) as error:
            if port is not None:
                raise SettingsError(
                    f"port {port} cannot be used ({error}). Choose another by --port, or leave it "
                    "out for a free one."
                ) from error
            super().__init__((ADDRESS, 0), _Handler)

    @property
    def port(self) -> int:
        """The port in use."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """Where to look."""
        return f"http://{ADDRESS}:{self.port}/"

    def is_ours(self, host: str | None) -> bool:
        """Whether a Host header names this server."""
        return host in (f"{ADDRESS}:{self.port}", f"localhost:{self.port}")

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what went wrong with a request; a browser that went away is nothing."""
        gone = isinstance(sys.exception(), ConnectionError | TimeoutError)
        level = logging.DEBUG if gone else logging.WARNING
        logger.log(level, "a request to the dashboard failed", exc_info=True)


def serve(path: str | Path, port: int | None = None) -> DashboardServer:
    """Return a server for a journal; call its ``serve_forever``."""
    needed("matplotlib", "plot")  # now, and not when the first figure is drawn
    live = Live(path)
    server = DashboardServer(live, port)
    live.start()
    return server


class _Handler(BaseHTTPRequestHandler):
    server: DashboardServer
    timeout = 30
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer, if the request comes from our own page."""
        refusal = self._refusal()
        if refusal:
            self._send(refusal, HTTPStatus.FORBIDDEN)
            return
        parts = urlsplit(self.path)
        if parts.path in _FILES:
            name, kind = _FILES[parts.path]
            text = files("archeng.dashboard").joinpath("assets", name).read_text(encoding="utf-8")
            self._send(style_sheet() + text if kind == "text/css" else text, kind=kind)
        elif parts.path == "/state":
            known = parse_qs(parts.query).get("version", ["0"])[0]
            self._send(json.dumps(self.server.live.state(known)), kind="application/json")
        elif parts.path.startswith("/figure/") and parts.path.endswith(".svg"):
            self._figure(parts.path[len("/figure/") : -len(".svg")])
        else:
            self._send("There is no such page.", HTTPStatus.NOT_FOUND)

    def _not_allowed(self) -> None:
        self.close_connection = True  # a body, if there is one, is not read
        self._send("Only GET.", HTTPStatus.METHOD_NOT_ALLOWED, more={"Allow": "GET"})

    def __getattr__(self, name: str) -> Any:
        """Whatever the method is, it is not GET."""
        if name.startswith("do_"):
            return self._not_allowed
        raise AttributeError(name)

    def _refusal(self) -> str:
        """Return why a request is refused; empty if it is not."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not self.server.is_ours(hosts[0]):
            return f"Refused: this is not the host you asked for. Open {self.server.url}"
        own_site = self.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        link = self.headers.get("Sec-Fetch-Mode") == "navigate"
        origin = self.headers.get("Origin")
        own_origin = origin is None or self.server.is_ours(origin.removeprefix("http://"))
        return "" if (own_site or link) and own_origin else "Refused: another site asked."

    def _figure(self, kind: str) -> None:
        try:
            data = self.server.live.figure(kind)
        except SettingsError:
            self._send("There is no such figure.", HTTPStatus.NOT_FOUND)
            return
        self._send(data, kind="image/svg+xml", more={"Content-Security-Policy": _FIGURE_POLICY})

    def _send(
        self,
        body: str | bytes,
        status: HTTPStatus = HTTPStatus.OK,
        kind: str = "text/plain",
        more: dict[str, str] | None = None,
    ) -> None:
        data = body.encode("utf-8", "replace") if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        for name, value in {**_HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def version_string(self) -> str:
        """Say no more than needed about this server."""
        return "archeng"

    def log_message(self, format: str, *args: Any) -> None:
        """Log requests where the user wants to see them."""
        logger.debug("dashboard: " + format, *args)
