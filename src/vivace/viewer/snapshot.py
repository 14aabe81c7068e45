"""What the physics thread hands over: one published frame, never changed afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..model.model import Model
from ..pictures.camera import Camera, bounds_of
from ..pictures.palette import body_colours
from ..pictures.scenery import Scenery
from ..scenes import Scene
from ..simulation.report import Report
from ..terms.term import Term
from .animated_bodies import AnimatedBodies
from .body_mesh import SPREAD, BodyMesh, BodyReport, RigidBackdrop, bodies_of, counted, moving_bodies
from .cloth_coordinates import cloth_coordinates
from .edges import Edges
from .messages import CameraView, SceneData, Settings
from .packing import pack
from .things import Things

FRONT = (0.13, 0.45, 0.72)
MOST_TETS = 250_000  # that a page draws one by one: 4 MB


@dataclass(frozen=True, eq=False)
class SimulationView:
    """One simulation's step: all that is shown, or a half of the split view."""

    report: Report | BodyReport
    solver: str  # that was asked for
    used: str  # that made the step
    frames: int
    budget_ms: float | None
    labels: np.ndarray | None  # number of each vertex's colour
    held: tuple[int, ...]
    held_points: tuple[tuple[float, ...], ...] = ()
    velocities: np.ndarray | None = None  # (n, 3) of the soft vertices (m/s)
    mesh: BodyMesh | None = None  # of the rigid bodies that soft ones touch
    animated: AnimatedBodies | None = None
    seconds: float = 0.0  # the simulation's time, at which animated meshes are shown
    shifts: tuple[tuple[float, ...], ...] = ()  # of things that stand and were moved (m)

    @cached_property
    def vertices(self) -> np.ndarray:
        """(n, 3) all that is drawn (m), soft, rigid, animated: found when somebody looks, not by the physics thread."""
        parts = [self.report.positions]
        if self.mesh is not None and not isinstance(self.report, BodyReport) and self.report.bodies is not None:
            parts.append(self.mesh.placed(self.report.bodies.positions, self.report.bodies.orientations))
        if self.animated is not None:
            parts.append(self.animated.at(self.seconds))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def moved(view: SimulationView, frame: np.ndarray, seconds: float) -> SimulationView:
    """A view of bodies that are elsewhere, as `recordings.frame_of` says where, at another time; nothing is held."""
    report = view.report
    if isinstance(report, BodyReport):
        return replace(view, report=replace(report, poses=frame), held=(), held_points=())
    if report.bodies is None:
        new = report.moved(frame.reshape(-1, 3))
    else:
        count = len(report.bodies.positions)
        positions, poses = np.split(frame.ravel(), [frame.size - 7 * count])
        poses = poses.reshape(count, 7).astype(np.float64)
        bodies = replace(report.bodies, positions=poses[:, :3], orientations=poses[:, 3:])
        new = replace(report.moved(positions.reshape(-1, 3)), bodies=bodies)
    labels = view.labels if view.labels is not None and len(view.labels) == len(new.positions) else None
    return replace(view, report=new, labels=labels, seconds=seconds, held=(), held_points=())


