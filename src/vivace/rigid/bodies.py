"""Rigid bodies: what a person says of one, and all of them as arrays.

    vv.Body(vv.Box((0, 1, 0), (0.1, 0.1, 0.1)), density=500, friction=0.5)
    vv.Body(vv.Plane(), fixed=True)
    vv.Body(vv.Box((0, 0, 0), (1, 0.1, 1)), path=lambda t: (np.array([np.sin(t), 0, 0]), np.zeros(3)))

A body has the geometry, position and orientation of a collider. It is free, fixed, or moved along a path; contacts push
free ones only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..checks import FASTEST, HEAVIEST, LARGEST, LIGHTEST, ROUGHEST, as_numbers, check_flag, is_number, shown
from ..collisions.colliders import Collider, Plane, Sphere
from ..collisions.settings import as_friction
from ..errors import InputError
from ..storage import storable
from . import rotation
from .geometry import Shapes, check_geometries, mass_properties, rounded_box
from .kernels import motion
from .proximal import FrictionMap, FrictionSet, friction_map

WATER = 1000.0  # kg/m³
FRICTION = 0.5  # of a body that says nothing of it
ARRAYS = (
    "positions", "orientations", "velocities", "spins", "masses", "inertias", "friction", "grains", "restitution",
    "movable",
)  # fmt: skip

# Position of a body at a time (s), and its rotation vector since the beginning.
Path = Callable[[float], tuple[np.ndarray, np.ndarray]]


@storable("body")
@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body.

    Args:
        shape: its geometry, and where it is at first: a Sphere, Box, Capsule, ConvexMesh or Plane.
        density: in kg/m³; or `mass`, in kg.
        mass: in kg; None: by its density.
        inertia: (3, 3), in kg m², about the centre of mass and in the body's own axes; None: that of an even density.
        velocity: of its centre of mass, in m/s.
        spin: its angular velocity, in rad/s.
        friction: the coefficient of Coulomb friction; None: that of the shape, or 0.5. Two bodies that touch have the
            geometric mean of theirs. Or a `FrictionSet` such as `proximal.Ellipse`, or `proximal.ConvexSet` for one of
            one's own: the impulses that the body can give to whatever touches it.
        grain: the direction, in the axes of the body, along which a set has its first coefficient.
        restitution: 0, it does not bounce, to 1, it loses nothing. Two bodies that touch have the larger one.
        fixed: nothing moves it.
        path: a function of the time that tells its position and its rotation vector since the beginning; contacts do
            not move it, and what lies on it goes with it.
        name: what `Model.attach` calls it.
    """

    shape: Collider
    density: float = WATER
    mass: float | None = None
    inertia: Any = None
    velocity: Any = (0.0, 0.0, 0.0)
    spin: Any = (0.0, 0.0, 0.0)
    friction: float | FrictionSet | None = None
    grain: Any = (1.0, 0.0, 0.0)
    restitution: float = 0.0
    fixed: bool = False
    path: Path | None = None
    name: str = ""

    def __post_init__(self) -> None:
        check_geometries([self.shape])
        if not isinstance(self.name, str):
            raise InputError(f"the name of a body must be text, not {shown(self.name)}")
        check_flag("fixed, whether nothing moves a body,", self.fixed)
        for name in ("density", "mass"):
            value = getattr(self, name)
            if name == "mass" and value is None:
                continue
            if not is_number(value) or not LIGHTEST <= value <= HEAVIEST:
                raise InputError(
                    f"the {name} of a body must be a number from {LIGHTEST:g} to {HEAVIEST:g}, not {shown(value)}; "
                    "for a body that nothing moves say fixed=True"
                )
        if not is_number(self.restitution) or not 0 <= self.restitution <= 1:
            raise InputError(f"restitution must lie between 0 and 1, not {shown(self.restitution)}")
        for name in ("velocity", "spin"):
            as_numbers(f"the {name} of a body", getattr(self, name), (3,), most=FASTEST)
        if isinstance(self.shape, Plane) and not self.immovable:
            raise InputError("a half space has no end and no mass; say fixed=True, or path=... to move it")
        if self.path is not None and not callable(self.path):
            raise InputError(f"the path of a body must be a function of the time, not {shown(self.path)}")
        if self.inertia is not None:
            check_inertia(self.inertia)
        _ = self.coefficient
        if not np.linalg.norm(as_numbers("the grain of a body", self.grain, (3,), most=FASTEST)) > 0:
            raise InputError("the grain of a body must have a length; (1, 0, 0) is along its first axis")

    @property
    def immovable(self) -> bool:
        """Whether contacts cannot move it."""
        return self.fixed or self.path is not None

    @property
    def weight(self) -> float:
        """Its mass in kg; infinite if contacts cannot move it."""
        if self.immovable:
            return float("inf")
        volume = float(mass_properties([self.shape]).volumes[0])
        return self.density * volume if self.mass is None else float(self.mass)

    @property
    def soft_friction(self) -> tuple[float, float] | None:
        """Static and kinetic coefficient against soft bodies; None: what these say."""
        if self.friction is not None:
            return self.coefficient, self.coefficient
        return None if self.shape.friction is None else as_friction(self.shape.friction)

    @property
    def coefficient(self) -> float:
        """Of Coulomb friction; where there is a set, its first one."""
        if isinstance(self.friction, FrictionSet):
            return float(self.friction.mu_s)
        value: Any = self.friction
        if value is None:
            own = self.shape.friction
            value = FRICTION if own is None else (own[0] if isinstance(own, tuple) else own)
        if not is_number(value) or not 0 <= value <= ROUGHEST:
            raise InputError(f"the friction of a body must be a number from 0 to {ROUGHEST:g}, not {shown(value)}")
        return float(value)


