"""Contact problems of balls, large and without any search for contacts: the benchmarks of [thesis2010, section 3.8]."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import check_seed, is_number, is_whole, shown
from ..errors import InputError
from .kernels.proximal import DISC
from .problem import SPIN, ContactProblem, frames_of

RADIUS, MASS = 1.0, 1.0  # m, kg: "unit spheres"
FRICTION = 0.5
STEP, GRAVITY = 0.01, 9.81
LAYOUTS = ("grid", "cannonball")


def ball_grid(size: int | tuple[int, int, int], layout: str = "grid") -> ContactProblem:
    """Balls at rest on a fixed ground, each touching its neighbours [thesis2010, 3.8.1, figure 3.8].

    Args:
        size: how many along each axis, or along x, y (upwards) and z.
        layout: "grid", on top of and next to each other, or "cannonball", each layer in the hollows of the one below.
    """
    nx, ny, nz = check_grid(size, layout)
    number = np.arange(nx * ny * nz).reshape(ny, nz, nx) + 1  # body 0 is the ground
    rows = [(number[:, :, :-1], number[:, :, 1:]), (number[:, :-1], number[:, 1:])]
    if layout == "grid":
        rows.append((number[:-1], number[1:]))
    else:
        for below in range(ny - 1):
            up = 1 if below % 2 == 0 else -1
            for dz in (0, up):
                for dx in (0, up):
                    zs = slice(max(0, dz), nz + min(0, dz)), slice(max(0, -dz), nz + min(0, -dz))
                    xs = slice(max(0, dx), nx + min(0, dx)), slice(max(0, -dx), nx + min(0, -dx))
                    rows.append((number[below][zs[0], xs[0]], number[below + 1][zs[1], xs[1]]))
    places = RADIUS * grid_places((nx, ny, nz), layout)
    pairs = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in rows])
    return _problem(places, pairs, number[0].ravel(), np.tile([0.0, -GRAVITY * STEP, 0.0], (len(places), 1)))


def check_grid(size: object, layout: object) -> tuple[int, int, int]:
    """How many balls there are along x, y and z."""
    counts: Any = (size, size, size) if is_whole(size) else size
    if not isinstance(counts, (tuple, list)) or len(counts) != 3 or not all(is_whole(n) and n >= 1 for n in counts):
        raise InputError(f"the size of a ball grid is a whole number of at least 1, or three, not {shown(size)}")
    if layout not in LAYOUTS:
        raise InputError(f"unknown layout {shown(layout)}; there are {', '.join(LAYOUTS)}")
    nx, ny, nz = (int(n) for n in counts)
    return nx, ny, nz


def grid_places(counts: tuple[int, int, int], layout: str) -> np.ndarray:
    """(n, 3) centres of balls of radius one, layer by layer from the ground up."""
    nx, ny, nz = counts
    y, z, x = np.indices((ny, nz, nx))
    if layout == "grid":
        places = 2.0 * np.stack([x, y, z], axis=-1).reshape(-1, 3)
    else:
        offset = 0.5 * (y % 2)  # odd layers lie in the hollows of even ones
        places = 2.0 * np.stack([x + offset, y / np.sqrt(2.0), z + offset], axis=-1).reshape(-1, 3)
    places[:, 1] += 1.0
    return places


def ball_pile(size: int, chance: float = 0.25, seed: int = 0) -> ContactProblem:
    """Balls in rows, some touching the one before them, with random velocities [thesis2010, 3.8.2].

    Most contacts have no other beside them: the opposite of a grid. Those that move apart are none, so that there are
    about half as many as the chance says.

    Args:
        size: how many along each axis.
        chance: that a ball touches the one before it.
        seed: of gaps and velocities.
    """
    if not is_whole(size) or size < 1:
        raise InputError(f"the size of a ball pile is a whole number of at least 1, not {shown(size)}")
    if not is_number(chance) or not 0 <= chance <= 1:
        raise InputError(f"the chance of a contact lies between 0 and 1, not {shown(chance)}")
    rng = np.random.default_rng(check_seed(seed))
    touches = rng.random((size, size, size)) < chance
    touches[:, :, 0] = False
    gaps = np.where(touches, 0.0, RADIUS * rng.uniform(0.1, 1.0, touches.shape))
    x = np.cumsum(2.0 * RADIUS + gaps, axis=2)
    y, z, _ = np.indices(touches.shape)
    places = np.stack([x, 4.0 * RADIUS * y + 2.0, 4.0 * RADIUS * z], axis=-1).reshape(-1, 3)
    velocities = rng.uniform(-1.0, 1.0, (size**3, 3))
    number = np.arange(size**3).reshape(touches.shape) + 1
    pairs = np.column_stack([number[:, :, :-1][touches[:, :, 1:]], number[:, :, 1:][touches[:, :, 1:]]])
    closing = velocities[pairs[:, 1] - 1, 0] - velocities[pairs[:, 0] - 1, 0] < 0
    return _problem(places, pairs[closing], np.zeros(0, np.int64), velocities)


def _problem(places: np.ndarray, pairs: np.ndarray, standing: np.ndarray, velocities: np.ndarray) -> ContactProblem:
    """Of balls 1, 2, ... at these places, and of those that stand on the ground, body 0."""
    centres = np.concatenate([[[0.0, -1.0, 0.0]], places])
    way = centres[pairs[:, 1]] - centres[pairs[:, 0]]
    normals = np.concatenate(
        [way / np.linalg.norm(way, axis=1, keepdims=True), np.tile([0.0, 1.0, 0.0], (len(standing), 1))]
    )
    ground = places[standing - 1] - [0.0, RADIUS, 0.0]
    points = np.concatenate([centres[pairs[:, 0]] + 0.5 * way, ground])
    pairs = np.concatenate([pairs, np.column_stack([np.zeros_like(standing), standing])])
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    pairs, points, normals = pairs[order], points[order], normals[order]
    moves = np.ones(len(centres))
    moves[0] = 0.0
    inertia = 0.4 * MASS * RADIUS**2
    free = np.zeros((len(centres), 6))
    free[1:, :3] = velocities
    count = len(pairs)
    problem = ContactProblem(
        pairs=pairs.astype(np.int32),
        frames=frames_of(normals),
        arms=points[:, None] - centres[pairs],
        b=np.zeros((count, 4)),
        friction=np.tile([FRICTION, FRICTION, SPIN * FRICTION], (count, 1)),
        radii=np.zeros(count),
        kinds=np.full(count, DISC, np.int64),
        inverse_mass=moves / MASS,
        inverse_inertia=np.eye(3) * (moves / inertia)[:, None, None],
        points=points,
    )
    problem.b[:] = problem.relative(free)
    return problem
