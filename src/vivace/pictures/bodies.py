"""Films of rigid bodies, alone or among soft ones: surfaces of their colliders, made once and moved rigidly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from ..collisions.animated import AnimatedMesh
from ..collisions.colliders import Box, Capsule, Collider, Plane, Sphere
from ..errors import InputError
from ..rigid import rotation
from ..rigid.bodies import Body
from ..rigid.geometry import mass_properties
from .animation import Film
from .backends import Look
from .camera import Camera, bounds_of
from .moving import Moving, joined, refined
from .palette import CHROMA, FIRST_HUE, GOLDEN_ANGLE, LIGHTNESS, oklch
from .scenery import Scenery, creased

if TYPE_CHECKING:
    from ..model import Model

MOST_TRIANGLES = 100_000  # of all bodies together: round ones are drawn coarser rather than slower
FINEST, FINE, COARSEST = 12, 8, 2  # steps along a quarter of a circle; FINE: among soft bodies
LIGHTER = 0.5  # share of white in one half of a ball, so that one sees it turn
DARKER = 0.8  # what follows a path, in the colour of scenery
LED = DARKER * np.array(Look().scenery)
APART = 50.0  # degrees between the hues of rigid bodies and that of the soft ones they are among


@dataclass(frozen=True, eq=False)
class Posed(Sequence[NDArray[Any]]):
    """Frames of vertices that are made when somebody looks: vertex k is `local[k]`, in the frame of body `owner[k]`.

    Attributes:
        local: (n, 3) vertices in the frames of their bodies, in m.
        owner: (n,) which body each belongs to.
        positions: (frames, M, 3) of the bodies.
        orientations: (frames, M, 4) unit quaternions, the scalar first.
    """

    local: NDArray[Any]
    owner: NDArray[np.int64]
    positions: NDArray[Any]
    orientations: NDArray[Any]

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, number: int) -> NDArray[Any]: ...

    @overload
    def __getitem__(self, number: slice) -> Posed: ...

    def __getitem__(self, number: int | slice) -> NDArray[Any] | Posed:
        if isinstance(number, slice):
            return Posed(self.local, self.owner, self.positions[number], self.orientations[number])
        turned = rotation.matrices(self.orientations[number])[self.owner]
        moved: NDArray[Any] = np.einsum("nij,nj->ni", turned, self.local) + self.positions[number][self.owner]
        return moved

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[k] for k in range(len(self)))


def film_of_bodies(
    bodies: Sequence[Body],
    positions: Any,
    orientations: Any,
    h: float,
    *,
    view: tuple[float, float, float],
    camera: Camera | None = None,
    settings: Mapping[str, Any],
) -> Film:
    """A film of bodies; what is fixed is scenery, and what follows a path is a little darker.

    Args:
        bodies: at their first places, from which they have their shapes.
        positions: (frames, M, 3) centres of mass, in m.
        orientations: (frames, M, 4) unit quaternions, the scalar first.
        h: seconds from one frame to the next.
        view: from where one looks, see `Film`.
        camera: instead of that.
        settings: go into the files.
    """
    where, turned = _checked_poses(len(bodies), positions, orientations)
    moving = _moving(bodies)
    if not moving:
        raise InputError("there is nothing to draw: no body moves")
    local, owner, triangles = joined_surfaces([bodies[k].shape for k in moving])
    frames = Posed(local, np.array(moving)[owner], where, turned)
    standing = [body.shape for body in bodies if body.fixed]
    scenery = Scenery.of(standing, *bounds_of(frames)) if standing else None
    colours = colours_of([bodies[k] for k in moving], local, owner)
    if camera is None and len(moving) == 1:
        camera = _around(frames, scenery, view)
    return Film(frames, h, triangles, None, np.zeros(0, np.int64), colours, scenery, view, camera, settings)


def film_of_model(
    model: Model,
    frames: Sequence[NDArray[Any]] | NDArray[Any],
    h: float,
    *,
    poses: tuple[Any, Any] | None = None,
    times: Sequence[float] | None = None,
    view: tuple[float, float, float],
    camera: Camera | None = None,
    settings: Mapping[str, Any],
) -> Film:
    """A film of a soft model, see `Film.of`, with the rigid bodies that it touches where they are in every frame.

    `poses` has positions (frames, B, 3) and orientations (frames, B, 4) of the bodies, as `Report.bodies` gives them;
    without, those that move are not drawn. Bodies have hues that the soft ones do not have; one that follows a path is
    a little darker than scenery, and so are animated meshes. `times`: simulated seconds at each frame, at which these
    are drawn; by default the first is h, after a step.
    """
    film = Film.of(model, frames, h, view=view, camera=camera, settings=settings)
    seconds = [(k + 1) * h for k in range(len(frames))] if times is None else times
    parts = [_among(model, poses, len(frames)), animated_in(model, seconds)]
    there = [part for part in parts if part is not None]
    return replace(film, bodies=joined(there)) if there else film


def _among(model: Model, poses: tuple[Any, Any] | None, count: int) -> Moving | None:
    """The rigid bodies that move among soft ones, in so many frames; None: there are none, or nobody says where."""
    bodies = model.collisions.bodies if model.collisions else ()
    moving = _moving(bodies)
    if poses is None or not moving:
        return None
    where, turned = _checked_poses(len(bodies), *poses)
    if len(where) != count:
        raise InputError(f"there are {count} frames of the model and {len(where)} of its bodies; give as many")
    local, owner, triangles = joined_surfaces([bodies[k].shape for k in moving], finest=FINE)
    colours = colours_of([bodies[k] for k in moving], local, owner, apart=APART)
    local, triangles, origin = refined(local, triangles, _longest(model, local, triangles))
    colours, owner = colours[origin], np.array(moving)[owner[origin]]
    return Moving(Posed(local, owner, where, turned), triangles, colours, owner)


def animated_in(model: Model, times: Sequence[float]) -> Moving | None:
    """The animated meshes that a model touches, at simulated times (s); None: there are none."""
    meshes: Sequence[AnimatedMesh] = model.collisions.animated if model.collisions else ()
    if not meshes:
        return None
    counts = [one.n_vertices for one in meshes]
    triangles = [one.triangles + first for one, first in zip(meshes, np.cumsum([0, *counts]), strict=False)]
    frames = [np.concatenate([one.at(time) for one in meshes]) for time in times]
    colours = np.tile(LED, (sum(counts), 1))
    return Moving(
        frames, np.concatenate(triangles).astype(np.int64), colours, np.repeat(np.arange(len(counts)), counts)
    )


def _longest(model: Model, local: NDArray[Any], triangles: NDArray[np.int64]) -> float:
    """Edges of bodies are as long as those of the soft mesh, but no shorter than MOST_TRIANGLES of them allow."""
    one, two = model.mesh.vertices[model.mesh.edges].swapaxes(0, 1)
    a, b, c = local[triangles].swapaxes(0, 1)
    area = float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)
    return max(float(np.median(np.linalg.norm(one - two, axis=1))), float(np.sqrt(4 * area / MOST_TRIANGLES)))


def _moving(bodies: Sequence[Body]) -> list[int]:
    return [k for k, body in enumerate(bodies) if not body.fixed and not isinstance(body.shape, Plane)]


def _checked_poses(count: int, positions: Any, orientations: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    where, turned = np.asarray(positions, float), np.asarray(orientations, float)
    if where.shape[1:] != (count, 3) or turned.shape != (len(where), count, 4) or not len(where):
        raise InputError(
            f"positions and orientations of {count} bodies must have the shapes (frames, {count}, 3) and "
            f"(frames, {count}, 4), not {where.shape} and {turned.shape}"
        )
    return where, turned


def _around(frames: Posed, scenery: Scenery | None, view: tuple[float, float, float]) -> Camera:
    """A body that is alone would fill the frame: look at all of its way, with as much around it as it is large."""
    low, high = bounds_of(frames)
    room = np.ptp(frames[0], axis=0).max()
    low, high = low - room, high + room
    if scenery is not None:
        low, high = scenery.frame(low, high)
    return Camera.framing(low, high, direction=view)


def joined_surfaces(
    shapes: Sequence[Collider], most: int = MOST_TRIANGLES, finest: int = FINEST
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Vertices in the frames of their bodies, whose each is, and triangles.

    Vertices at sharp edges come once for each side. `most`: triangles of round bodies, as far as COARSEST allows;
    `finest`: steps along a quarter of a circle.
    """
    steps, count = finest, sum(isinstance(shape, (Sphere, Box, Capsule)) and _is_round(shape) for shape in shapes)
    while steps > COARSEST and 12 * (2 * steps) ** 2 * count > most:
        steps -= 1
    measured = mass_properties(shapes)
    vertices, owner, triangles, first = [], [], [], 0
    for k, shape in enumerate(shapes):
        surface = shape.surface(steps) if isinstance(shape, (Sphere, Box, Capsule)) else shape.surface()
        points, corners = creased(surface.vertices, surface.triangles)
        vertices.append((points - measured.positions[k]) @ measured.rotations[k])
        owner.append(np.full(len(points), k))
        triangles.append(corners + first)
        first += len(points)
    return np.concatenate(vertices), np.concatenate(owner), np.concatenate(triangles)


def _is_round(shape: Sphere | Box | Capsule) -> bool:
    return bool(shape.encoded.shape[15] > 0)


def colours_of(
    bodies: Sequence[Body], local: NDArray[Any], owner: NDArray[np.int64], apart: float = 0.0
) -> NDArray[Any]:
    """(n, 3): a hue for each body, one half of a ball lighter; what follows a path is darker than scenery.

    No hue is nearer than `apart` degrees to FIRST_HUE, which is that of the first soft body.
    """
    turns = (GOLDEN_ANGLE / 360 * np.arange(len(bodies))) % 1
    degrees = FIRST_HUE + apart + (360 - 2 * apart) * turns
    hues = [oklch(LIGHTNESS[k % 3], CHROMA, angle) for k, angle in enumerate(degrees)]
    own = np.array([LED if body.path is not None else hue for body, hue in zip(bodies, hues, strict=True)])
    colours: NDArray[Any] = own[owner]
    light = np.array([isinstance(body.shape, Sphere) for body in bodies])[owner] & (local[:, 0] > -1e-9)
    colours[light] += LIGHTER * (1 - colours[light])
    return colours
