"""The server: the page over HTTP, and a socket for each page.

One task a client writes to its socket: first what there is to say, then the newest frame, if the client has drawn the
last one. A client that does not read keeps its own task waiting and nobody else: what is kept for it is bounded.
"""

from __future__ import annotations

import asyncio
import http
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.server import Server as WebSocketServer
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from .._version import __version__
from ..errors import InputError, VivaceError
from ..pictures.camera import Camera
from ..scenes import RigidScene, Scene
from ..scenes.self_contact import touches_itself
from ..scenes.writing import scene_text
from ..simulation import Simulation
from . import cache_exports as cache_exports  # which registers its formats
from . import messages as m
from .actions.adding import throw_mesh
from .actions.loading import take_mesh
from .choices import Target, contact_solver_choices, scene_choices, solver_choices, with_relaxation
from .exports import POSE_FORMATS, RECORDING_FORMATS, Cancelled, Work, choices, pose_file, recording_file
from .frames import frame_message
from .mesh_content import CHECKS
from .pace import Pace
from .pages import Connection, Pages, read_request, refusal, response
from .running_edits import RunningEdits
from .security import Allowance, Gate
from .session import Session
from .snapshot import Snapshot
from .tailoring import fabric_choices
from .thrown_mesh import ThrownMesh
from .uploads import Uploads

UPLOAD = "/upload"
SOCKETS = ("/socket", UPLOAD)
MOST_CLIENTS = 8
MOST_FAULTS = 100  # messages that make no sense, after which a client is not listened to any longer
MOST_MAIL = 64  # messages kept for a client that does not read
MOST_FILES = 4  # made for downloading; the oldest go first
ANSWER_S = 60.0  # until the simulation answers between two steps, of which the first compile their kernels
REFUSED, TOO_MANY, FULL = 1008, 1008, 1013  # codes for closing a socket [RFC 6455, section 7.4]
logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Client:
    """A page that looks on."""

    name: str
    socket: ServerConnection
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    mail: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_MAIL))
    state: str | None = None  # the newest, not sent yet
    credit: bool = True
    sent: int = 0  # the last frame
    scene: int = 0  # that it has
    faults: int = 0
    allowance: Allowance = field(default_factory=Allowance)

    def post(self, message: m.ToPage) -> None:
        """Queue a message for the client; of states only the newest is kept."""
        if isinstance(message, m.State):
            self.state = m.encode(message)
        else:
            self.mail.append(m.encode(message))
        self.wake.set()


