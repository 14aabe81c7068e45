"""Recordings: every step from the press of the record button to the next, and what is made of them afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..errors import InputError
from ..files import replacing
from ..pictures import Camera, Film
from ..pictures.bodies import film_of_bodies
from ..scenes import RigidScene, Scene
from ..simulation import Simulation
from ..simulation.report import Report
from ..simulation.rigid_simulation import RigidSimulation
from .body_mesh import BodyReport
from .film_process import write_in_process
from .messages import Settings

MOST_BYTES = 1 << 30  # of positions: seven minutes of the tablecloth


class Recording:
    """Positions of every step while it is `active`, of rigid bodies their poses.

    Written by the physics thread, read by others.
    """

    def __init__(self) -> None:
        self.active = False
        self._frames: list[np.ndarray] = []
        self._bytes = 0
        self.seconds = 0.0
        self._about: dict[str, Any] = {}
        self._scene: Scene | RigidScene | None = None
        self.full = False

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return len(self._frames)

    def begin(self, scene: Scene | RigidScene, settings: Settings, sim: Simulation | RigidSimulation) -> None:
        """Forget what was recorded and begin anew."""
        self._frames, self._bytes, self.seconds, self.full = [], 0, 0.0, False
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
        if self._bytes >= MOST_BYTES:
            self.active, self.full = False, True

    def end(self) -> None:
        """Record no more; what there is stays."""
        self.active = False

    def write(self, path: Path, camera: Camera | None, progress: Callable[[int, int], None]) -> None:
        """As the suffix of `path` says: a film (.mp4, .gif) seen by `camera`, or the numbers (.npz)."""
        if not self._frames or self._scene is None:
            raise InputError("there is no recording to save: press record first")
        frames, scene = np.stack(self._frames), self._scene
        about = {**self._about, "frames": len(frames), "seconds": self.seconds}
        if path.suffix == ".npz":
            with replacing(path) as temporary:
                numbers = _numbers(scene, frames)
                np.savez_compressed(temporary, **numbers, settings=np.array(json.dumps(about, default=str)))
        else:
            write_in_process(_film(scene, frames, self.seconds / len(frames), camera, about), path, progress)


def frame_of(report: Report | BodyReport) -> np.ndarray:
    """What is kept of a step: positions (n, 3), of rigid bodies poses (M, 7)."""
    return report.poses if isinstance(report, BodyReport) else report.positions


def _film(
    scene: Scene | RigidScene, frames: np.ndarray, h: float, camera: Camera | None, about: dict[str, Any]
) -> Film:
    if isinstance(scene, RigidScene):
        poses = frames[:, :, :3], frames[:, :, 3:]
        return film_of_bodies(scene.bodies, *poses, h, view=scene.view, camera=camera, settings=about)
    return Film.of(scene.model, frames, h, view=scene.view, camera=camera, settings=about)


def _numbers(scene: Scene | RigidScene, frames: np.ndarray) -> dict[str, Any]:
    """Positions (frames, n, 3), and what they are the vertices of; of rigid bodies orientations (frames, M, 4)."""
    if isinstance(scene, RigidScene):
        movable = np.array([not body.immovable for body in scene.bodies])
        return {"positions": frames[:, :, :3], "orientations": frames[:, :, 3:], "movable": movable}
    mesh, pinned = scene.model.mesh, scene.model.pinned
    drawn = {"triangles": mesh.triangles, "edges": mesh.edges, "tets": mesh.tets}
    return {"positions": frames, **drawn, "pinned": pinned}
