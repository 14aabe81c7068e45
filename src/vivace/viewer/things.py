"""What stands in a scene of soft bodies and can be moved by hand: a table, a ball, a tube. No threads here.

Colliders that touch each other are one thing, such as a table and its foot; planes are none, nor is what no rigid body
can be made of. As long as nobody takes one they are the model's colliders. From then on, until the scene starts again,
they are bodies on paths that the hand leads: contacts know their velocities, so that friction takes a cloth along, and
nothing passes through them. What holds such a path back, in this order:

    speed      no faster than a hand, and no sudden start
    walls      room for the cloth stays between it and all else that stands, unless it stood so near and none is there
    stretch    it goes no farther where the cloth would tear, and gives way
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.csgraph import connected_components

from ..collisions.colliders import Box, Capsule, Collider, Plane, Sphere
from ..errors import InputError
from ..model import Model
from ..rigid.bodies import Body
from ..rigid.geometry import check_geometries
from ..rigid.paths import Led
from ..simulation.report import Report
from ..simulation.simulation import Simulation
from .edges import Edges
from .pointers import Key, Pointers

FASTEST = 1.5  # m/s
START = 15.0  # m/s²: how soon it is as fast as that
FOLLOW = 0.1  # s, about: how far it is behind the hand
LAYERS = 3.0  # thicknesses of cloth that have room between two things
TORN = 0.3  # stretch of the worst edge: no farther, and slower on the way there
BACK = -0.2  # of its speed: how it gives way where there is more
TRIES = 8  # at walls: corners have three
STEPS = 3  # along a quarter of a circle of what is round, for distances
TOUCHING = 1e-3  # m: what is no farther apart is one thing


@dataclass(frozen=True)
class Carry:
    """A thing that was carried from one shift to another (m)."""

    thing: int
    before: tuple[float, ...]
    after: tuple[float, ...]

    bytes = 0
    label = "move"


@dataclass(eq=False)
class Thing:
    """Colliders that go together, by their numbers, and how far they have gone.

    Attributes:
        places: (k, 3) of their surfaces, for distances, where they were made.
        bodies: what they are when they have been taken.
        wanted: the shift that a hand or an undo asks for (m); None: it stays.
    """

    numbers: tuple[int, ...]
    shapes: tuple[Collider, ...]
    places: np.ndarray
    path: Led
    bodies: tuple[Body, ...]
    wanted: np.ndarray | None = None


class Things:
    """The things of a scene, who holds them, and where they are led. `model`: as the scene has it."""

    def __init__(self, model: Model):
        self.all = _things(model)
        self.taken = False  # whether they are bodies
        self._held: dict[Key, tuple[int, np.ndarray, np.ndarray]] = {}  # thing, target less shift, shift at first
        self._edges: Edges | None = None
        self._mesh = model.mesh
        self._room, self._cloth = 0.0, np.zeros((0, 3))
        self._walls: list[tuple[Collider, np.ndarray]] = []
        self._surfaces: dict[int, tuple[Collider, np.ndarray]] = {}

    def __len__(self) -> int:
        return len(self.all)

    def __contains__(self, key: object) -> bool:
        return key in self._held

    @property
    def shifts(self) -> tuple[tuple[float, ...], ...]:
        """How far each is from where it was made (m); none while they are colliders."""
        return tuple(tuple(thing.path.shift.tolist()) for thing in self.all) if self.taken else ()

    def numbers(self) -> dict[int, int]:
        """The thing that each collider belongs to, of those that belong to any."""
        return {number: k for k, thing in enumerate(self.all) for number in thing.numbers}

    # --- the model ------------------------------------------------------------------------------------------------

    def in_model(self, model: Model) -> Model:
        """A model, made as settings and edits have it, with the things as they are now: colliders, or bodies."""
        settings = model.collisions
        if not self.taken or settings is None:
            return model
        mine = self.numbers()
        still = tuple(one for k, one in enumerate(settings.colliders) if k not in mine)
        led = tuple(body for thing in self.all for body in thing.bodies)
        return replace(model, collisions=replace(settings, colliders=still, bodies=(*settings.bodies, *led)))

    def own_bodies(self, report: Report) -> Report:
        """A report without the bodies that things are: these are scenery."""
        if not self.taken or report.bodies is None:
            return report
        count = len(report.bodies.positions) - sum(len(thing.bodies) for thing in self.all)
        if not count:
            return replace(report, bodies=None)
        positions, orientations = report.bodies.positions[:count], report.bodies.orientations[:count]
        return replace(report, bodies=replace(report.bodies, positions=positions, orientations=orientations))

    def place(self, sims: Iterable[Simulation], shifts: Sequence[Sequence[float]]) -> None:
        """Put things somewhere at once: for simulations whose soft bodies are put elsewhere, too."""
        self._held.clear()
        for thing, shift in zip(self.all, shifts, strict=False):
            thing.path.stay(shift)
            thing.wanted = None
        led = [thing.path for thing in self.all for _ in thing.bodies]
        for sim in sims:
            if sim.bodies is not None and self.taken:
                bodies = sim.bodies.rigid.bodies
                for k, path in enumerate(led, len(bodies) - len(led)):
                    bodies.positions[k] = sim.bodies.rigid.starts[k][0] + path.shift

    def give_back(self) -> None:
        """They are colliders again, where the scene has them; the model is still to be replaced."""
        self.place((), [(0.0, 0.0, 0.0)] * len(self.all))
        self.taken = False

    # --- hands ----------------------------------------------------------------------------------------------------

    def check(self, thing: int) -> None:
        """Whether there is such a thing."""
        if not 0 <= thing < len(self.all):
            raise InputError(f"there is no thing {thing} to take: {len(self.all)} of what stands here can be moved")

    def hold(self, key: Key, thing: int, target: np.ndarray) -> None:
        """A pointer takes a thing at `target`, where it is now."""
        shift = self.all[thing].path.shift
        self._held[key] = thing, target - shift, shift
        self.all[thing].wanted = shift

    def drag(self, key: Key, target: np.ndarray) -> None:
        """Lead what a pointer holds; of two that hold one thing, the last has it."""
        if key in self._held:
            thing, offset, _ = self._held[key]
            self.all[thing].wanted = target - offset

    def release(self, key: Key) -> Carry | None:
        """A pointer lets go: the thing stays where it is. What has become of it, if it was moved."""
        held = self._held.pop(key, None)
        if held is None:
            return None
        thing, _, before = held
        if any(other == thing for other, _, _ in self._held.values()):
            return None
        after = self.all[thing].path.shift
        self.all[thing].wanted = None
        moved = float(np.abs(after - before).max()) > 1e-6
        return Carry(thing, tuple(before.tolist()), tuple(after.tolist())) if moved else None

    def held_by(self, client: str | None) -> list[Key]:
        """The pointers of a client that hold something; None: of everybody."""
        return [key for key in self._held if client in (None, key[0])]

    def send(self, thing: int, shift: Sequence[float]) -> None:
        """Lead a thing somewhere without a hand, as fast as one would: a change is taken back."""
        self.check(thing)
        self.all[thing].wanted = np.array(shift, float)

    # --- a step ---------------------------------------------------------------------------------------------------

    def lead(self, sim: Simulation) -> None:
        """Before a step of `sim`, and of others that are as far: lead all things on."""
        going = any(thing.wanted is not None or thing.path.velocity.any() for thing in self.all)
        if not (self.taken and going) or sim.bodies is None:
            return
        h, begin, settings = sim.time_step, sim.bodies.rigid.time, sim.model.collisions
        assert settings is not None
        self._cloth = sim.positions.astype(np.float64)
        self._room, self._walls = LAYERS * settings.thickness, [(one, np.zeros(3)) for one in settings.colliders]
        pace = max(BACK, 1.0 - self._stretch(sim) / TORN)
        for k, thing in enumerate(self.all):
            thing.path.go(self._next(k, h, pace), begin, h)
            back = thing.wanted is not None and np.allclose(thing.path.shift, thing.wanted, atol=1e-6)
            if back and not self._is_held(k):
                thing.wanted = None

    def _is_held(self, thing: int) -> bool:
        return any(other == thing for other, _, _ in self._held.values())

    def _next(self, k: int, h: float, pace: float) -> np.ndarray:
        """Where a thing is to be after a step of h seconds; `pace`: of what a hand would have."""
        thing = self.all[k]
        now, velocity = thing.path.shift, thing.path.velocity
        wish = np.zeros(3) if thing.wanted is None else (thing.wanted - now) / max(FOLLOW, h)
        wish *= pace * min(1.0, FASTEST / max(float(np.linalg.norm(wish)), 1e-30))
        change = wish - velocity
        change *= min(1.0, START * h / max(float(np.linalg.norm(change)), 1e-30))
        if thing.wanted is None:
            change = -velocity  # let go: it stays
        step = h * (velocity + change)
        if thing.wanted is not None and pace > 0 and np.linalg.norm(thing.wanted - now) <= np.linalg.norm(step):
            step = thing.wanted - now
        new: np.ndarray = now + self._kept_out(k, now, step)
        return new

    def _kept_out(self, k: int, now: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The part of a step that leads nearer to no wall than there is room for cloth, or than it was already."""
        if not step.any():
            return step
        others = [other for other in self.all if other is not self.all[k]]
        walls = [*self._walls, *((shape, other.path.shift) for other in others for shape in other.shapes)]
        least = [min(self._least(k, now, *wall), self._nearest(k, now, *wall)[0]) for wall in walls]
        out = step.copy()
        for _ in range(TRIES):
            far = True
            for wall, enough in zip(walls, least, strict=True):
                away, normal = self._nearest(k, now + out, *wall)
                lacks = enough - away
                if lacks > 1e-9:
                    out += lacks * normal
                    far = False
            if far:
                return out
        return np.zeros(3)

    def _least(self, k: int, now: np.ndarray, wall: Collider, aside: np.ndarray) -> float:
        """How near to a wall a thing may come: as near as it stood at first, if no cloth is between them."""
        first = self._nearest(k, np.zeros(3), wall, np.zeros(3))[0]
        if first >= self._room:
            return self._room
        near = wall.distance(self._cloth - aside) < self._room
        under = self._cloth[near] - now
        there = any(bool((shape.distance(under) < 2 * self._room).any()) for shape in self.all[k].shapes)
        return self._room if len(under) and there else first

    def _nearest(self, k: int, shift: np.ndarray, wall: Collider, aside: np.ndarray) -> tuple[float, np.ndarray]:
        """The distance of a thing at `shift` from a wall that has gone `aside`, and which way is out."""
        points = self.all[k].places + (shift - aside)
        away = wall.distance(points)
        worst = int(np.argmin(away))
        best = float(away[worst]), wall.gradient(points[worst : worst + 1])[0]
        if isinstance(wall, Plane):
            return best
        for shape in self.all[k].shapes:  # and the corners of the wall from the thing
            points = self._places_of(wall) + (aside - shift)
            away = shape.distance(points)
            worst = int(np.argmin(away))
            if away[worst] < best[0]:
                best = float(away[worst]), -shape.gradient(points[worst : worst + 1])[0]
        return best

    def _places_of(self, wall: Collider) -> np.ndarray:
        if id(wall) not in self._surfaces:
            self._surfaces[id(wall)] = wall, _places([wall])
        return self._surfaces[id(wall)][1]

    def _stretch(self, sim: Simulation) -> float:
        mesh = sim.model.mesh
        if self._edges is None or self._mesh is not mesh:
            self._edges, self._mesh = Edges(mesh), mesh
        return float(self._edges.strain(sim.positions.astype(np.float32))[2])


