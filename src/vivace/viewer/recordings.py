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
from ..scenes import Scene
from ..simulation import Simulation
from .film_process import write_in_process
from .messages import Settings

MOST_BYTES = 1 << 30  # of positions: seven minutes of the tablecloth


class Recording:
    """Positions of every step while it is `active`. Written by the physics thread, read by others."""

    def __init__(self) -> None:
        self.active = False
        self._frames: list[np.ndarray] = []
        self._bytes = 0
        self.seconds = 0.0
        self._about: dict[str, Any] = {}
        self._scene: Scene | None = None
        self.full = False

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return len(self._frames)

    def begin(self, scene: Scene, settings: Settings, sim: Simulation) -> None:
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
            "seed": sim.seed,
        }
        self.active = True

    def add(self, positions: np.ndarray, h: float) -> None:
        """Keep a copy of the positions after a step of h seconds; stops when memory for recordings is full."""
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
            _write_numbers(path, scene, frames, about)
        else:
            h = self.seconds / len(frames)
            film = Film.of(scene.model, frames, h, view=scene.view, camera=camera, settings=about)
            write_in_process(film, path, progress)


def _write_numbers(path: Path, scene: Scene, frames: np.ndarray, about: dict[str, Any]) -> None:
    """Positions (frames, n, 3), what they are the vertices of, and what made them."""
    mesh = scene.model.mesh
    with replacing(path) as temporary:
        np.savez_compressed(
            temporary,
            positions=frames,
            triangles=mesh.triangles,
            edges=mesh.edges,
            tets=mesh.tets,
            pinned=scene.model.pinned,
            settings=np.array(json.dumps(about, default=str)),
        )
