"""What the page says."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Literal, get_args, get_type_hints

from .settings import (
    AddedShape,
    BudgetMs,
    ColourBy,
    Corners,
    GrabRadius,
    Gravity,
    HandForce,
    Heading,
    Index,
    Iterations,
    MeshKind,
    Name,
    Order,
    Part,
    PinRule,
    Pointer,
    Relaxation,
    Resolution,
    Stiffness,
    Stroke,
    TimeStep,
    Vector,
    Vertex,
    Vertices,
    Weights,
    Wind,
)


@dataclass(frozen=True)
class Grab:
    """Hold `vertex` of the scene at `target`; `pointer` tells fingers apart, `order` counts the page's pulls.

    Rigid bodies are held at the point that was touched: the sum of `weights` times the places of `corners`, which are
    those of a triangle. Said like this it is the same point of the body when that has moved on meanwhile.
    `thing`: instead of a vertex, a thing that stands in the scene, by its number in `scenery_things`.
    """

    type: ClassVar[str] = "grab"
    pointer: Pointer
    vertex: Vertex
    target: Vector
    scene: int
    order: Order
    corners: Corners | None = None
    weights: Weights | None = None
    thing: Index | None = None


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
    fabric: Name | None = None
    self_contact: bool | None = None
    stiffness: Stiffness | None = None
    time_step: TimeStep | None = None
    gravity: Gravity | None = None
    wind: Wind | None = None
    wind_heading: Heading | None = None
    grab_radius: GrabRadius | None = None
    hand_force: HandForce | None = None
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
class AddBody:
    """Throw a rigid body into a scene of soft ones; it goes when the scene starts again."""

    type: ClassVar[str] = "add_body"
    shape: AddedShape


@dataclass(frozen=True)
class Remake:
    """Make the scene anew with the settings as they are: finer or coarser, or one's own mesh as something else."""

    type: ClassVar[str] = "remake"
    resolution: Resolution | None = None
    kind: MeshKind | None = None


@dataclass(frozen=True)
class SetRecording:
    """Begin a recording, or end it."""

    type: ClassVar[str] = "set_recording"
    on: bool


@dataclass(frozen=True)
class Pin:
    """Pin vertices of the scene where they are now, or let them go; pins of one `edit` are taken back together."""

    type: ClassVar[str] = "pin"
    vertices: Vertices
    on: bool
    scene: int
    edit: Order


@dataclass(frozen=True)
class PinBy:
    """Pin by a rule, and nothing else: `top` edge, `corners`, `none`, or what the `scene` itself pins."""

    type: ClassVar[str] = "pin_by"
    rule: PinRule


@dataclass(frozen=True)
class Cut:
    """Cut what is seen from `eye` along a stroke through points; how far away they are does not matter."""

    type: ClassVar[str] = "cut"
    eye: Vector
    stroke: Stroke
    scene: int


@dataclass(frozen=True)
class History:
    """Take back the last change of settings, pins or cuts, or make it again."""

    type: ClassVar[str] = "history"
    what: Literal["undo", "redo"]


@dataclass(frozen=True)
class Replay:
    """Show a frame of the recording instead of the simulation; none: the simulation again.

    `resume`: let the simulation go on from that frame.
    """

    type: ClassVar[str] = "replay"
    frame: Index | None
    resume: bool = False


@dataclass(frozen=True)
class Restore:
    """What a link says: a scene by its name, and settings to change when it is there.

    `resolution`: that the scene is made with; `edited`: it is pinned and cut as the parts before this have said.
    """

    type: ClassVar[str] = "restore"
    scene: Name
    settings: Change
    resolution: Resolution | None = None
    edited: bool = False


@dataclass(frozen=True)
class RestorePart:
    """A part of a link's pins and cuts, in order; `first` forgets what came before."""

    type: ClassVar[str] = "restore_part"
    text: Part
    first: bool


@dataclass(frozen=True)
class Save:
    """Make a file to download, in one of the formats of `Hello`; a scene is always TOML.

    A recording is seen by the given camera.
    """

    type: ClassVar[str] = "save"
    what: Literal["recording", "scene", "pose"]
    format: Name = "mp4"
    eye: Vector | None = None
    target: Vector | None = None


@dataclass(frozen=True)
class Cancel:
    """Make no file after all."""

    type: ClassVar[str] = "cancel"


@dataclass(frozen=True)
class SetGhost:
    """Compute how the body would move from now on if every step were converged, and show it beside what it did."""

    type: ClassVar[str] = "set_ghost"
    on: bool


@dataclass(frozen=True)
class Drawn:
    """The page has drawn this frame and can take the next."""

    type: ClassVar[str] = "drawn"
    frame: Order


Editing = Pin | PinBy | Cut | History | Replay | Restore | RestorePart
Told = LoadScene | Remake | AddBody | SetRecording | Save | Cancel | SetGhost
FromPage = Grab | Drag | Release | Change | Run | Told | Editing | Drawn

RANGES: dict[str, tuple[float, float]] = {
    item.name: (meta.ge, meta.le)
    for item in fields(Change)
    for one in get_args(get_type_hints(Change, include_extras=True)[item.name])
    for meta in getattr(one, "__metadata__", ())
    if meta.ge is not None
}
FROM_PAGE: dict[str, type] = {cls.type: cls for cls in get_args(FromPage)}
