"""Sets of legal friction impulses, and the nearest point of each [thesis2010, 2.1.3 and 2.3].

    F(λₙ) = λₙ K      K: closed, convex, holds 0      λ_f = prox_F(λ_f - r v_f)      (2.27), (2.54)

A set says what friction can do for a normal impulse of 1; the principle of maximum dissipation (2.34) does the rest,
for any such set. `Disc` is Coulomb's law. `ConvexSet` takes any K that one can write a support mapping for:

    def stadium(dx, dy):  # a strip of length 0.4 with round ends of radius 0.3
        return (0.2 if dx > 0.0 else -0.2) + 0.3 * dx, 0.3 * dy

    friction = ConvexSet(stadium)
    friction.project(points, normal)

`vivace.rigid.kernels.proximal` has the formulae, what the text leaves open, and which factors r a set bears.

Each has a coefficient `spin` for friction against spin, |λτ| <= spin λₙ. By (2.37) it is 2/3 μ for a disc. That is what
Coulomb friction under even pressure on a round contact can resist: ∫ μ p r dA = 2/3 μ λₙ R. Where friction depends on
the direction, each point of the contact slips along its circle, and the mean over all directions of the support
function of K takes the place of μ. By Cauchy's formula that is the perimeter of K over 2π. (The text has a bound for
isotropic friction only.)
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from ..backends.cpu.templates import cacheable, compiled_project
from ..checks import ROUGHEST, is_number, real_array, shown
from ..errors import InputError
from ..registry import Registry
from ..storage import storable
from .kernels.convex import friction_with, projection_pass
from .kernels.proximal import BOX, COUPLED, DISC, ELLIPSE, NONE, SUPPORT, project_all, project_friction

SPIN = 2.0 / 3.0  # of μ λₙ (2.37)
TOLERANCE = 1e-9  # by which a support mapping may miss what it must be, of the size of its set

FRICTION_SETS: Registry[type[FrictionSet]] = Registry("friction set")


class FrictionSet:
    """What all have in common: a kind and coefficients for compiled code, and `project` for everybody else."""

    kind = NONE
    mu_s = mu_t = spin = 0.0

    @property
    def projection(self) -> Any:
        """The compiled `project_friction` that knows the set as its `kind`."""
        return project_friction

    def project(self, points: ArrayLike, normal: ArrayLike) -> np.ndarray:
        """The points of F(λₙ) nearest to points (m, 2): (s, t), or (m, 3): (s, t, τ); normal (m,) or one for all.

        τ is a torque over the radius of the contact, as (2.35) has it.
        """
        z = real_array(points)
        if z is None or z.ndim != 2 or z.shape[1] not in (2, 3):
            raise InputError(f"points must be numbers of the shape (m, 2) or (m, 3), not {shown(points)}")
        impulses = real_array(normal)
        if impulses is None or impulses.shape not in ((), (len(z),)):
            raise InputError(f"normal impulses must be one number or {len(z)}, one for each point, not {shown(normal)}")
        for what, array in (("points", z), ("normal impulses", impulses)):
            if not np.isfinite(array).all():
                raise InputError(f"{what} must be finite, not {array[~np.isfinite(array)].flat[0]}")
        if (impulses < 0).any():
            raise InputError(f"normal impulses must be 0 or more, not {impulses.min():g}: project them onto N first")
        whole, out = np.zeros((len(z), 3)), np.empty((len(z), 3))
        whole[:, : z.shape[1]] = z
        spread = np.ascontiguousarray(np.broadcast_to(impulses, len(z)))
        self._pass()(self.kind, spread, whole, self.mu_s, self.mu_t, self.spin, out)
        return out[:, : z.shape[1]].copy()

    def _pass(self) -> Any:
        return project_all

    def stored(self) -> dict[str, Any]:
        """The arguments that make it again, in a file."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}


