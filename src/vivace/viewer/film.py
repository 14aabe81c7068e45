"""A recording as an animation, made in a process of its own: `python -m vivace.viewer.film RECORDING OUT`.

The renderer has one context for a process, and drawing would hold up the physics thread. The process tells how far it
is by lines "done total" on standard output.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, VivaceError
from ..pictures import Camera, Look, Scenery, body_colours, bounds_of, save_animation
from ..scenes import Scene

SLOWEST, FASTEST = 0.1, {".gif": 50.0, ".mp4": 120.0}  # frames a second


@dataclass(frozen=True, eq=False)
class Script:
    """All that a film is made of."""

    frames: np.ndarray  # (k, n, 3)
    triangles: np.ndarray | None
    edges: np.ndarray | None
    points: np.ndarray
    colours: np.ndarray | None
    scenery: Scenery | None
    camera: Camera
    fps: float
    settings: dict[str, Any]

    @classmethod
    def of(
        cls, scene: Scene, frames: np.ndarray, h: float, camera: Camera | None, settings: dict, suffix: str
    ) -> Script:
        mesh, collisions = scene.model.mesh, scene.model.collisions
        low, high = bounds_of(frames)
        scenery = Scenery.of(collisions.colliders, low, high) if collisions else None
        if camera is None:
            camera = Camera.framing(*(scenery.frame(low, high) if scenery else (low, high)), direction=scene.view)
        every = max(1, int(np.ceil(1 / (FASTEST[suffix] * h) - 1e-9)))
        return cls(
            frames[::every],
            mesh.triangles if len(mesh.triangles) else None,
            None if len(mesh.triangles) else mesh.edges,
            scene.model.pinned,
            body_colours(mesh.groups, mesh.n_vertices, Look().front),
            scenery,
            camera,
            max(SLOWEST, 1.0 / (every * h)),
            settings,
        )

    def shoot(self, target: Path, progress: Callable[[int, int | None], None]) -> str:
        return save_animation(
            target,
            self.frames,
            self.triangles,
            edges=self.edges,
            points=self.points,
            colours=self.colours,
            scenery=self.scenery,
            camera=self.camera,
            fps=self.fps,
            settings=self.settings,
            progress=progress,
        )


def shoot_elsewhere(script: Script, target: Path, progress: Callable[[int, int], None]) -> None:
    """The film in another process, at a lower priority than the simulation that goes on here."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "script"
        source.write_bytes(pickle.dumps(script))
        process = subprocess.Popen(
            [sys.executable, "-m", "vivace.viewer.film", str(source), str(target)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for line in process.stdout:
                with suppress(ValueError):
                    done, total = map(int, line.split())
                    progress(done, total)
            trouble = process.stderr.read().strip()
        finally:
            process.kill()
        if process.wait() != 0 or not target.is_file():
            raise FileError(trouble.splitlines()[-1] if trouble else "the film could not be made")


def main(source: str, target: str) -> int:
    with suppress(OSError, AttributeError):
        os.nice(10)
    script: Script = pickle.loads(Path(source).read_bytes())
    try:
        script.shoot(Path(target), lambda done, total: print(done, total, flush=True))
    except VivaceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
