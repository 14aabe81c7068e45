"""What the page and the server say to each other: every message is a dataclass here.

The page's types (page/src/messages.ts) are made from these by `python -m vivace.viewer.typescript`, and a test holds
the two together. Text messages are JSON objects whose "type" is the class's own word. The two binary ones, `SceneData`
and `FrameData`, are a header with arrays behind it, see `packing`.

    page ──► server    grab drag release   change run load_scene set_recording save   drawn
    server ──► page    hello state notice download            SceneData FrameData (binary)

Flow: the server sends a frame, and the next one only when the page has said `drawn`; the newest wins.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta

from ..errors import InputError

FAR = 1e4  # m: nobody drags farther
LONGEST = 4096  # bytes of a message from the page

Vector = Annotated[list[Annotated[float, Meta(ge=-FAR, le=FAR)]], Meta(min_length=3, max_length=3)]
Order = Annotated[int, Meta(ge=0, lt=2**53)]
Vertex = Annotated[int, Meta(ge=0, lt=2**31)]
Corners = Annotated[list[Vertex], Meta(min_length=3, max_length=3)]
Weights = Annotated[list[Annotated[float, Meta(ge=-1, le=2)]], Meta(min_length=3, max_length=3)]
Pointer = Annotated[int, Meta(ge=0, le=9)]
Name = Annotated[str, Meta(max_length=120)]

ColourBy = Literal["plain", "strain", "graph", "contact", "residual", "conversion"]
RecordingFormat = Literal["mp4", "gif", "npz"]
BodyKind = Literal["soft", "rigid"]

# Each setting with its range; the page's sliders have the same.
BudgetMs = Annotated[float, Meta(ge=1, le=33)]
Iterations = Annotated[int, Meta(ge=1, le=300)]
Relaxation = Annotated[float, Meta(ge=0.05, le=1.99)]
Stiffness = Annotated[float, Meta(ge=0.01, le=100)]
TimeStep = Annotated[float, Meta(ge=1 / 240, le=1 / 15)]
Gravity = Annotated[float, Meta(ge=-20, le=20)]
Wind = Annotated[float, Meta(ge=0, le=20)]
Heading = Annotated[float, Meta(ge=0, le=360)]
GrabRadius = Annotated[float, Meta(ge=0, le=0.3)]


# --- from the page --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grab:
    """Hold `vertex` of the scene at `target`; `pointer` tells fingers apart, `order` counts the page's pulls.

    Rigid bodies are held at the point that was touched: the sum of `weights` times the places of `corners`, which are
    those of a triangle. Said like this it is the same point of the body when that has moved on meanwhile.
    """

    type: ClassVar[str] = "grab"
    pointer: Pointer
    vertex: Vertex
    target: Vector
    scene: int
    order: Order
    corners: Corners | None = None
    weights: Weights | None = None


@dataclass(frozen=True)
class Drag:
    """Move what `pointer` holds to `target`."""

    type: ClassVar[str] = "drag"
    pointer: Pointer
    target: Vector
    order: Order


@dataclass(frozen=True)
class Release:
    """Let go of what `pointer` holds; it keeps its velocity."""

    type: ClassVar[str] = "release"
    pointer: Pointer
    order: Order


@dataclass(frozen=True)
class Change:
    """Change the settings that are given; the others stay."""

    type: ClassVar[str] = "change"
    solver: Name | None = None
    compare: Name | None = None
    relaxation: Relaxation | None = None
    budget_ms: BudgetMs | None = None
    iterations: Iterations | None = None
    stiffness: Stiffness | None = None
    time_step: TimeStep | None = None
    gravity: Gravity | None = None
    wind: Wind | None = None
    wind_heading: Heading | None = None
    grab_radius: GrabRadius | None = None
    paused: bool | None = None
    colour_by: ColourBy | None = None


@dataclass(frozen=True)
class Run:
    """`step`: one step, while paused. `reset`: the scene from its start, with the settings as they are."""

    type: ClassVar[str] = "run"
    what: Literal["step", "reset"]


@dataclass(frozen=True)
class LoadScene:
    """Another scene by its name, one of `Hello.scenes`."""

    type: ClassVar[str] = "load_scene"
    name: Name


@dataclass(frozen=True)
class SetRecording:
    """Begin a recording, or end it."""

    type: ClassVar[str] = "set_recording"
    on: bool


@dataclass(frozen=True)
class Save:
    """Make a file to download: the recording seen by the given camera, or the scene with its settings as TOML."""

    type: ClassVar[str] = "save"
    what: Literal["recording", "scene"]
    format: RecordingFormat = "mp4"
    eye: Vector | None = None
    target: Vector | None = None


@dataclass(frozen=True)
class Drawn:
    """The page has drawn this frame and can take the next."""

    type: ClassVar[str] = "drawn"
    frame: Order


FromPage = Grab | Drag | Release | Change | Run | LoadScene | SetRecording | Save | Drawn


# --- to the page ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What the simulation runs with now.

    Attributes:
        compare: the solver of the other half of a split view; "" for none.
        relaxation: ω of `solver`; None where it has none.
        iterations: of a substep of rigid bodies; None where `budget_ms` is what ends a step.
        stiffness: times the scene's own.
        time_step: s.
        gravity: m/s², downward.
        wind: m/s, blowing towards `wind_heading` (degrees; 0 is +x, 90 is -z).
        grab_radius: m around the grabbed vertex that is held with it.
    """

    solver: str
    compare: str
    relaxation: float | None
    budget_ms: float
    iterations: int | None
    stiffness: float
    time_step: float
    gravity: float
    wind: float
    wind_heading: float
    grab_radius: float
    paused: bool
    colour_by: ColourBy


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
class Download:
    """A file is ready at `path` (on this server, with the token)."""

    type: ClassVar[str] = "download"
    path: str
    name: str