def _coefficient(name: str, value: object) -> float:
    if not is_number(value) or not 0.0 <= value <= ROUGHEST:  # type: ignore[operator]
        raise InputError(f"{name} must be a coefficient of friction from 0 to {ROUGHEST:g}, not {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def _spin(spin: float | None, mean: float) -> float:
    return SPIN * mean if spin is None else _coefficient("spin", spin)


@storable("friction-none")
@FRICTION_SETS.register("none")
class Frictionless(FrictionSet):
    """No friction: {0}."""


@storable("friction-disc")
@FRICTION_SETS.register("disc")
class Disc(FrictionSet):
    """Coulomb's law, the same in all directions: |(λs, λt)| <= μ λₙ (2.27), |λτ| <= spin λₙ, of itself 2/3 μ (2.37)."""

    kind = DISC

    def __init__(self, mu: float, spin: float | None = None):
        self.mu = self.mu_s = self.mu_t = _coefficient("mu", mu)
        self.spin = _spin(spin, self.mu_s)


@storable("friction-coupled")
@FRICTION_SETS.register("coupled")
class Coupled(Disc):
    """Sliding and spin share one bound: |(λs, λt)|²/μ² + λτ²/spin² <= λₙ².

    Contensou's observation that a body which spins slides more easily, as an ellipsoid. It has the right half axes μ
    and, by default, 2/3 μ (2.37); the legal impulses of a round contact under even pressure have a support function
    that is up to 7 % smaller in between.
    """

    kind = COUPLED


@storable("friction-ellipse")
@FRICTION_SETS.register("ellipse")
class Ellipse(FrictionSet):
    """Friction that depends on the direction: (λs/mu_s)² + (λt/mu_t)² <= λₙ²."""

    kind = ELLIPSE

    def __init__(self, mu_s: float, mu_t: float, spin: float | None = None):
        self.mu_s, self.mu_t = _coefficient("mu_s", mu_s), _coefficient("mu_t", mu_t)
        long, short = max(self.mu_s, self.mu_t), min(self.mu_s, self.mu_t)
        quarter = scipy.special.ellipe(1.0 - (short / long) ** 2) if long > 0.0 else 0.0  # of the perimeter, long = 1
        self.spin = _spin(spin, float(long * quarter * 2.0 / np.pi))


@storable("friction-box")
@FRICTION_SETS.register("box")
class Box(FrictionSet):
    """|λs| <= mu_s λₙ and |λt| <= mu_t λₙ: what nonlinear complementarity problems make of friction (2.2.2).

    In diagonal directions it allows √2 of Coulomb's friction. Here for comparison.
    """

    kind = BOX

    def __init__(self, mu_s: float, mu_t: float, spin: float | None = None):
        self.mu_s, self.mu_t = _coefficient("mu_s", mu_s), _coefficient("mu_t", mu_t)
        self.spin = _spin(spin, 2.0 / np.pi * (self.mu_s + self.mu_t))


# --- sets of one's own ------------------------------------------------------------------------------------------------


@storable("friction-convex")
class ConvexSet(FrictionSet):
    """Any closed convex set K that holds the origin, by its support mapping for a normal impulse of 1.

    support  support(dx, dy) -> (x, y): a point of K as far as possible in the unit direction (dx, dy); where several
             are equally far, any of them. Or support(dx, dy, dtau) -> (x, y, tau), for sets in which friction against
             sliding and against spin depend on each other. Plain Python on numbers, which is compiled
    spin     as everywhere; of no use for sets with three coordinates, which say it themselves
    """

    kind = SUPPORT

    def __init__(self, support: Callable[..., Any], spin: float | None = None):
        self.mapping = self.support = support
        self.dimensions = _arguments(support)
        if self.dimensions == 3 and spin is not None:
            raise InputError(f"a set in (s, t, tau) has its own bound of spin: leave spin away, not {shown(spin)}")
        directions = _directions(self.dimensions)
        reached = _checked(support, directions)
        self.spin = _spin(spin, float((directions[:_ROUND] * reached[:_ROUND]).sum(axis=1).mean()))
        # How far the set reaches along its own axes: of use where a single number is wanted, as for soft bodies.
        self.mu_s, self.mu_t = (_reach(support, axis, self.dimensions) for axis in range(2))

    @cached_property
    def projection(self) -> Callable[..., Any]:
        """The compiled map onto this set."""
        return friction_with(self.mapping, self.dimensions, self.kind)

    def stored(self) -> dict[str, Any]:
        """Its arguments; a set in three coordinates has no bound of spin to be told."""
        found = super().stored()
        return {**found, "spin": None} if self.dimensions == 3 else found

    def _pass(self) -> Callable[..., Any]:
        return projection_pass(self.projection, self.mapping)

    def project(self, points: ArrayLike, normal: ArrayLike) -> np.ndarray:
        """The points of the set that are nearest, for normal impulses; see `FrictionSet.project`."""
        if self.dimensions == 3 and np.ndim(points) == 2 and np.shape(points)[1] == 2:
            raise InputError("a set in (s, t, tau) needs points of the shape (m, 3), not (m, 2)")
        return super().project(points, normal)


def _reach(support: Callable[..., Any], axis: int, dimensions: int) -> float:
    direction = np.eye(dimensions)[axis]
    return max(0.0, float(getattr(support, "py_func", support)(*direction)[axis]))


@storable("friction-polygon")
class Polygon(ConvexSet):
    """The convex hull of some points (n, 2) in the plane of friction, in any order; the origin must be in it."""

    def __init__(self, vertices: ArrayLike, spin: float | None = None):
        corners = real_array(vertices)
        if corners is None or corners.ndim != 2 or corners.shape[1] != 2 or not len(corners):
            raise InputError(f"vertices must be numbers of the shape (n, 2), one or more, not {shown(vertices)}")
        if not np.isfinite(corners).all() or np.abs(corners).max() > ROUGHEST:
            raise InputError(f"vertices must lie within {ROUGHEST:g} of the origin, not {shown(vertices)}")
        angles = np.sort(np.arctan2(corners[:, 1], corners[:, 0])[(corners != 0).any(axis=1)])
        gaps = np.diff(angles, append=angles[:1] + 2.0 * np.pi)
        if len(gaps) == len(corners) and gaps.max() > np.pi + TOLERANCE:
            raise InputError(f"the polygon of {shown(vertices)} must hold the origin: no friction at all is legal, too")
        self.vertices = corners
        super().__init__(_polygon_support(corners.tobytes()), spin)


@cache
def _polygon_support(data: bytes) -> Callable[..., Any]:
    corners = np.frombuffer(data).reshape(-1, 2)

    def support(dx: float, dy: float) -> tuple[float, float]:
        best, most = 0, dx * corners[0, 0] + dy * corners[0, 1]
        for i in range(1, len(corners)):
            reach = dx * corners[i, 0] + dy * corners[i, 1]
            if reach > most:
                best, most = i, reach
        return corners[best, 0], corners[best, 1]

    # Machine code on disk is told apart by this name: the text of an array would leave digits out.
    support.__qualname__ = f"polygon_{hashlib.sha256(data).hexdigest()[:16]}"
    return support


_ROUND = 720  # directions in the plane: the mean of the support function over them is exact to 1e-5, corners included
_BALL = 240


def _directions(dimensions: int) -> np.ndarray:
    if dimensions == 2:
        angle = np.arange(_ROUND) * (2.0 * np.pi / _ROUND)
        return np.column_stack([np.cos(angle), np.sin(angle)])
    height = 1.0 - (2.0 * np.arange(_BALL) + 1.0) / _BALL
    angle = np.arange(_BALL) * (np.pi * (3.0 - 5.0**0.5))
    width = np.sqrt(1.0 - height**2)
    spread = np.column_stack([width * np.cos(angle), width * np.sin(angle), height])
    return np.concatenate([spread, np.eye(3), -np.eye(3)])


def _arguments(support: Callable[..., Any]) -> int:
    """How many coordinates a support mapping has."""
    if not callable(support):
        raise InputError(f"the support mapping must be a function support(dx, dy) -> (x, y), not {shown(support)}")
    count = len(inspect.signature(getattr(support, "py_func", support)).parameters)
    if count not in (2, 3):
        raise InputError(f"the support mapping must take (dx, dy) or (dx, dy, dtau), not {count} arguments")
    return count


def _checked(support: Callable[..., Any], directions: np.ndarray) -> np.ndarray:
    """What a mapping gives for directions, as Python and as machine code; or an InputError that says what is wrong."""
    plain = getattr(support, "py_func", support)
    dimensions = directions.shape[1]
    reached = np.empty(directions.shape)
    for k, d in enumerate(directions):
        try:
            point = plain(*map(float, d))
        except Exception as error:
            raise InputError(f"support{_text(d)} must be {dimensions} numbers; it fails with {error!r}") from error
        numbers = real_array(point)
        if numbers is None or numbers.shape != (dimensions,):
            raise InputError(f"support{_text(d)} must be {dimensions} numbers, not {shown(point)}")
        reached[k] = numbers
    if not np.isfinite(reached).all() or np.abs(reached).max() > ROUGHEST:
        k = np.flatnonzero(~(np.abs(reached) <= ROUGHEST).all(axis=1))[0]
        raise InputError(f"support{_text(directions[k])} must lie within {ROUGHEST:g} of 0, not {_text(reached[k])}")
    reach = (directions * reached).sum(axis=1)
    slack = TOLERANCE * np.abs(reached).max()
    k = int(reach.argmin())
    if reach[k] < -slack:
        raise InputError(
            f"the set must hold the origin (no friction is legal, too), but in the direction {_text(directions[k])} "
            f"its support mapping reaches {reach[k]:.3g} only"
        )
    beyond = directions @ reached.T - reach[:, None]
    i, j = np.unravel_index(int(beyond.argmax()), beyond.shape)
    if beyond[i, j] > slack:
        raise InputError(
            f"the support mapping belongs to no convex set: in the direction {_text(directions[i])} it returns "
            f"{_text(reached[i])}, but {_text(reached[j])}, which it returns elsewhere, "
            f"is farther by {beyond[i, j]:.3g}"
        )
    try:
        machine = np.array(compiled_project(plain)(*map(float, directions[1])), float)
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise InputError(f"the support mapping cannot be compiled: {first}; use numbers and `math` only") from error
    if machine.shape != (dimensions,) or not np.abs(machine - reached[1]).max() <= slack:
        raise InputError(f"support{_text(directions[1])} is {_text(reached[1])} as Python, {shown(machine)} compiled")
    return reached


def _text(numbers: np.ndarray) -> str:
    return f"({', '.join(f'{value:.4g}' for value in numbers)})"


# --- several at once --------------------------------------------------------------------------------------------------


def friction_set(given: FrictionSet | str, **coefficients: float) -> FrictionSet:
    """A set as it is, or by its name and coefficients, such as "ellipse", mu_s=0.2, mu_t=0.6."""
    if isinstance(given, FrictionSet):
        return given
    found = FRICTION_SETS[given]
    try:
        return found(**coefficients)
    except TypeError:
        known = ", ".join(inspect.signature(found).parameters)
        raise InputError(
            f"friction set {given!r} takes {known or 'no coefficients'}, not {shown(coefficients)}"
        ) from None


@dataclass(frozen=True)
class FrictionMap:
    """A compiled `project_friction` for sets of one's own beside the usual ones.

    Attributes:
        project: what takes its place in the kernels of contact solvers.
        keep: whether their machine code may be kept on disk.
    """

    project: Callable[..., Any]
    keep: bool


def friction_map(sets: Sequence[FrictionSet]) -> tuple[FrictionMap | None, list[int]]:
    """`combined` as contact problems take it; None where the usual one knows all sets."""
    own = [item for item in sets if isinstance(item, ConvexSet)]
    projection, kinds = combined(sets)
    return (FrictionMap(projection, all(cacheable(item.mapping) for item in own)) if own else None), kinds


def combined(sets: Sequence[FrictionSet]) -> tuple[Callable[..., Any], list[int]]:
    """One compiled `project_friction` for contacts with different sets, and the kind by which it knows each of them."""
    projection: Callable[..., Any] = project_friction
    known: dict[Callable[..., Any], int] = {}
    for item in sets:
        if isinstance(item, ConvexSet) and item.mapping not in known:
            known[item.mapping] = SUPPORT + len(known)
            projection = friction_with(item.mapping, item.dimensions, known[item.mapping], projection)
    return projection, [known[item.mapping] if isinstance(item, ConvexSet) else item.kind for item in sets]
