"""Answers over HTTP: the page's own files, and refusals that say what to do.

The page's files are kept in memory, sent compressed to browsers that take it, and may be kept by them: a browser asks
with the mark (ETag) of what it has, and gets nothing but "unchanged" for as long as that is so.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import http
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers, MultipleValuesError
from websockets.exceptions import InvalidMessage
from websockets.http11 import Request, Response

PAGE = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".txt": "text/plain",
    ".webp": "image/webp",
    ".png": "image/png",
}
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* vscode-webview:"
)
PLAIN_HOST = re.compile(r"[a-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9a-f:.]{2,45}\](:[0-9]{1,5})?", re.IGNORECASE)
REFUSAL = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Vivace: not let in</title>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 44em; margin: 15vh auto; padding: 0 1.5em">
<h1 style="font-size: 1.4em">Vivace does not answer here</h1>
<p>{why}.</p>
<p>Or open the address that <code>vivace view</code> has printed, as it is.</p>
"""


def response(
    status: http.HTTPStatus, body: bytes, kind: str, more: dict[str, str] | None = None, *, host: str | None = None
) -> Response:
    """An answer that browsers do not keep, unless `more` has another Cache-Control.

    `host`: the name it was asked under, as the request has it; the page may open its socket there. Browsers for which
    'self' means sockets as well do not need it; behind a proxy that changes the name they are the ones that work.
    """
    kind = f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
    known = host is not None and PLAIN_HOST.fullmatch(host)
    sockets = f"connect-src 'self' ws://{host} wss://{host}" if known else "connect-src 'self'"
    entries = {
        "Content-Type": kind,
        "Content-Length": str(len(body)),
        "Connection": "close",
        "Cache-Control": "no-store",
        "Content-Security-Policy": f"{POLICY}; {sockets}",
        **HEADERS,
        **(more or {}),
    }
    return Response(status.value, status.phrase, Headers(entries), body)


def refusal(why: str, *, page: bool, status: http.HTTPStatus = http.HTTPStatus.FORBIDDEN) -> Response:
    """Why there is no answer: as a page for those who would have got one, as a line for all others."""
    if not page:
        return response(status, why.encode(), "text/plain")
    return response(status, REFUSAL.format(why=html.escape(why[:1].upper() + why[1:])).encode(), "text/html")


@dataclass(frozen=True)
class Asked:
    """A request: `path` without its query, "/index.html" for "/"; `said`: the first value of each name in the query."""

    path: str
    host: str | None
    origin: str | None
    said: dict[str, str]


def read_request(request: Request) -> Asked | Response:
    """What a request asks for, or why it cannot be told."""
    try:
        host, origin = request.headers.get("Host"), request.headers.get("Origin")
        if not request.path.startswith("/"):
            raise ValueError("a whole address: this is no proxy")
        parts = urlsplit(request.path)
        path, said = unquote(parts.path), parse_qs(parts.query)
    except (MultipleValuesError, ValueError):
        why = "a request has one Host, at most one Origin, and a path that can be read"
        return refusal(why, page=False, status=http.HTTPStatus.BAD_REQUEST)
    if getattr(request, "method", "GET") != "GET":  # older releases of websockets refuse the others themselves
        why = "this server takes GET requests only"
        return refusal(why, page=False, status=http.HTTPStatus.METHOD_NOT_ALLOWED)
    if path == "/check":  # browsers send no Origin when a page asks its own server
        origin = origin or said.get("origin", [None])[0]
    return Asked(
        "/index.html" if path == "/" else path, host, origin, {name: values[0] for name, values in said.items()}
    )


class Connection(ServerConnection):
    """A connection that answers what is no request to speak of, too, before it ends."""

    _told = False

    def send_data(self) -> None:
        """Write what there is to send."""
        if not self._told and isinstance(self.protocol.handshake_exc, InvalidMessage):
            self._told = True
            why = "this server takes GET requests of HTTP/1.1 only, and could not read this one"
            self.transport.write(refusal(why, page=False, status=http.HTTPStatus.BAD_REQUEST).serialize())
        super().send_data()


class Pages:
    """The page's files, by path."""

    def __init__(self, folder: Path = PAGE):
        found = [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
        self._files = {f"/{path.name}": path.read_bytes() for path in found}
        self._small: dict[str, bytes] = {}
        self._marks = {path: hashlib.sha256(body).hexdigest()[:32] for path, body in self._files.items()}

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def answer(self, path: str, headers: Headers, host: str | None) -> Response:
        """The file at that path, which must be there."""
        kind = TYPES.get(Path(path).suffix, "text/plain")
        squeezed = kind.startswith("text/") and takes_gzip(headers)
        mark = f'"{self._marks[path]}{"-gzip" if squeezed else ""}"'
        more = {"ETag": mark, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        had = {one.strip().removeprefix("W/") for line in headers.get_all("If-None-Match") for one in line.split(",")}
        if mark in had:
            return response(http.HTTPStatus.NOT_MODIFIED, b"", kind, more, host=host)
        if squeezed:
            more["Content-Encoding"] = "gzip"
        return response(http.HTTPStatus.OK, self._body(path, squeezed), kind, more, host=host)

    def _body(self, path: str, squeezed: bool) -> bytes:
        if not squeezed:
            return self._files[path]
        if path not in self._small:  # by the first who asks, which takes milliseconds; and the same bytes every time
            self._small[path] = gzip.compress(self._files[path], compresslevel=6, mtime=0)
        return self._small[path]


def takes_gzip(headers: Headers) -> bool:
    """Whether a client says that it can read gzip."""
    for line in headers.get_all("Accept-Encoding"):
        for one in line.split(","):
            name, *options = (part.strip().lower() for part in one.split(";"))
            if name == "gzip":
                return not any(re.fullmatch(r"q=0(\.0*)?", option) for option in options)
    return False
