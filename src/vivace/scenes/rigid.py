"""Scenes of rigid bodies: stacks, cards, dominoes, a ramp, a mug on a plate, and balls.

Lengths in m, densities in kg/m³, angles in degrees. What touches at the start does so exactly, without overlap.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..checks import check_count, check_seed, check_size, is_number, many, memory, shown
from ..collisions.colliders import Box, Capsule, Plane, Sphere
from ..collisions.convex import ConvexMesh
from ..errors import InputError
from ..rigid.balls import check_grid, grid_places
from ..rigid.bodies import Body
from .cards import cards
from .rigid_scene import RigidScene
from .scene import SCENES

EACH = 5000  # bytes that a body takes while a scene is being made
FASTEST_FALL = 45.0  # degrees


def check_bodies(what: str, count: int) -> int:
    """How many bodies there will be; refused where memory does not hold them."""
    if count * EACH > memory():
        raise InputError(f"{what} would have {many(count)} bodies; there is room for {many(memory() // EACH)}")
    return count


def check_positive(name: str, value: object) -> float:
    """A positive, finite number."""
    if not is_number(value) or not value > 0:  # type: ignore[operator]
        raise InputError(f"{name} must be a positive number, not {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def check_angle(value: object, most: float = FASTEST_FALL) -> float:
    """An angle in degrees as radians."""
    if not is_number(value) or not 0 < value < most:  # type: ignore[operator]
        raise InputError(f"angle must lie between 0 and {most:g} degrees, not {shown(value)}")
    return math.radians(value)  # type: ignore[arg-type]


def ground(friction: float) -> Body:
    """The level plane that nothing moves."""
    return Body(Plane(), fixed=True, friction=friction)


@SCENES.register("box-stack")
def box_stack(n: int = 20, side: float = 0.2, density: float = 500.0, friction: float = 0.5) -> RigidScene:
    """Boxes on top of each other stay where they are."""
    check_bodies("a stack", check_count("n", n, 1))
    half = 0.5 * check_size("side", side)
    boxes = [Box((0.0, side * (k + 0.5), 0.0), (half, half, half)) for k in range(n)]
    bodies = [ground(friction), *(Body(box, density, friction=friction) for box in boxes)]
    return RigidScene("box-stack", bodies, view=(0.6, 0.15, 1.0))


@SCENES.register("house-of-cards")
def house_of_cards(
    storeys: int = 3,
    angle: float = 20.0,
    height: float = 0.2,
    width: float = 0.13,
    thickness: float = 0.006,
    density: float = 700.0,
    friction: float = 0.7,
) -> RigidScene:
    """Cards that lean on each other, storey upon storey, and stand by friction alone [thesis2010, Fig. 2.5].

    `angle`: how far a card leans. A card that carries nothing slides on the ground if tan(angle) is more than twice
    the friction, one that carries much if it is more than the friction.
    """
    check_count("storeys", storeys, 1)
    check_bodies("a house of cards", storeys * (storeys + 1) + storeys * (storeys - 1) // 2)
    sizes = [check_size(*size) for size in (("height", height), ("width", width), ("thickness", thickness))]
    if not 4 * thickness < min(height, width):
        raise InputError(f"thickness must be less than a quarter of height and width, not {shown(thickness)}")
    shapes = cards(storeys, check_angle(angle), *sizes)
    bodies = [ground(friction), *(Body(shape, density, friction=friction) for shape in shapes)]
    return RigidScene("house-of-cards", bodies, view=(0.5, 0.25, 1.0))


@SCENES.register("ramp")
def ramp(
    angle: float = 25.0, length: float = 2.0, side: float = 0.2, density: float = 500.0, friction: float = 0.4
) -> RigidScene:
    """A box on a ramp: it slides if tan(angle) is more than the friction.

    Then, after t seconds, it is ½ g (sin(angle) - friction cos(angle)) t² farther down, until it meets the ground.
    """
    tilt, half = check_angle(angle, 60.0), 0.5 * check_size("side", side)
    if not check_size("length", length) > 2 * side:
        raise InputError(f"length must be more than twice the side of the box, {2 * side:g} m, not {shown(length)}")
    down, up = np.array([math.cos(tilt), -math.sin(tilt), 0.0]), np.array([math.sin(tilt), math.cos(tilt), 0.0])
    top = np.array([-0.5 * length * down[0], -length * down[1], 0.0])
    outline = np.array([top, top + length * down, top * [1, 0, 1]])
    across = np.array([0.0, 0.0, 2 * side])
    wedge = ConvexMesh(np.concatenate([outline - across, outline + across]))
    x, y, z = (top + side * down + half * up).tolist()
    box = Box((x, y, z), (half, half, half), rotate=(0.0, 0.0, -tilt))
    slope = Body(wedge, fixed=True, friction=friction)
    bodies = [ground(friction), slope, Body(box, density, friction=friction)]
    return RigidScene("ramp", bodies, frames=180, view=(0.25, 0.3, 1.0))


@SCENES.register("dominoes")
def dominoes(
    n: int = 20,
    height: float = 0.2,
    width: float = 0.1,
    thickness: float = 0.03,
    spacing: float = 0.1,
    push: float = 3.0,
    density: float = 700.0,
    friction: float = 0.4,
) -> RigidScene:
    """Dominoes in a row; the first is pushed over, and the others follow.

    `spacing`: from one to the next; `push`: how fast the first turns over its foot (rad/s).
    """
    check_bodies("a row of dominoes", check_count("n", n, 1))
    for name, size in (("height", height), ("width", width), ("thickness", thickness), ("spacing", spacing)):
        check_size(name, size)
    if not thickness < spacing < height + thickness:
        raise InputError(
            f"spacing must be more than the thickness, {thickness:g} m, and so little that a domino reaches the next, "
            f"less than {height + thickness:g} m; not {shown(spacing)}"
        )
    if not is_number(push):
        raise InputError(f"push must be a number in rad/s, not {shown(push)}")
    half = (0.5 * thickness, 0.5 * height, 0.5 * width)
    boxes = [Box((spacing * (k - 0.5 * (n - 1)), half[1], 0.0), half) for k in range(n)]
    bodies = [ground(friction), *(Body(box, density, friction=friction) for box in boxes)]
    over_its_foot = (push * half[1], push * half[0], 0.0)
    bodies[1] = replace(bodies[1], spin=(0.0, 0.0, -push), velocity=over_its_foot)
    return RigidScene("dominoes", bodies, frames=180, view=(0.6, 0.45, 1.0))


@SCENES.register("mug")
def mug(
    pull: float = 20.0,
    distance: float = 0.45,
    height: float = 0.1,
    radius: float = 0.04,
    density: float = 600.0,
    friction: float = 0.3,
) -> RigidScene:
    """A mug on a plate that is pulled away from under it.

    `pull`: how fast the plate gets faster, and then slower until it has gone its distance (m/s²). The mug follows it
    if that is less than friction times gravity, and stays behind on the table if it is much more.
    """
    for name, value in (("pull", pull), ("distance", distance)):
        check_positive(name, value)
    check_size("height", height), check_size("radius", radius)
    top, thick = 0.1, 0.008
    angles = np.arange(24) * (2 * math.pi / 24)
    rim = np.stack([radius * np.cos(angles), np.zeros(24), radius * np.sin(angles)], axis=1)
    foot, upwards = top + thick, np.array([0.0, 1.0, 0.0])
    cup = ConvexMesh(np.concatenate([rim + foot * upwards, rim + (foot + height) * upwards]))
    half_way = math.sqrt(distance / pull)

    def path(t: float) -> tuple[np.ndarray, np.ndarray]:
        early, late = min(max(t, 0.0), half_way), min(max(2 * half_way - t, 0.0), half_way)
        x = 0.5 * pull * early**2 if t <= half_way else distance - 0.5 * pull * late**2
        return np.array([x, 0.0, 0.0]), np.zeros(3)

    table = Box((0.0, 0.5 * top, 0.0), (0.4, 0.5 * top, 0.25))
    plate = Box((0.0, top + 0.5 * thick, 0.0), (0.16, 0.5 * thick, 0.12))
    bodies = [
        ground(friction),
        Body(table, fixed=True, friction=friction),
        Body(plate, path=path, friction=friction),
        Body(cup, density, friction=friction),
    ]
    return RigidScene("mug", bodies, frames=90, view=(0.35, 0.4, 1.0))


@SCENES.register("ball-grid")
def ball_grid(
    size: int = 5, layout: str = "grid", radius: float = 0.1, density: float = 500.0, friction: float = 0.5
) -> RigidScene:
    """Balls in rows, columns and layers, each touching its neighbours [thesis2010, 3.8.1, Fig. 3.8].

    `size`: how many along each axis; `layout`: "grid", on top of and next to each other, or "cannonball", each layer in
    the hollows of the one below, which rolls apart: nothing holds the lowest layer.
    """
    counts = check_grid(size, layout)
    check_bodies("a ball grid", counts[0] * counts[1] * counts[2])
    places = check_size("radius", radius) * grid_places(counts, layout)
    return RigidScene("ball-grid", [ground(friction), *_balls(places, np.full(len(places), radius), density, friction)])


@SCENES.register("ball-pile")
def ball_pile(
    size: int = 5, radius: float = 0.05, density: float = 500.0, friction: float = 0.4, seed: int = 0
) -> RigidScene:
    """Balls of different sizes fall into a box and come to rest.

    `size`: how many along each side of the box, and how many layers; `radius`: of the largest.
    """
    check_bodies("a ball pile", check_count("size", size, 1) ** 3)
    rng, count = np.random.default_rng(check_seed(seed)), size**3
    apart = 2.5 * check_size("radius", radius)
    y, z, x = (part.ravel() for part in np.indices((size, size, size)))
    places = apart * np.stack([x - 0.5 * (size - 1), y + 1.0, z - 0.5 * (size - 1)], axis=1)
    places[:, [0, 2]] += rng.uniform(-0.2 * radius, 0.2 * radius, (count, 2))
    reach = 0.5 * apart * size
    normals = ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0))
    walls = [Plane((-reach * a, 0.0, -reach * c), (a, 0.0, c)) for a, _, c in normals]
    balls = _balls(places, rng.uniform(0.7 * radius, radius, count), density, friction)
    bodies = [ground(friction), *(Body(wall, fixed=True, friction=friction) for wall in walls), *balls]
    return RigidScene("ball-pile", bodies, frames=240, view=(0.5, 0.6, 1.0))


@SCENES.register("pour")
def pour(n: int = 60, size: float = 0.1, density: float = 500.0, friction: float = 0.5, seed: int = 0) -> RigidScene:
    """Boxes, balls, rods and stones fall into a tray.

    `size`: about how large each is.
    """
    check_bodies("what is poured", check_count("n", n, 1))
    rng, half = np.random.default_rng(check_seed(seed)), 0.5 * check_size("size", size)
    side = 4.0 * size
    bodies = [ground(friction)]
    for x, z in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        walls = (0.1 * size if x else side + 0.2 * size, size, side + 0.2 * size if x else 0.1 * size)
        wall = Box((x * (side + 0.1 * size), size, z * (side + 0.1 * size)), walls)
        bodies.append(Body(wall, fixed=True, friction=friction))
    for k in range(n):
        layer, place = divmod(k, 9)
        row, column = divmod(place, 3)
        spot = 2.5 * size * np.array([column - 1, layer + 1.0, row - 1]) + rng.uniform(-0.3, 0.3, 3) * size
        bodies.append(Body(thing(k % 4, spot, half, rng), density, friction=friction))
    return RigidScene("pour", bodies, frames=240, view=(0.5, 0.7, 1.0))


def thing(kind: int, spot: np.ndarray, half: float, rng: np.random.Generator) -> Box | Sphere | Capsule | ConvexMesh:
    """A box, a ball, a rod or a stone, turned at random."""
    x, y, z = spot.tolist()
    turn = rng.uniform(-math.pi, math.pi, 3) / math.sqrt(3)
    if kind == 0:
        a, b, c = (half * rng.uniform(0.6, 1.0, 3)).tolist()
        return Box((x, y, z), (a, b, c), rotate=turn)
    if kind == 1:
        return Sphere((x, y, z), half * rng.uniform(0.7, 1.0))
    if kind == 2:
        along = half * turn / np.linalg.norm(turn)
        start, end = (spot - along).tolist(), (spot + along).tolist()
        return Capsule(tuple(start), tuple(end), 0.5 * half)
    points = rng.standard_normal((16, 3))
    points *= half / np.linalg.norm(points, axis=1, keepdims=True)
    return ConvexMesh(points, rotate=turn, centre=(x, y, z))


def _balls(places: np.ndarray, radii: np.ndarray, density: float, friction: float) -> list[Body]:
    """Balls at places (n, 3)."""
    return [
        Body(Sphere((x, y, z), radius), density, friction=friction)
        for (x, y, z), radius in zip(places.tolist(), radii.tolist(), strict=True)
    ]
