"""Meshes that move and deform as an animation says, for cloth to touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..caches.animation import Animation
from ..checks import LARGEST, as_numbers, check_flag, is_number, shown
from ..errors import InputError
from ..mesh.checks import require_distinct
from ..mesh.closest import closest_triangles
from ..storage import storable
from .settings import as_friction


@storable("animated-mesh")
@dataclass(frozen=True, eq=False)
class AnimatedMesh:
    """An animated surface that soft bodies touch, and that does not feel them.

        body = vv.AnimatedMesh(vv.caches.read("walk.abc"))
        model = vv.Model.of(dress).collide([body], thickness=0.004)

    Between two frames of the animation its vertices go straight and evenly; before the first and after the last it
    rests. It need not be closed. What is on one side of it stays there: soft bodies must not begin across it.

    Attributes:
        animation: positions over time, with triangles: of `vivace.caches.read`, or made of arrays.
        friction: Coulomb's coefficient, or (static, kinetic); None: that of `Model.collide`.
        start: the simulated time at which its first frame is (s).
        repeat: begin again after the last frame, which should be as the first.
        name: what messages call it.
    """

    animation: Animation
    friction: Any = None
    start: float = 0.0
    repeat: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.animation, Animation):
            raise InputError(
                "an animated mesh is made of an Animation (vivace.caches.read, or vivace.caches.Animation(times, "
                f"positions, triangles)), not {shown(self.animation)}"
            )
        if not len(self.animation.triangles):
            raise InputError(
                f"the animation {self.animation.name!r} has no triangles, so that nothing can touch it; read it with "
                "mesh=..., what its vertices belong to"
            )
        require_distinct(self.animation.triangles, "remove such triangles")
        positions = self.animation.positions
        if not np.isfinite(positions).all() or np.abs(positions).max(initial=0.0) > LARGEST:
            raise InputError(f"the positions of an animated mesh must be finite and within {LARGEST:g} m")
        if self.friction is not None:
            object.__setattr__(self, "friction", as_friction(self.friction))
        if not is_number(self.start):
            raise InputError(f"the start of an animated mesh is a time in seconds, not {shown(self.start)}")
        check_flag("repeat, whether an animation begins again,", self.repeat)
        if self.repeat and len(self.animation) < 2:
            raise InputError("an animation that repeats needs two frames or more")
        if not isinstance(self.name, str):
            raise InputError(f"the name of an animated mesh must be text, not {shown(self.name)}")

    def __repr__(self) -> str:
        return f"<AnimatedMesh of {self.animation!r}>"

    @property
    def triangles(self) -> np.ndarray:
        """(m, 3) vertex numbers."""
        return self.animation.triangles

    @property
    def n_vertices(self) -> int:
        """How many vertices it has."""
        return self.animation.n_vertices

    def at(self, time: float) -> np.ndarray:
        """(n, 3) where its vertices are at a simulated time (s), in m, float64."""
        return self.animation.at(time - self.start + float(self.animation.times[0]), repeat=self.repeat)

    def carried(self, points: Any) -> Animation:
        """Points (k, 3) that go with the surface, in all its frames: a path for pins.

            model.pin("waist", path=body.carried(dress.vertices[dress.groups["waist"]]))

        Each keeps its place over the triangle that is nearest in the first frame: the same weights of its corners, and
        the same height.

        Args:
            points: where they are while the mesh is as in its first frame.
        """
        points = as_numbers("points", points, (len(np.atleast_2d(points)), 3), most=LARGEST)
        first = self.animation.positions[0].astype(np.float64)
        which, weights, _ = closest_triangles(points, first, self.triangles)
        corners = self.triangles[which]
        offsets = points - np.einsum("kc,kcx->kx", weights, first[corners])
        local = np.einsum("kxi,kx->ki", _frames(first[corners]), offsets)
        frames = np.empty((len(self.animation), len(points), 3), np.float32)
        for k, positions in enumerate(self.animation.positions):
            at = positions.astype(np.float64)[corners]
            frames[k] = np.einsum("kc,kcx->kx", weights, at) + np.einsum("kxi,ki->kx", _frames(at), local)
        times = self.animation.times - self.animation.times[0] + self.start
        return Animation(times, frames, np.zeros((0, 3), np.int32), name=f"{self.animation.name}-carried")


def _frames(corners: np.ndarray) -> np.ndarray:
    """(k, 3, 3): columns along the first side of triangles (k, 3, 3), across it in their plane, and normal to it."""
    along, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(along, other)
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    normal = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    return np.stack([along, np.cross(normal, along), normal], axis=2)
