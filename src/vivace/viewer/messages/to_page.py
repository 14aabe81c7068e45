"""What the server says, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from .settings import BodyKind, ColourBy, GhostPhase, MeshKind, Settings


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
class FabricChoice:
    """A fabric that the page offers: kg/m², N/m, N m, 1/s and m."""

    name: str
    summary: str
    density: float
    stretch: float
    bend: float
    friction: float
    damping: float
    thickness: float


@dataclass(frozen=True)
class FormatChoice:
    """A format of files that can be made."""

    name: str
    title: str


@dataclass(frozen=True)
class Hello:
    """The first message. `client`: this page's key in `FrameData.orders`.

    `solvers` are for soft bodies, `contact_solvers` for rigid ones; `State.solvers` says which of them fit the scene.
    `gallery`: the viewer was started without a scene, so that the page begins with a choice. `uploads`: endings of the
    files that it takes.
    """

    type: ClassVar[str] = "hello"
    version: str
    client: str
    solvers: list[SolverChoice]
    contact_solvers: list[SolverChoice]
    scenes: list[SceneChoice]
    fabrics: list[FabricChoice]
    gallery: bool
    uploads: list[str]
    recording_formats: list[FormatChoice]
    pose_formats: list[FormatChoice]


@dataclass(frozen=True)
class State:
    """After every change.

    Attributes:
        controls: settings that do something for this scene and solver; the page shows no others.
        solvers: names of those that can do what the scene needs.
        colourings: what there is to colour the body by.
        resolution: of a scene that has one, with the least and the most that the page offers.
        kind: what a mesh of one's own is made to be, and `kinds` what else it could be; "" for other scenes.
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
    controls: list[str]
    solvers: list[str]
    colourings: list[ColourBy]
    resolution: list[int]
    kind: MeshKind | Literal[""]
    kinds: list[MeshKind]
    busy: str
    recording: bool
    recorded_frames: int
    recorded_seconds: float
    pins: int
    undo: str
    redo: str
    replay: int | None


@dataclass(frozen=True)
class Edited:
    """Pins and cuts that there are now beside the scene's own, as letters for a link; "" for none."""

    type: ClassVar[str] = "edited"
    text: str


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


ToPage = Hello | State | Edited | Starting | Notice | Slipped | Progress | Download | GhostState