class Server:
    """Serves a session. All methods but `post` run in the event loop's thread."""

    def __init__(self, session: Session, gate: Gate, *, precision: int = 16):
        self.session, self.gate, self.precision = session, gate, precision
        self.clients: dict[str, Client] = {}
        self._files: dict[str, tuple[str, bytes]] = {}
        self._encoder = ThreadPoolExecutor(1, "vivace-encoder")
        self._frame: tuple[int, asyncio.Future[bytes]] | None = None
        self._count = 0
        self._pace = Pace()  # the encoder's
        self._saving: Work | None = None
        self.pages, self._uploads = Pages(), Uploads(self._take_mesh, self._throw_mesh)

    @property
    def has_page(self) -> bool:
        """Whether the page has been built into the package."""
        return "/index.html" in self.pages

    async def start(self, host: str, port: int) -> WebSocketServer:
        """Listen on an address, and hear of what the session has to tell."""
        self._loop = asyncio.get_running_loop()
        self.session.notify, self.session.send = self._notify, self.post
        return await serve(
            self._attend,
            host,
            port,
            process_request=self._answer,
            create_connection=Connection,
            compression=None,
            max_size=m.LONGEST,
            max_queue=64,
            write_limit=1 << 16,
            close_timeout=2,
            logger=logger,
            server_header=None,
        )

    def close(self) -> None:
        """Stop encoding frames."""
        self._encoder.shutdown(wait=False, cancel_futures=True)

    # --- from the physics thread ----------------------------------------------------------------------------------

    def _notify(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._wake)

    def post(self, message: m.ToPage, client: str | None) -> None:
        """Say something to one client, or to all."""

        def deliver() -> None:
            for one in [self.clients.get(client)] if client is not None else list(self.clients.values()):
                if one is not None:
                    one.post(message)

        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(deliver)

    def _wake(self) -> None:
        for client in self.clients.values():
            if client.credit:
                client.wake.set()

    # --- HTTP -----------------------------------------------------------------------------------------------------

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Pages and files; None for the socket, which then opens."""
        asked = read_request(request)
        if isinstance(asked, Response):
            return asked
        path, host = asked.path, asked.host
        private = path in (*SOCKETS, "/check") or path.startswith("/files/")
        # The page's code is nobody's secret: it has to come through a proxy whose name we do not know, to say so.
        refused = self.gate.why_not(request.path, host, asked.origin if private else None, key=private)
        if refused:
            return refusal(refused, page=path == "/index.html")
        if path in SOCKETS:
            return None
        if path == "/check":
            return response(http.HTTPStatus.OK, b"let in", "text/plain")
        if path.startswith("/files/") and path[7:] in self._files:
            kind, body = self._files[path[7:]]
            return response(http.HTTPStatus.OK, body, kind, {"Content-Disposition": "attachment"})
        if path in self.pages:
            return self.pages.answer(path, request.headers, host)
        return response(http.HTTPStatus.NOT_FOUND, b"there is nothing here", "text/plain")

    # --- the socket -----------------------------------------------------------------------------------------------

    async def _attend(self, socket: ServerConnection) -> None:
        if socket.request is not None and urlsplit(socket.request.path).path == UPLOAD:
            return await self._uploads.attend(socket)
        if len(self.clients) >= MOST_CLIENTS:
            return await socket.close(FULL, f"{MOST_CLIENTS} pages are looking on already")
        self._count += 1
        client = Client(str(self._count), socket)
        self.clients[client.name] = client
        session = self.session
        running = session.running_scene
        soft, contact = solver_choices(), contact_solver_choices()
        solvers = (running.choices, contact) if running.bodies == "soft" else (soft, running.choices)
        also = [] if session.uploaded is None else [session.uploaded.name]
        scenes, fabrics = scene_choices(session.own, also), fabric_choices()
        files = choices(RECORDING_FORMATS), choices(POSE_FORMATS)
        client.post(m.Hello(__version__, client.name, *solvers, scenes, fabrics, session.gallery, list(CHECKS), *files))
        client.post(session.state)
        client.post(session.edited)
        session.watchers = len(self.clients)
        session.call(lambda: None)  # wakes it
        feeding = asyncio.create_task(self._feed(client))
        try:
            async for text in socket:
                if not client.allowance.take():
                    await socket.close(TOO_MANY, "too many messages")
                    break
                self._receive(client, text)
                if client.faults > MOST_FAULTS:
                    await socket.close(REFUSED, "too many messages that make no sense")
                    break
        except ConnectionClosed:
            pass
        finally:
            feeding.cancel()
            del self.clients[client.name]
            session.watchers = len(self.clients)
            session.leave(client.name)
        return None

    def _take_mesh(self, target: Target) -> None:
        self.session.call(lambda: take_mesh(self.session, target))

    def _throw_mesh(self, thrown: ThrownMesh) -> None:
        self.session.call(lambda: throw_mesh(self.session, thrown))

    def _receive(self, client: Client, text: str | bytes) -> None:
        try:
            message = m.decode(text)
        except InputError as error:
            client.faults += 1
            return client.post(m.Notice("error", str(error)[:300]))
        if isinstance(message, m.Drawn):
            if message.frame == client.sent and not client.credit:
                client.credit = True
                client.wake.set()
        elif isinstance(message, m.Save):
            self._save(client, message)
        elif isinstance(message, m.Cancel):
            if self._saving is not None:
                self._saving.cancelled.set()
        else:
            self.session.tell(client.name, message)
        return None

    async def _feed(self, client: Client) -> None:
        """Write to a client, for as long as it is there."""
        with suppress(ConnectionClosed):
            while True:
                await client.wake.wait()
                client.wake.clear()
                while client.mail:
                    await client.socket.send(client.mail.popleft())
                if client.state is not None:
                    state, client.state = client.state, None
                    await client.socket.send(state)
                await self._send_newest(client)

    async def _send_newest(self, client: Client) -> None:
        snapshot = self.session.newest
        if not client.credit or snapshot is None or snapshot.number <= client.sent:
            return
        client.credit = False
        if snapshot.backdrop.number != client.scene:
            client.scene = snapshot.backdrop.number
            await client.socket.send(await self._elsewhere(lambda: snapshot.backdrop.message))
        client.sent = snapshot.number
        await client.socket.send(await self._encoded(snapshot))

    async def _encoded(self, snapshot: Snapshot) -> bytes:
        """A frame's bytes, made once for all clients."""
        if self._frame is None or self._frame[0] != snapshot.number:
            self._frame = snapshot.number, self._elsewhere(lambda: frame_message(snapshot, self.precision, self._pace))
        return await asyncio.shield(self._frame[1])

    def _elsewhere(self, work: Callable[[], bytes]) -> asyncio.Future[bytes]:
        return asyncio.ensure_future(self._loop.run_in_executor(self._encoder, work))

    # --- files ----------------------------------------------------------------------------------------------------

    def _save(self, client: Client, message: m.Save) -> None:
        if self._saving is not None:
            return client.post(m.Notice("error", "a file is being made already; one at a time"))
        self._saving = Work(lambda progress: self.post(progress, client.name))
        self._keep = asyncio.create_task(self._make_file(client, message, self._saving))
        return None

    async def _make_file(self, client: Client, message: m.Save, work: Work) -> None:
        try:
            name, kind, body = await asyncio.to_thread(self._made, message, work)
        except Cancelled:
            client.post(m.Notice("info", "cancelled; no file was made"))
        except VivaceError as error:
            client.post(m.Notice("error", str(error)))
        except Exception:
            logger.exception("a file could not be made")
            client.post(m.Notice("error", "the file could not be made; the terminal says more"))
        else:
            self._files[name] = kind, body
            while len(self._files) > MOST_FILES:
                del self._files[next(iter(self._files))]
            client.post(m.Download(f"files/{name}", name))
        finally:
            self._saving = None
            client.post(m.Progress("", 0, 0, None))

    def _made(self, message: m.Save, work: Work) -> tuple[str, str, bytes]:
        """Name, type and bytes of a file. Names are ours: nothing the page says becomes a path."""
        session = self.session
        stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in Path(session.scene.name).stem) or "scene"
        if message.what == "scene":
            text = session.ask(lambda: _scene_file(session)).result(ANSWER_S)
            return f"{stem}.toml", "application/toml", text.encode()
        if message.what == "pose":
            shown, sim = session.ask(lambda: (session.newest, session.sims[0])).result(ANSWER_S)
            if shown is None:
                raise InputError("there is nothing to be seen yet")
            mesh = sim.model.mesh if isinstance(sim, Simulation) else None
            kind, body = pose_file(shown.backdrop.triangles, shown.views[0], message.format, mesh)
            return f"{stem}-{shown.number}.{POSE_FORMATS[message.format].name}", kind, body
        if session.ask(lambda: session.recording.active).result(ANSWER_S):
            raise InputError("stop the recording first")
        camera = Camera(tuple(message.eye), tuple(message.target)) if message.eye and message.target else None  # type: ignore[arg-type]
        kind, body = recording_file(session.recording, message.format, camera, work)
        return f"{stem}-{session.recording.frames}.{RECORDING_FORMATS[message.format].suffix}", kind, body


def _scene_file(session: Session) -> str:
    settings, sim, running = session.settings, session.sims[0], session.running_scene
    return scene_text(
        session.scene,
        solver=with_relaxation(settings.solver, settings.relaxation),
        budget=sim.budget,
        time_step=settings.time_step,
        gravity=sim.gravity,
        wind=None if isinstance(session.scene, RigidScene) else sim.wind,
        stiffness=settings.stiffness,
        **_tailoring(session.scene, settings),
        edits=running.all_edits if isinstance(running, RunningEdits) else None,
    )


def _tailoring(scene: Scene | RigidScene, settings: m.Settings) -> dict[str, Any]:
    """What people made of a soft scene's body, as far as it is not the scene's own."""
    if isinstance(scene, RigidScene):
        return {}
    changed = settings.self_contact != touches_itself(scene.model)
    return {"fabric": settings.fabric, "self_contact": settings.self_contact if changed else None}