def check_inertia(inertia: Any) -> np.ndarray:
    """An inertia tensor: symmetric, positive definite, and such as a body can have."""
    found = as_numbers("the inertia of a body", inertia, (3, 3), most=HEAVIEST)
    if not np.allclose(found, found.T, rtol=1e-9, atol=1e-12 * np.abs(found).max()):
        raise InputError("the inertia of a body must be a symmetric matrix")
    moments = np.linalg.eigvalsh(found)
    if not moments[0] > 0:
        raise InputError(f"the inertia of a body must be positive definite; its smallest moment is {moments[0]:.3g}")
    if moments[2] > (moments[0] + moments[1]) * (1 + 1e-9):
        raise InputError(
            f"no body has the moments of inertia {', '.join(f'{m:.3g}' for m in moments)}: "
            "the largest is at most the sum of the others"
        )
    return found


@storable("balls")
@dataclass(frozen=True, eq=False)
class Balls:
    """Many free balls at once: arrays in place of a `Body` each, which for a hundred thousand takes a minute.

        RigidSimulation([Body(Plane(), fixed=True), Balls(centres, 0.05)])

    Args:
        centres: (n, 3) where they are at first, in m.
        radii: (n,) in m, or one for all.
        density: in kg/m³.
        velocities: (n, 3) in m/s, or one for all.
        friction: their coefficient.
        restitution: 0, they do not bounce, to 1.
    """

    centres: Any
    radii: Any
    density: float = WATER
    velocities: Any = (0.0, 0.0, 0.0)
    friction: float = FRICTION
    restitution: float = 0.0

    def __post_init__(self) -> None:
        centres = np.asarray(self.centres, float)
        if centres.ndim != 2 or centres.shape[1] != 3 or not len(centres):
            raise InputError(f"centres of balls must have the shape (n, 3), n at least 1, not {centres.shape}")
        as_numbers("centres of balls", centres, centres.shape, most=LARGEST)
        count = len(centres)
        radii, velocities = np.asarray(self.radii, float), np.asarray(self.velocities, float)
        if radii.shape not in ((), (count,)) or not (radii > 0).all() or not (radii <= LARGEST).all():
            raise InputError(
                f"radii of {count} balls must be positive, one or {count} of them, not {shown(self.radii)}"
            )
        if velocities.shape not in ((3,), (count, 3)):
            raise InputError(f"velocities of {count} balls must have the shape (3,) or ({count}, 3)")
        as_numbers("velocities of balls", velocities, velocities.shape, most=FASTEST)
        Body(Sphere((0.0, 0.0, 0.0), 1.0), self.density, friction=self.friction, restitution=self.restitution)
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "radii", np.broadcast_to(radii, (count,)).copy())
        object.__setattr__(self, "velocities", np.broadcast_to(velocities, (count, 3)).copy())
        masses = self.arrays()["masses"]
        if not LIGHTEST <= masses.min() <= masses.max() <= HEAVIEST:
            raise InputError(
                f"balls weigh {masses.min():.3g} to {masses.max():.3g} kg; it must be from {LIGHTEST:g} to {HEAVIEST:g}"
            )

    def __len__(self) -> int:
        return len(self.radii)

    def arrays(self) -> dict[str, Any]:
        """What `Bodies` has of them, by name."""
        volumes, inertias = rounded_box(np.zeros((len(self), 3)), self.radii)
        masses = self.density * volumes
        return {
            "positions": self.centres,
            "orientations": rotation.IDENTITY,
            "velocities": self.velocities,
            "spins": 0.0,
            "masses": masses,
            "inertias": inertias * (masses / volumes)[:, None, None],
            "friction": float(self.friction),
            "grains": np.array([1.0, 0.0, 0.0]),
            "restitution": float(self.restitution),
            "movable": True,
        }