ToPage = Hello | State | Notice | Download


# --- headers of the binary messages -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ArraySpec:
    """`offset` in bytes from the end of the header, a multiple of four; `length` in elements."""

    dtype: Literal["uint8", "uint16", "uint32", "float32"]
    offset: int
    length: int


@dataclass(frozen=True)
class CameraView:
    """From where the page looks: positions (m) and the vertical angle of view."""

    eye: list[float]
    target: list[float]
    up: list[float]
    fov_degrees: float


@dataclass(frozen=True)
class SceneData:
    """What stays the same from frame to frame.

    Arrays: triangles (uint32, 3 a triangle), edges (uint32, 2 an edge; where there are no triangles), pinned (uint32),
    colours (uint8, 3 a vertex, sRGB; empty for one body), immovable (uint32: vertices of rigid bodies that nobody can
    grab), scenery_vertices (float32) and scenery_triangles (uint32).
    """

    type: ClassVar[str] = "scene"
    scene: int  # frames say to which scene they belong
    name: str
    summary: str
    bodies: BodyKind
    vertices: int
    soft: int  # of them: those of rigid bodies come after these
    camera: CameraView
    ground: float | None  # height
    arrays: dict[str, ArraySpec]


@dataclass(frozen=True)
class ViewData:
    """One simulation of a frame: the left, and in a split view the right.

    Attributes:
        residuals: [sweep, norm of the residual that it met] of this step.
        stages: [stage, ms] in order.
        stretch: mean and largest |l/l₀ - 1| of the edges.
        low: positions of type uint16 are low + scale * value, for each axis.
        scale: see `low`.
        values: what the colours of this frame mean: from, to (in `unit`).
        held: [vertex, ...] that somebody holds.
        held_points: of rigid bodies, places (m).
        depth: the deepest overlap of rigid bodies (m); None for soft ones.
    """

    solver: str
    used: str
    frames: int
    sweeps: int
    residual: float
    residuals: list[list[float]]
    stages: list[tuple[str, float]]
    ms: float
    budget_ms: float | None
    colours: int | None
    contacts: int
    corrected: int
    note: str
    stretch: list[float]
    low: list[float]
    scale: list[float]
    values: list[float]
    unit: str
    held: list[int]
    held_points: list[list[float]]
    depth: float | None


@dataclass(frozen=True)
class FrameData:
    """A frame.

    Arrays, for view k: positions{k} (uint16 or float32, 3 a vertex), values{k} (uint8 a vertex: strain, contact or
    residual between `values`, or the number of its colour modulo 256; empty for plain).
    """

    type: ClassVar[str] = "frame"
    frame: int  # counts what was published
    scene: int
    time: float  # simulated seconds
    speed: float  # simulated seconds a second, lately
    colour_by: ColourBy
    orders: dict[str, int]  # the last order of each client that this frame obeys
    views: list[ViewData]
    arrays: dict[str, ArraySpec]


RANGES: dict[str, tuple[float, float]] = {
    item.name: (meta.ge, meta.le)
    for item in fields(Change)
    for one in get_args(get_type_hints(Change, include_extras=True)[item.name])
    for meta in getattr(one, "__metadata__", ())
    if meta.ge is not None
}
FROM_PAGE: dict[str, type] = {cls.type: cls for cls in get_args(FromPage)}


def decode(text: str | bytes) -> FromPage:
    """A message from the page, every value checked; InputError says what is wrong with it."""
    if isinstance(text, bytes):
        raise InputError("messages from the page are text")
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError, ValueError) as error:
        raise InputError(f"not a message: {error}") from None
    kind = raw.pop("type", None) if isinstance(raw, dict) else None
    cls = FROM_PAGE.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise InputError(f"not a message: its type must be one of {', '.join(FROM_PAGE)}")
    known = {item.name for item in fields(cls)}
    for key in raw:
        if key not in known:
            raise InputError(f"{kind} has no {key[:40]!r}")
    try:
        return msgspec.convert(raw, cls)
    except msgspec.ValidationError as error:
        raise InputError(f"{kind}: {error}") from None


def encode(message: ToPage) -> str:
    """A message as JSON, for the page."""
    return json.dumps(plain(message))


def plain(message: Any) -> dict[str, Any]:
    """A message as JSON has it, with its type."""
    return {"type": message.type, **asdict(message)}
