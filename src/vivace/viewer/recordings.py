"""Recordings: every step from the press of the record button to the next, and what is made of them afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from .._version import __version__
from ..errors import InputError
from ..pictures import Camera, Film
from ..pictures.backends import Look
from ..pictures.bodies import animated_in, film_of_bodies
from ..pictures.camera import bounds_of
from ..pictures.scenery import Scenery
from ..rigid.bodies import Bodies
from ..scenes import RigidScene, Scene
from ..simulation import Simulation
from ..simulation.report import Report
from ..simulation.rigid_simulation import RigidSimulation
from .body_mesh import BodyMesh, BodyReport, RigidBackdrop, bodies_of, moving_bodies
from .input_log import InputLog
from .messages import Settings
from .snapshot import Backdrop, SimulationView, moved
from .things import Things

MOST_BYTES = 1 << 30  # of positions: seven minutes of the tablecloth


class Recording:
    """Positions of every step while it is `active`, of rigid bodies their poses, and of soft and rigid ones both.

    Written by the physics thread, read by others.
    """

    def __init__(self) -> None:
        self.active = False
        self._frames: list[np.ndarray] = []
        self._bytes = 0
        self.seconds = 0.0
        self._about: dict[str, Any] = {}
        self._scene: Scene | RigidScene | None = None
        self._times: list[float] = []
        self._shifts: list[tuple[tuple[float, ...], ...]] = []
        self._seconds: list[float] = []  # of the simulation
        self._shown: tuple[SimulationView, Backdrop | RigidBackdrop] | None = None
        self.full = False
        self.of_input: tuple[InputLog, int] | None = None  # what people did, and the step that it begins with

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return len(self._frames)

    def begin(self, scene: Scene | RigidScene, settings: Settings, sim: Simulation | RigidSimulation) -> None:
        """Forget what was recorded and begin anew."""
        self._frames, self._bytes, self.seconds, self.full = [], 0, 0.0, False
        self._times, self._shifts, self._seconds, self._shown = [], [], [], None
        self._scene = scene
        self._about = {
            "vivace": __version__,
            "scene": scene.name,
            "scene_settings": scene.settings,
            "settings": asdict(settings),
            "time_step": sim.time_step,
            "threads": sim.threads,
            "seed": sim.seed if isinstance(sim, Simulation) else getattr(sim.solver, "seed", 0),
        }
        self.active = True

    def add(self, positions: np.ndarray, h: float) -> None:
        """Keep a copy of what `frame_of` says of a step of h seconds; stops when memory for recordings is full."""
        frame = np.array(positions, np.float32)
        self._frames.append(frame)
        self._bytes += frame.nbytes
        self.seconds += h
        self._times.append(self.seconds)
        if self._bytes >= MOST_BYTES:
            self.active, self.full = False, True

    def add_view(self, view: SimulationView, backdrop: Backdrop | RigidBackdrop, h: float) -> None:
        """Keep a step of h seconds, and how it is shown."""
        self._shifts.append(view.shifts)
        self._seconds.append(view.seconds)
        self.add(frame_of(view.report), h)
        self._shown = view, backdrop

    def view(self, number: int) -> tuple[SimulationView, Backdrop | RigidBackdrop, float]:
        """A frame as it is shown, before what, and the seconds of the recording that have passed there."""
        if self._shown is None or number >= len(self._frames):
            raise InputError(f"there is no frame {number} of the recording: it has {len(self._frames)}")
        view, backdrop = self._shown
        shown = moved(view, self._frames[number], self.simulated(number) or 0.0)
        return replace(shown, shifts=self.shifts(number)), backdrop, self._times[number]

    def simulated(self, number: int) -> float | None:
        """The simulation's time at a frame (s); None where nobody has said it."""
        return self._seconds[number] if number < len(self._seconds) else None

    def shifts(self, number: int) -> tuple[tuple[float, ...], ...]:
        """How far what stands had been moved at a frame (m), by thing; none where nothing had."""
        return self._shifts[number] if number < len(self._shifts) else ()

    def motion(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (n, 3) of soft bodies at a frame; the latter from the frame before."""
        now, before = self._frames[number], self._frames[max(number - 1, 0)]
        h = self._times[number] - self._times[number - 1] if number else 1.0
        return now.astype(np.float64), (now.astype(np.float64) - before) / h

    @property
    def scene(self) -> Scene | RigidScene | None:
        """What was recorded."""
        return self._scene

    def end(self) -> None:
        """Record no more; what there is stays."""
        self.active = False

    def film(self, camera: Camera | None) -> Film:
        """All frames as a film seen by `camera`."""
        frames, scene, about = self._all()
        film = _film(scene, frames, self.seconds / len(frames), camera, about)
        if isinstance(scene, Scene) and len(self._seconds) == len(frames):
            return replace(film, bodies=animated_in(scene.model, self._seconds))
        return film

    def numbers(self) -> dict[str, Any]:
        """All frames as arrays by name, with `settings` as JSON."""
        frames, scene, about = self._all()
        return {**_numbers(scene, frames), "settings": np.array(json.dumps(about, default=str))}

    def surfaces(self) -> tuple[Sequence[np.ndarray] | np.ndarray, Any, float, str, dict[str, Any]]:
        """All frames of what moves, whose vertices they are (a mesh, or triangles), s of each, a name and settings."""
        frames, scene, about = self._all()
        h = self.seconds / len(frames)
        if isinstance(scene, Scene) and not moving_bodies(scene):
            return _parted(scene, frames)[0], scene.model.mesh, h, scene.name, about
        film = _film(scene, frames, h, None, about)
        triangles = np.zeros((0, 3), np.int32) if film.triangles is None else film.triangles
        return film.frames, triangles, h, scene.name, about

    def input_text(self) -> str:
        """What people did from the start of the scene on, as a log that `vivace replay` takes."""
        if self.of_input is None or not self._frames:
            raise InputError("there is no recording to save: press record first")
        log, begin = self.of_input
        return log.text((begin, begin + len(self._frames)))

    def _all(self) -> tuple[np.ndarray, Scene | RigidScene, dict[str, Any]]:
        if not self._frames or self._scene is None:
            raise InputError("there is no recording to save: press record first")
        frames, scene = np.stack(self._frames), self._scene
        if isinstance(scene, Scene) and any(np.any(shifts) for shifts in self._shifts if shifts):
            frames, scene = _with_things(frames, scene, self._shifts)
        return frames, scene, {**self._about, "frames": len(frames), "seconds": self.seconds}


def _with_things(
    frames: np.ndarray, scene: Scene, shifts: Sequence[Sequence[Sequence[float]]]
) -> tuple[np.ndarray, Scene]:
    """Frames and scene with what was moved by hand as rigid bodies, which come last."""
    things = Things(scene.model)
    things.taken = True
    made = replace(scene, model=things.in_model(scene.model))
    placed = Bodies.of([body for thing in things.all for body in thing.bodies])
    poses = np.tile(np.concatenate([placed.positions, placed.orientations], axis=1), (len(frames), 1, 1))
    which = [k for k, thing in enumerate(things.all) for _ in thing.bodies]
    for pose, moved_by in zip(poses, shifts, strict=False):
        if moved_by:
            pose[:, :3] += np.array(moved_by)[which]
    flat = [frames.reshape(len(frames), -1), poses.reshape(len(frames), -1).astype(np.float32)]
    return np.concatenate(flat, axis=1), made


def frame_of(report: Report | BodyReport) -> np.ndarray:
    """What is kept of a step: positions (n, 3), of rigid bodies poses (M, 7), of both one after the other, in a row."""
    if isinstance(report, BodyReport):
        return report.poses
    if report.bodies is None:
        return report.positions
    poses = np.concatenate([report.bodies.positions, report.bodies.orientations], axis=1)
    return np.concatenate([report.positions.ravel(), poses.ravel()])


def _parted(scene: Scene, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (frames, n, 3) of a scene, and poses (frames, B, 7) of the rigid bodies in it."""
    count, bodies = scene.model.n, len(bodies_of(scene))
    flat = frames.reshape(len(frames), -1)
    positions, poses = np.split(flat, [3 * count], axis=1)
    return positions.reshape(len(frames), count, 3), poses.reshape(len(frames), bodies, 7)


def _film(
    scene: Scene | RigidScene, frames: np.ndarray, h: float, camera: Camera | None, about: dict[str, Any]
) -> Film:
    if isinstance(scene, RigidScene):
        placed = frames[:, :, :3], frames[:, :, 3:]
        return film_of_bodies(scene.bodies, *placed, h, view=scene.view, camera=camera, settings=about)
    positions, poses = _parted(scene, frames)
    model = scene.model
    if moving_bodies(scene):  # what is put behind their vertices counts on those that are simulated
        model = replace(model, mesh=model.mesh.showing(None))
    film = Film.of(model, positions, h, view=scene.view, camera=camera, settings=about)
    return _with_bodies(film, scene, positions, poses) if bodies_of(scene) else film


def _with_bodies(film: Film, scene: Scene, positions: np.ndarray, poses: np.ndarray) -> Film:
    """The film of a scene's soft bodies with the rigid ones that they touch."""
    if moving_bodies(scene):
        mesh = BodyMesh(scene)
        placed = np.stack([mesh.placed(pose[:, :3], pose[:, 3:]) for pose in poses])
        soft = np.tile(Look().front, (mesh.first, 1)) if film.colours is None else film.colours
        own = np.zeros((0, 3), np.int64) if film.triangles is None else film.triangles
        film = replace(
            film,
            frames=np.concatenate([positions, placed], axis=1),
            triangles=np.concatenate([own, mesh.triangles + mesh.first]),
            colours=np.concatenate([soft, mesh.colours]),
        )
    collisions, fixed = scene.model.collisions, [body.shape for body in bodies_of(scene) if body.fixed]
    standing = [*(collisions.colliders if collisions else ()), *fixed]
    return replace(film, scenery=Scenery.of(standing, *bounds_of(film.frames)))


def _numbers(scene: Scene | RigidScene, frames: np.ndarray) -> dict[str, Any]:
    """Positions (frames, n, 3), and what they are the vertices of; of rigid bodies orientations (frames, M, 4).

    Bodies that soft ones touch have `body_positions` and `body_orientations`.
    """
    if isinstance(scene, RigidScene):
        movable = np.array([not body.immovable for body in scene.bodies])
        return {"positions": frames[:, :, :3], "orientations": frames[:, :, 3:], "movable": movable}
    mesh, pinned = scene.model.mesh, scene.model.pinned
    drawn = {"triangles": mesh.triangles, "edges": mesh.edges, "tets": mesh.tets}
    positions, poses = _parted(scene, frames)
    bodies = {"body_positions": poses[:, :, :3], "body_orientations": poses[:, :, 3:]} if bodies_of(scene) else {}
    return {"positions": positions, **drawn, "pinned": pinned, **bodies}
