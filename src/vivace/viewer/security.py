"""Who may talk to the server.

A page of another site, open in the same browser, can reach a server on loopback. So a connection has to come from our
own page (origin), under a name that is ours (host: a site's name can be made to point at loopback), with the key that
is in the address which was printed. docs/viewer.md says what this protects and what not.
"""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

from .keys import check_key, new_key

SPELLED = re.compile(r"[a-z0-9_.:-]{1,253}", re.IGNORECASE)  # names that may be repeated in an answer
LOOPBACK = ("localhost", "127.0.0.1", "::1")
RATE, BURST = 600.0, 1200.0  # messages a second, and at once: pointers and frames at 240 Hz, and some room


class Gate:
    """Checks requests.

    Args:
        hosts: names under which the server may be called besides loopback; "*": any.
        token: the key; a new one if there is none.
        proxies: names of proxies that call it under a name of its own, while the page has theirs; with a port, if only
            that one is meant. They are names that it goes by as well.
    """

    def __init__(self, hosts: Iterable[str] = (), token: str | None = None, proxies: Iterable[str] = ()):
        self.token = new_key() if token is None else check_key(token)
        self._proxies = {proxy.lower() for proxy in proxies}
        names = (name for proxy in self._proxies if (name := _hostname(proxy)) is not None)
        self._hosts = {host.lower() for host in (*LOOPBACK, *hosts, *names)}

    def why_not(self, target: str, host: str | None, origin: str | None, *, key: bool) -> str:
        """Why a request is refused; "" if it is not. `key`: it must carry the token."""
        name = _hostname(host)
        if name is None or ("*" not in self._hosts and name not in self._hosts):
            return f"this server does not go by the name of {_named(name)}; {_remedy(name)}"
        if origin is not None and not _same_origin(origin, host) and not self._is_proxy(origin):
            asking = _hostname(origin.partition("://")[2])
            whose = f"this one is of {_named(asking)}"
            return f"pages of other sites may not talk to this server, and {whose}; {_remedy(asking)}"
        if key:
            given = parse_qs(urlsplit(target).query).get("token", [""])[0]
            if not hmac.compare_digest(given.encode(), self.token.encode()):
                return "the key in the address is not that of this server; open the address that vivace view printed"
        return ""

    def _is_proxy(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
            found = {parts.netloc.lower(), (parts.hostname or "").lower()} & self._proxies
        except ValueError:
            return False
        return bool(found) and parts.scheme in ("http", "https")


def _named(name: str | None) -> str:
    return f"'{name}'" if name is not None and SPELLED.fullmatch(name) else "that kind"


def _remedy(name: str | None) -> str:
    known = name if name is not None and SPELLED.fullmatch(name) else "NAME"
    return f"if a proxy of yours stands in between, start vivace view with --also-known-as {known}"


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


def gate_of(host: str, key: str | None, also_known: Iterable[str]) -> Gate:
    """The gate of a server that listens at `host`, behind proxies of those names."""
    return Gate(["*" if is_everywhere(host) else host], key, proxies=also_known)


def url_of(host: str, port: int, gate: Gate) -> str:
    """The address to open, with the key."""
    host = "127.0.0.1" if is_everywhere(host) else host
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/#token={gate.token}"
