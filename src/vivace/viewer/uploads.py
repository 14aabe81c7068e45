"""Meshes that people drop on the page: bytes over a socket of their own, into a file under a name of ours.

    page ──► server    {"name": ..., "size": ..., "kind": ..., "thrown": ...}   what is to come; then so many bytes
    server ──► page    {"error": "a sentence"} or {"error": ""}    and the socket closes

Messages are as short as on the other socket (LONGEST), what comes goes to the disk, and only one file at a time is
taken. The name is for people: of it, the ending chooses the reader, and the rest is shown.
"""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from ..errors import FileError, InputError, VivaceError
from ..mesh import Mesh
from ..scenes import SCENES
from .choices import Target
from .mesh_content import CHECKS
from .mesh_process import read_in_process
from .messages import MeshKind
from .thrown_mesh import ThrownMesh

MOST_BYTES = 64 << 20
PATIENCE = 30.0  # s without a byte, after which an upload is given up
LONGEST_NAME = 40  # characters of it that are shown
LONGEST_ERROR = 600  # characters
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Announcement:
    """What is to come. `kind`: what to make of it; "" for the best. `thrown`: into the scene that runs, as a body."""

    name: Annotated[str, Meta(max_length=255)]
    size: Annotated[int, Meta(ge=1, le=2**53)]
    kind: MeshKind | None = None
    thrown: bool = False


def announced(text: str | bytes) -> Announcement:
    """An announcement, checked: refused before a byte of the file is taken."""
    try:
        found = msgspec.json.decode(text, type=Announcement)
    except (msgspec.MsgspecError, UnicodeError, ValueError, RecursionError) as error:
        raise InputError(f"not an announcement of a file: {str(error)[:120]}") from None
    if found.size > MOST_BYTES:
        size = f"{found.size / 2**20:,.0f} MB"
        raise InputError(f"the file has {size}, and {MOST_BYTES >> 20} MB is the most that the page takes; simplify it")
    suffix_of(found.name)
    return found


def suffix_of(name: str) -> str:
    """The ending of a name, one of those that there are readers for."""
    suffix = "." + name.rpartition(".")[2].lower() if "." in name else ""
    for known in CHECKS:
        if suffix == known:
            return known
    kinds = ", ".join(known[1:].upper() for known in CHECKS)
    raise InputError(f"meshes are read from {kinds}; {shown_name(name)!r} is none of these")


def shown_name(name: str) -> str:
    """A name for people: letters, digits, spaces, - and _ of the last part of what the page said."""
    last = name.replace("\\", "/").rpartition("/")[2]
    stem = last.rpartition(".")[0] if "." in last else last
    return "".join(c if c.isalnum() or c in " -_" else "-" for c in stem)[:LONGEST_NAME].strip(" -") or "mesh"


async def receive(messages: AsyncIterator[str | bytes]) -> tuple[Announcement, Mesh]:
    """Take a file from the messages of a socket, and read it; VivaceError says what is wrong with it."""
    announcement = announced(await _next(messages))
    with tempfile.TemporaryDirectory(prefix="vivace-") as folder:
        path = Path(folder) / f"upload{suffix_of(announcement.name)}"
        left = announcement.size
        with path.open("wb") as file:
            while left > 0:
                part = await _next(messages)
                if not isinstance(part, bytes) or len(part) > left:
                    raise InputError(f"more came than the {announcement.size:,} bytes that were announced")
                file.write(part)
                left -= len(part)
        try:
            mesh = await asyncio.to_thread(read_in_process, path, shown_name(announcement.name))
        except VivaceError as error:
            raise FileError(f"{shown_name(announcement.name)}{path.suffix} was not taken: {error}") from None
    return announcement, mesh


async def _next(messages: AsyncIterator[str | bytes]) -> str | bytes:
    try:
        return await asyncio.wait_for(anext(messages), PATIENCE)
    except TimeoutError:
        raise InputError(f"nothing came for {PATIENCE:.0f} s; the upload was given up") from None
    except StopAsyncIteration:
        raise InputError("the upload ended before the file did") from None


class Uploads:
    """Takes meshes, one at a time. `take` gets what was read, or `throw`, what is to be a rigid body."""

    def __init__(self, take: Callable[[Target], None], throw: Callable[[ThrownMesh], None]):
        self._take, self._throw, self._busy = take, throw, False

    async def attend(self, socket: ServerConnection) -> None:
        """Take a file from a socket, say what came of it, and close."""
        error = "another mesh is being read; one at a time"
        if not self._busy:
            self._busy = True
            try:
                error = await self._taken(socket)
            except ConnectionClosed:
                return
            finally:
                self._busy = False
        with suppress(ConnectionClosed):
            await socket.send(json.dumps({"error": error[:LONGEST_ERROR]}))
            await socket.close()

    async def _taken(self, socket: ServerConnection) -> str:
        """Why a file was not taken; "" if it was."""
        try:
            announcement, mesh = await receive(aiter(socket))
            if announcement.thrown:
                self._throw(await asyncio.to_thread(ThrownMesh, mesh))
                return ""
        except VivaceError as error:
            return str(error)
        except (ConnectionClosed, asyncio.CancelledError):
            raise
        except Exception:
            logger.exception("a mesh could not be read")
            return "the mesh could not be read; the terminal says more"
        name = f"{mesh.name} (own mesh)" if mesh.name in SCENES else mesh.name
        options = {} if announcement.kind is None else {"kind": announcement.kind}
        self._take(Target(name, options, mesh, f"{mesh.name}{suffix_of(announcement.name)}"))
        return ""
