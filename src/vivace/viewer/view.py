"""A window on a simulation: server and physics in threads of their own, an address to open."""

from __future__ import annotations

import asyncio
import errno
import html
import sys
import threading
import webbrowser
from collections.abc import Iterable
from typing import Any

from websockets.asyncio.server import Server as WebSocketServer

from ..errors import InputError, VivaceError
from ..scenes import Scene
from ..simulation.simulation import Simulation
from .choices import Target
from .lobby import ports_to_try
from .security import gate_of, is_loopback, url_of
from .server import Server
from .session import Session

PRECISIONS = (16, 32)


class Viewer:
    """A session and its server.

        with Viewer(Target("tablecloth", {})) as viewer:
            print(viewer.url)
            viewer.wait()

    Args:
        host: where to listen; anything but loopback lets others on the network in, if they have the key.
        port: None: 8008, or the next that is free.
        also_known: names of proxies before the server, as the browser's address has them; with a port, if only that one
            is meant.
        key: who has it may take part; None: a new one. See `vivace.viewer.keys`.
        precision: bits of a coordinate on the wire, 16 or 32.
        settings: of the session: solver, budget_ms, threads, seed, scene, sim.
    """

    def __init__(
        self,
        target: Target,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        also_known: Iterable[str] = (),
        key: str | None = None,
        precision: int = 16,
        **settings: Any,
    ):
        if precision not in PRECISIONS:
            raise InputError(f"precision is 16 or 32 bits, not {precision!r}")
        if port is not None and not (isinstance(port, int) and 0 <= port < 65536):
            raise InputError(f"a port is a number from 0 to 65535, not {port!r}")
        self.host, self._port = host, port
        self.gate = gate_of(host, key, also_known)
        self.session = Session(target, **settings)
        self.server = Server(self.session, self.gate, precision=precision)
        self._ready, self._done = threading.Event(), threading.Event()
        self._trouble: BaseException | None = None
        self._asked_to_end = False
        self._thread = threading.Thread(target=self._serve, name="vivace-server", daemon=True)

    def __enter__(self) -> Viewer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Viewer:
        """Listen, and let the simulation run."""
        if not self.server.has_page:
            raise VivaceError(
                "this installation has no page (it was built with VIVACE_NO_PAGE=1, or without Node); "
                "install it again: pip install --force-reinstall --no-deps vivace"
            )
        self._thread.start()
        self._ready.wait()
        if self._trouble is not None:
            raise self._trouble
        self.session.start()
        return self

    def stop(self) -> None:
        """End it all; the simulation stays as it is."""
        self.session.stop()
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ending.set)
            self._thread.join(timeout=10)
        self.server.close()
        self._done.set()

    def wait(self) -> None:
        """Until `stop` or `end` is called, or the person interrupts."""
        while not self._done.wait(0.5) and not self._asked_to_end:
            pass

    def end(self, *_: object) -> None:
        """Have `wait` return. It takes no lock and raises nothing, so it may be a signal's handler."""
        self._asked_to_end = True

    def open_browser(self) -> bool:
        """Show the page in the person's browser; whether there is one."""
        try:
            return webbrowser.open(self.url)
        except webbrowser.Error:
            return False

    @property
    def is_open(self) -> bool:
        """Whether others than this machine can reach the server."""
        return not is_loopback(self.host)

    @property
    def url(self) -> str:
        """The address, with the key."""
        return url_of(self.host, self.port, self.gate)

    def _repr_html_(self) -> str:
        """In a notebook: the page itself."""
        return (
            f'<iframe src="{html.escape(self.url)}" title="Vivace" width="100%" height="640" '
            'style="border: 0; border-radius: 8px" allow="fullscreen"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Viewer of {self.session.scene.name} at {self.url}>"

    # --- the server's thread --------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            asyncio.run(self._until_the_end())
        except BaseException as error:
            self._trouble = error
        finally:
            self._ready.set()

    async def _until_the_end(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        async with await self._listen() as listening:
            self.port: int = next(iter(listening.sockets)).getsockname()[1]
            self._ready.set()
            await self._ending.wait()

    async def _listen(self) -> WebSocketServer:
        ports = ports_to_try(self._port)
        for port in ports:
            try:
                return await self.server.start(self.host, port)
            except OSError as error:
                if error.errno != errno.EADDRINUSE or port == ports[-1]:
                    why = error.strerror or error
                    raise InputError(f"cannot listen at {self.host}, port {port}: {why}; choose another") from None
        raise AssertionError("there is a last port")


def view_simulation(
    sim: Simulation, *, name: str = "simulation", browser: bool | None = None, **options: Any
) -> Viewer:
    """Show a running simulation; see `Simulation.view`."""
    scene = Scene(name, sim.model, sim.time_step, start=sim.positions)
    viewer = Viewer(Target(name, {}), scene=scene, sim=sim, **options).start()
    if browser or (browser is None and not in_notebook()):
        viewer.open_browser()
    return viewer


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook, which shows results as HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
