"""What the server says, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from .settings import BodyKind, Settings


@dataclass(frozen=True)
class SolverChoice:
    """`relaxation`: its default ω, None where there is none to set; `most_relaxation`: the largest that is stable."""

    name: str
    summary: str
    relaxation: float | None
    most_relaxation: float | None


@dataclass(frozen=True)
class SceneChoice:
    """A scene that the page offers."""

    name: str
    summary: str


@dataclass(frozen=True)
class Hello:
    """The first message. `client`: this page's key in `FrameData.orders`.

    `solvers` are for soft bodies, `contact_solvers` for rigid ones.
    """

    type: ClassVar[str] = "hello"
    version: str
    client: str
    solvers: list[SolverChoice]
    contact_solvers: list[SolverChoice]
    scenes: list[SceneChoice]


@dataclass(frozen=True)
class State:
    """After every change. `busy`: what is being prepared in the background, "" when nothing."""

    type: ClassVar[str] = "state"
    scene: str
    bodies: BodyKind
    settings: Settings
    busy: str
    recording: bool
    recorded_frames: int
    recorded_seconds: float


@dataclass(frozen=True)
class Notice:
    """Something to tell the person."""

    type: ClassVar[str] = "notice"
    level: Literal["info", "error"]
    text: str


@dataclass(frozen=True)
class Slipped:
    """What `pointer` of this page held has slipped out of the hand; `text` says why."""

    type: ClassVar[str] = "slipped"
    pointer: int
    text: str


@dataclass(frozen=True)
class Download:
    """A file is ready at `path` (on this server, with the token)."""

    type: ClassVar[str] = "download"
    path: str
    name: str


ToPage = Hello | State | Notice | Slipped | Download