@dataclass(eq=False)
class Bodies:
    """All bodies of a simulation, as arrays; the frames of bodies are at their centres of mass.

    Attributes:
        shapes: their geometries.
        positions: (M, 3) centres of mass, in m.
        orientations: (M, 4) unit quaternions, the scalar first.
        velocities: (M, 3) in m/s.
        spins: (M, 3) angular velocities, in rad/s.
        masses: (M,) in kg; infinite for bodies that contacts do not move.
        inertias: (M, 3, 3) in the frames of the bodies.
        friction: (M,) coefficients.
        sets: of those that have one.
        grains: (M, 3) directions of these, in the frames of the bodies.
        restitution: (M,).
        movable: (M,) bool.
        paths: of those that are moved.
    """

    shapes: Sequence[Collider]
    positions: np.ndarray
    orientations: np.ndarray
    velocities: np.ndarray
    spins: np.ndarray
    masses: np.ndarray
    inertias: np.ndarray
    friction: np.ndarray
    sets: dict[int, FrictionSet]
    grains: np.ndarray
    restitution: np.ndarray
    movable: np.ndarray
    paths: dict[int, Path]

    @classmethod
    def of(cls, bodies: Sequence[Body | Balls]) -> Bodies:
        """The arrays of some bodies; balls that come as arrays have as many numbers as there are of them."""
        found = list(bodies)
        for index, body in enumerate(found):
            if not isinstance(body, (Body, Balls)):
                raise InputError(f"body {index} must be a Body or Balls, not {type(body).__name__}")
        single = cls._of([body for body in found if isinstance(body, Body)])
        if len(single) == len(found):
            return single
        sizes = [len(body) if isinstance(body, Balls) else 1 for body in found]
        count, first = sum(sizes), np.cumsum([0, *sizes])
        own = np.array([at for at, body in zip(first, found, strict=False) if isinstance(body, Body)], np.int64)
        arrays: dict[str, np.ndarray] = {}
        for name in ARRAYS:
            like = getattr(single, name)
            arrays[name] = np.empty((count, *like.shape[1:]), like.dtype)
            arrays[name][own] = like
        many = [(at, body) for at, body in zip(first, found, strict=False) if isinstance(body, Balls)]
        for at, balls in many:
            for name, values in balls.arrays().items():
                arrays[name][at : at + len(balls)] = values
        rest = np.setdiff1d(np.arange(count), own)
        at_rest = arrays["positions"][rest].copy(), np.concatenate([balls.radii for _, balls in many])
        shapes = Shapes(count, {int(k): single.shapes[n] for n, k in enumerate(own)}, (rest, *at_rest))
        sets = {int(own[k]): kept for k, kept in single.sets.items()}
        paths = {int(own[k]): path for k, path in single.paths.items()}
        return cls(shapes=shapes, sets=sets, paths=paths, **arrays)

    @classmethod
    def _of(cls, found: Sequence[Body]) -> Bodies:
        shapes = check_geometries([body.shape for body in found])
        measured = mass_properties(shapes)
        movable = np.array([not body.immovable for body in found], bool)
        masses, inertias = np.full(len(found), np.inf), np.tile(np.eye(3), (len(found), 1, 1))
        for k in np.flatnonzero(movable).tolist():
            body, volume = found[k], measured.volumes[k]
            masses[k] = body.density * volume if body.mass is None else body.mass
            own = measured.inertias[k] * (masses[k] / volume)
            inertias[k] = own if body.inertia is None else check_inertia(body.inertia)
            if not LIGHTEST <= masses[k] <= HEAVIEST:
                raise InputError(f"body {k} weighs {masses[k]:.3g} kg; it must be from {LIGHTEST:g} to {HEAVIEST:g}")
        return cls(
            shapes,
            measured.positions.copy(),
            np.array([rotation.of_matrix(turned) for turned in measured.rotations]).reshape(-1, 4),
            np.array([body.velocity for body in found], float).reshape(-1, 3) * movable[:, None],
            np.array([body.spin for body in found], float).reshape(-1, 3) * movable[:, None],
            masses,
            inertias,
            np.array([body.coefficient for body in found]),
            {k: body.friction for k, body in enumerate(found) if isinstance(body.friction, FrictionSet)},
            np.array([body.grain for body in found], float).reshape(-1, 3),
            np.array([body.restitution for body in found], float),
            movable,
            {k: body.path for k, body in enumerate(found) if body.path is not None},
        )

    def __len__(self) -> int:
        return len(self.positions)

    def rotations(self) -> np.ndarray:
        """(M, 3, 3): from the frames of the bodies to the world."""
        found = np.empty((len(self), 3, 3))
        motion.matrices(self.orientations, found)
        return found

    @cached_property
    def inverse_masses(self) -> np.ndarray:
        """(M,): 0 for those that contacts do not move."""
        return np.where(self.movable, 1.0 / self.masses, 0.0)

    def inverse_inertias(self, turned: np.ndarray) -> np.ndarray:
        """(M, 3, 3) in world axes, for rotation matrices of the bodies; 0 for those that contacts do not move."""
        found = np.empty_like(turned)
        motion.rotated(turned, self._inverse, found)
        return found

    @cached_property
    def _inverse(self) -> np.ndarray:
        found: np.ndarray = np.linalg.inv(self.inertias) * self.movable[:, None, None]
        return found

    @cached_property
    def laws(self) -> tuple[FrictionMap | None, dict[int, int]]:
        """The map onto sets of one's own, if there are some, and the kind of the set of each body that has one."""
        own, kinds = friction_map(list(self.sets.values()))
        return own, dict(zip(self.sets, kinds, strict=True))

    def kinetic_energy(self) -> float:
        """Of all that are free, in J."""
        moving = (self.orientations, self.velocities, self.spins)
        return float(motion.kinetic_energy(self.movable, self.masses, self.inertias, *moving))