class CarryingPointers(Pointers):
    """Hands that hold soft bodies, or things that stand. `carried`: what they have moved and let go of."""

    def __init__(self, force: float, things: Things):
        super().__init__(force)
        self.things = things
        self.carried: list[Carry] = []

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.things

    def drag(self, sims: Iterable[Simulation], key: Key, target: np.ndarray) -> None:
        """Move what a pointer holds; nothing if it holds nothing."""
        super().drag(sims, key, target)
        self.things.drag(key, target)

    def release(self, sims: Iterable[Simulation], key: Key) -> None:
        """A pointer lets go of what it holds, if anything."""
        super().release(sims, key)
        carry = self.things.release(key)
        if carry is not None:
            self.carried.append(carry)

    def release_client(self, sims: Iterable[Simulation], client: str) -> None:
        """All pointers of a client let go: it has left."""
        super().release_client(sims, client)
        for key in self.things.held_by(client):
            self.release(sims, key)

    def release_all(self, sims: Iterable[Simulation]) -> None:
        """All pointers let go."""
        super().release_all(sims)
        for key in self.things.held_by(None):
            self.release(sims, key)


def _things(model: Model) -> list[Thing]:
    """What stands in a model and can be moved; nothing where a collider is no geometry of a rigid body."""
    settings = model.collisions
    if settings is None:
        return []
    try:
        check_geometries(settings.colliders)
    except InputError:
        return []
    numbers = [k for k, one in enumerate(settings.colliders) if not isinstance(one, Plane)]
    shapes = [settings.colliders[k] for k in numbers]
    places = [_places([shape]) for shape in shapes]
    touching = np.zeros((len(shapes), len(shapes)), bool)
    for a, shape in enumerate(shapes):
        for b, points in enumerate(places):
            touching[a, b] = a != b and float(shape.distance(points).min()) <= TOUCHING
    count, owner = connected_components(touching, directed=False) if shapes else (0, np.zeros(0, int))
    found = []
    for k in range(count):
        mine, path = np.flatnonzero(owner == k).tolist(), Led()
        parts = tuple(shapes[m] for m in mine)
        bodies = tuple(Body(shape, path=path) for shape in parts)
        found.append(Thing(tuple(numbers[m] for m in mine), parts, _places(parts), path, bodies))
    return found


def _places(shapes: Sequence[Collider]) -> np.ndarray:
    """(k, 3) points of surfaces."""
    found = [one.surface(STEPS) if isinstance(one, (Sphere, Box, Capsule)) else one.surface() for one in shapes]
    return np.concatenate([surface.vertices for surface in found])