class Backdrop:
    """A scene as the page draws it, with its number.

    Attributes:
        mesh: of the rigid bodies that move in it; None without any.
        animated: the animated meshes, likewise.
    """

    def __init__(self, number: int, scene: Scene):
        self.number, self.scene = number, scene
        self.mesh = BodyMesh(scene) if moving_bodies(scene) else None
        others = scene.model.mesh.n_vertices + (0 if self.mesh is None else len(self.mesh.local))
        self.animated = AnimatedBodies.of(scene.model, others)

    @cached_property
    def edges(self) -> Edges:
        """The edges that are drawn of the mesh."""
        return Edges(self.scene.model.mesh)

    @property
    def triangles(self) -> np.ndarray:
        """(m, 3) all that are drawn: after those of soft bodies those of rigid ones, then of animated meshes."""
        parts = [self.scene.model.mesh.triangles]
        parts += [one.triangles + one.first for one in (self.mesh, self.animated) if one is not None]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def _others(self) -> list[np.ndarray]:
        """Places of what is not soft, that belong in the picture."""
        rigid = [] if self.mesh is None else [self.mesh.start]
        return rigid if self.animated is None else [*rigid, self.animated.bounds]

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of its model."""
        return self.scene.model.terms

    def strain(self, positions: np.ndarray) -> tuple[np.ndarray, float, float]:
        """The largest strain at each vertex, and mean and largest of all edges."""
        return self.edges.strain(positions)

    def spread(self, positions: np.ndarray) -> bool:
        """Whether vertices are so far apart that 16 bits are too few for a place."""
        if not self._others:
            return False
        low, high = bounds_of([self.scene.model.mesh.vertices, *self._others])
        return bool(np.ptp(positions, axis=0).max() > SPREAD * (high - low).max())

    @cached_property
    def message(self) -> bytes:
        """What stays the same from frame to frame."""
        scene, mesh, rigid, animated = self.scene, self.scene.model.mesh, self.mesh, self.animated
        start = mesh.vertices if scene.start is None else scene.start
        low, high = bounds_of([mesh.vertices, start, *self._others])
        collisions, bodies = scene.model.collisions, bodies_of(scene)
        standing = [*(collisions.colliders if collisions else ()), *(body.shape for body in bodies if body.fixed)]
        scenery = Scenery.of(standing, low, high) if standing else None
        if scenery is None and scene.model.gravity.any():
            low[1] = min(low[1], _hanging(scene.model))
        camera = Camera.framing(*(scenery.frame(low, high) if scenery else (low, high)), direction=scene.view)
        colours = body_colours(mesh.groups, mesh.n_vertices, FRONT)
        immovable = [np.zeros(0, np.int64)]
        if rigid is not None or animated is not None:
            colours = np.tile(FRONT, (mesh.n_vertices, 1)) if colours is None else colours
        if rigid is not None:
            immovable.append(rigid.immovable + rigid.first)
            colours = np.concatenate([colours, rigid.colours])
        if animated is not None:
            immovable.append(animated.first + np.arange(animated.count))
            colours = np.concatenate([colours, animated.colours])
        arrays: dict[str, np.ndarray] = {
            "triangles": self.triangles.astype(np.uint32),
            "edges": (mesh.edges if not len(mesh.triangles) else np.zeros((0, 2))).astype(np.uint32),
            "pinned": scene.model.pinned.astype(np.uint32),
            "colours": _bytes(colours),
            "immovable": np.concatenate(immovable).astype(np.uint32),
            "cloth": cloth_coordinates(mesh),
            "tets": (mesh.tets if len(mesh.tets) <= MOST_TETS else mesh.tets[:0]).astype(np.uint32),
            "scenery_vertices": _of(scenery, "vertices", np.float32),
            "scenery_triangles": _of(scenery, "triangles", np.uint32),
            "scenery_things": _things(scenery, scene.model),
        }
        seen = CameraView(list(camera.eye), list(camera.target), list(camera.up), camera.fov_degrees)
        ground = scenery.ground if scenery else None
        about = self.number, scene.name, _summary(scene)
        count = (
            mesh.n_vertices + (0 if rigid is None else len(rigid.local)) + (0 if animated is None else animated.count)
        )
        return pack(SceneData(*about, "soft", count, mesh.n_vertices, seen, _plain(ground), arrays={}), arrays)


@dataclass(frozen=True, eq=False)
class GhostFrame:
    """The ghost in a frame that is shown: (n, 3) positions (m), and how far the live body is from them."""

    frame: int
    frames: int
    seconds: float
    positions: np.ndarray
    rms: float
    largest: float


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A frame: the views, and what made them. `ms`: of all steps and of the changes that came before them."""

    number: int
    backdrop: Backdrop | RigidBackdrop
    time: float
    speed: float
    settings: Settings
    orders: dict[str, int]
    views: tuple[SimulationView, ...]
    ms: float
    ghost: GhostFrame | None = None


def still(settings: Settings) -> Settings:
    """Settings for a picture that no step has made: what only a step knows is not shown in colours."""
    known = settings.colour_by in ("plain", "strain", "graph")
    return settings if known else replace(settings, colour_by="plain")


def _hanging(model: Model) -> float:
    """How low a body may hang that is held by its pins."""
    size = float(np.ptp(model.mesh.vertices, axis=0).max())
    return float(model.targets[:, 1].min() - 1.05 * size) if len(model.targets) else np.inf


def _of(scenery: Scenery | None, name: str, dtype: Any) -> np.ndarray:
    return np.zeros(0, dtype) if scenery is None else np.asarray(getattr(scenery, name), dtype).ravel()


def _things(scenery: Scenery | None, model: Model) -> np.ndarray:
    """One more than the thing that each vertex of the scenery belongs to; 0 for none."""
    numbers = Things(model).numbers()
    if scenery is None or not numbers:
        return np.zeros(0, np.uint32)
    return np.array([numbers.get(owner, -1) + 1 for owner in scenery.owners.tolist()], np.uint32)


def _bytes(colours: np.ndarray | None) -> np.ndarray:
    return np.zeros(0, np.uint8) if colours is None else (255 * np.clip(colours, 0, 1) + 0.5).astype(np.uint8).ravel()


def _plain(value: float | None) -> float | None:
    return None if value is None else float(value)


def _summary(scene: Scene) -> str:
    mesh = scene.model.mesh
    parts = [f"{mesh.n_vertices:,} vertices"]
    for count, what in ((len(mesh.tets), "tetrahedra"), (len(mesh.triangles), "triangles"), (len(mesh.edges), "edges")):
        if count:
            parts.append(f"{count:,} {what}")
            break
    free = sum(not body.immovable for body in bodies_of(scene))
    return ", ".join([*parts, counted(free)] if free else parts)
