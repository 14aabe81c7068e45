"""Who may talk to the server.

A page of another site, open in the same browser, can reach a server on loopback. So a connection has to come from our
own page (origin), under a name that is ours (host: a site's name can be made to point at loopback), with the key that
is in the address which was printed. docs/viewer.md says what this protects and what not.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")
RATE, BURST = 600.0, 1200.0  # messages a second, and at once: pointers and frames at 240 Hz, and some room


class Gate:
    """Checks requests. `hosts`: names under which the server may be called besides loopback; "*": any."""

    def __init__(self, hosts: Iterable[str] = (), token: str | None = None):
        self.token = secrets.token_urlsafe(24) if token is None else token
        self._hosts = {host.lower() for host in (*LOOPBACK, *hosts)}

    def why_not(self, target: str, host: str | None, origin: str | None, *, key: bool) -> str:
        """Why a request is refused; "" if it is not. `key`: it must carry the token."""
        name = _hostname(host)
        if name is None or ("*" not in self._hosts and name not in self._hosts):
            return "this server does not go by that name"
        if origin is not None and not _same_origin(origin, host):
            return "pages of other sites may not talk to this server"
        if key:
            given = parse_qs(urlsplit(target).query).get("token", [""])[0]
            if not hmac.compare_digest(given.encode(), self.token.encode()):
                return "the address lacks the key that was printed when the viewer started"
        return ""


def _hostname(host: str | None) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname if host else None
    except ValueError:
        return None


def _same_origin(origin: str, host: str | None) -> bool:
    try:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == (host or "").lower()
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own, which nobody else can reach."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_everywhere(host: str) -> bool:
    """Whether an address to listen at means all of the machine's addresses."""
    try:
        return host == "" or ip_address(host).is_unspecified
    except ValueError:
        return False


class Allowance:
    """How many messages a client may still send: a bucket that fills at RATE and holds BURST."""

    def __init__(self) -> None:
        self._left, self._at = BURST, time.monotonic()

    def take(self) -> bool:
        """Take one message from the allowance; False when there is none left for now."""
        now = time.monotonic()
        self._left = min(BURST, self._left + RATE * (now - self._at))
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
