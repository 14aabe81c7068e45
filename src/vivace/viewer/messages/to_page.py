"""What the server says, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from .settings import BodyKind, GhostPhase, Settings


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
class FormatChoice:
    """A format of files that can be made."""

    name: str
    title: str


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
    recording_formats: list[FormatChoice]
    pose_formats: list[FormatChoice]


@dataclass(frozen=True)
class State:
    """After every change.

    Attributes:
        busy: what is being prepared in the background, "" when nothing.
        pins: how many vertices are pinned.
        undo: what would be taken back next, in a word or two; "" where there is nothing.
        redo: what would be made again.
        replay: the frame of the recording that is shown; None while the simulation is.
    """

    type: ClassVar[str] = "state"
    scene: str
    bodies: BodyKind
    settings: Settings
    busy: str
    recording: bool
    recorded_frames: int
    recorded_seconds: float
    pins: int
    undo: str
    redo: str
    replay: int | None


@dataclass(frozen=True)
class Starting:
    """Before there is a simulation: what is being done. `done` of about `total` parts; None where nobody knows.

    `failed`: there will be none, and why.
    """

    type: ClassVar[str] = "starting"
    text: str
    done: int | None = None
    total: int | None = None
    failed: bool = False


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
class Progress:
    """How far a file is: at once, at least once a second, and with `total` 0 when there is none any more.

    Attributes:
        label: what is being done.
        done: frames.
        total: of so many.
        seconds_left: about; None before that can be said.
    """

    type: ClassVar[str] = "progress"
    label: str
    done: int
    total: int
    seconds_left: float | None


@dataclass(frozen=True)
class Download:
    """A file is ready at `path` (on this server, with the token)."""

    type: ClassVar[str] = "download"
    path: str
    name: str


@dataclass(frozen=True)
class GhostState:
    """How far the ghost is.

    Attributes:
        phase: "watching" the live motion and "computing" the converged one go on at the same time; "showing" both.
        text: by what it is computed.
        done: frames.
        total: of so many.
        distances: [seconds, RMS distance, largest distance] (m) of some frames, when it is shown.
    """

    type: ClassVar[str] = "ghost"
    phase: GhostPhase
    text: str
    done: int
    total: int
    distances: list[list[float]]


ToPage = Hello | State | Starting | Notice | Slipped | Progress | Download | GhostState
