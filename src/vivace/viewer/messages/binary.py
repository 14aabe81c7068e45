"""Headers of the binary messages: scenes and frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from .settings import BodyKind, ColourBy


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
    grab), cloth (float32, 4 a soft vertex: two coordinates in the cloth in m, distance from its boundary in m, 1 where
    it is woven; empty for what is no cloth), tets (uint32, 4 a tetrahedron), scenery_vertices (float32),
    scenery_triangles (uint32) and scenery_things (uint32 a vertex: one more than the number of the thing that hands can
    move it with; 0 for what stays; empty where all does).
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
class GhostView:
    """The ghost in a frame: array "ghost" has its positions, low + scale * value; distances of the live body (m)."""

    frame: int
    frames: int
    seconds: float
    rms: float
    largest: float
    low: list[float]
    scale: list[float]


@dataclass(frozen=True)
class FrameData:
    """A frame.

    Arrays, for view k: positions{k} (uint16 or float32, 3 a vertex), values{k} (uint8 a vertex: strain, velocity,
    contact or residual between `values`, or the number of its colour modulo 256; empty for plain).
    """

    type: ClassVar[str] = "frame"
    frame: int  # counts what was published
    scene: int
    time: float  # simulated seconds
    speed: float  # simulated seconds a second, lately
    slow: str  # why that is less than real time, where it is
    colour_by: ColourBy
    orders: dict[str, int]  # the last order of each client that this frame obeys
    views: list[ViewData]
    things: list[list[float]]  # how far each has been moved (m); none where none was
    ghost: GhostView | None  # beside the first of them, which then shows the live motion again
    arrays: dict[str, ArraySpec]
