"""A page before there is anything to show: what `vivace view` serves while it loads and compiles.

    with Lobby(gate, host, port) as lobby:
        print(lobby.port)
        lobby.say("loading")
        ...                            # seconds, or a minute the first time
    Viewer(..., port=lobby.port)       # takes over; pages that were told to wait connect again

It imports nothing that takes long, so that a page is there at once. Pages that connect are told what is being done, and
when it ends, to come again (1012, service restart), to the viewer that listens at the same address by then.
"""

from __future__ import annotations

import asyncio
import errno
import http
import logging
import threading
import time
from contextlib import suppress

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from ..errors import InputError
from . import messages as m
from .pages import Connection, Pages, read_request, refusal, response
from .security import Gate

PORT = 8008
TRIES = 20  # ports after PORT that are tried before any free one is taken
MOST_CLIENTS = 8
COME_AGAIN, FULL, ENDED = 1012, 1013, 4000  # codes for closing a socket [RFC 6455, section 7.4]
logger = logging.getLogger(__name__)


def ports_to_try(port: int | None) -> list[int]:
    """The one that was asked for, or the usual ones and at last any that is free."""
    return [port] if port is not None else [*range(PORT, PORT + TRIES), 0]


class Lobby:
    """Listens in a thread of its own. `port`: None: 8008, or the next that is free; afterwards the one it has."""

    def __init__(self, gate: Gate, host: str, port: int | None):
        self._gate, self._host, self._wanted = gate, host, port
        self.port = 0
        self._pages = Pages()
        self._newest = m.Starting("starting")
        self._sockets: set[ServerConnection] = set()
        self._ready = threading.Event()
        self._trouble: BaseException | None = None
        self._code = COME_AGAIN
        self._thread = threading.Thread(target=self._serve, name="vivace-lobby", daemon=True)

    def __enter__(self) -> Lobby:
        self._thread.start()
        self._ready.wait()
        if self._trouble is not None:
            raise self._trouble
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._code = ENDED  # nobody will be here
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(timeout=10)

    def say(self, text: str, done: int | None = None, total: int | None = None, *, failed: bool = False) -> None:
        """Tell all pages what is being done, and those that come later; or why it `failed`."""
        self._newest = m.Starting(text, done, total, failed)
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._changed.set)

    @property
    def pages(self) -> int:
        """How many look on."""
        return len(self._sockets)

    def wait_for_page(self, seconds: float = 5.0) -> None:
        """Until a page has come and was told, or so long."""
        end = time.monotonic() + seconds
        while not self._sockets and time.monotonic() < end:
            time.sleep(0.05)

    # --- the thread -----------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            asyncio.run(self._until_the_end())
        except BaseException as error:
            self._trouble = error
        finally:
            self._ready.set()

    async def _until_the_end(self) -> None:
        self._loop, self._ending, self._changed = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        async with await self._listen() as listening:
            self.port = next(iter(listening.sockets)).getsockname()[1]
            self._ready.set()
            telling = asyncio.create_task(self._tell())
            await self._ending.wait()
            telling.cancel()
            for socket in list(self._sockets):
                await self._send(socket)
                with suppress(ConnectionClosed):
                    await socket.close(self._code, "come again" if self._code == COME_AGAIN else "stopped")

    async def _listen(self) -> Server:
        ports = ports_to_try(self._wanted)
        for port in ports:
            try:
                return await serve(
                    self._attend,
                    self._host,
                    port,
                    process_request=self._answer,
                    create_connection=Connection,
                    compression=None,
                    max_size=m.LONGEST,
                    close_timeout=1,
                    logger=logger,
                    server_header=None,
                )
            except OSError as error:
                if error.errno != errno.EADDRINUSE or port == ports[-1]:
                    why = error.strerror or error
                    raise InputError(f"cannot listen at {self._host}, port {port}: {why}; choose another") from None
        raise AssertionError("there is a last port")

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        asked = read_request(request)
        if isinstance(asked, Response):
            return asked
        private = asked.path in ("/socket", "/check")
        refused = self._gate.why_not(request.path, asked.host, asked.origin if private else None, key=private)
        if refused:
            return refusal(refused, page=asked.path == "/index.html")
        if asked.path == "/socket":
            return None
        if asked.path == "/check":
            return response(http.HTTPStatus.OK, b"let in", "text/plain")
        if asked.path in self._pages:
            return self._pages.answer(asked.path, request.headers, asked.host)
        return response(http.HTTPStatus.NOT_FOUND, b"there is nothing here yet", "text/plain")

    async def _attend(self, socket: ServerConnection) -> None:
        if len(self._sockets) >= MOST_CLIENTS:
            return await socket.close(FULL, f"{MOST_CLIENTS} pages are looking on already")
        self._sockets.add(socket)
        try:
            await self._send(socket)
            async for _ in socket:  # there is nothing to say to us yet
                await asyncio.sleep(0.01)
        except ConnectionClosed:
            pass
        finally:
            self._sockets.discard(socket)
        return None

    async def _send(self, socket: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await asyncio.wait_for(socket.send(m.encode(self._newest)), timeout=2)

    async def _tell(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await asyncio.gather(*map(self._send, list(self._sockets)), return_exceptions=True)
            await asyncio.sleep(0.05)  # kernels come in dozens a second, and eyes do not
