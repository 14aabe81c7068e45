"""Bending that yields: hinges and plates whose shape at rest follows them beyond a curvature.

The law is that of sheets whose curvature at rest yields [narain2013], with isotropic hardening, a viscous time and the
return to the yield surface of [simo1998, chapter 1]. κ is the curvature, κ̄ that at rest, κ - κ̄ what is elastic of it,
α the sum of all that has flowed:

    |κ - κ̄| <= κ_y + H α                                         elastic: nothing flows
    γ' = (|κ - κ̄| - κ_y - H α) / τ beyond,   κ̄' = γ' (κ - κ̄)/|κ - κ̄|,   α' = γ'

κ_y is the yield curvature (1/m), 2 ε_y/t of a sheet of the thickness t whose surface yields at the strain ε_y; H is the
hardening (1), and τ a time (s), with 0 for a sheet that yields at once. While κ is held, f = |κ - κ̄| - κ_y - H α falls
as exp(-(1 + H) t/τ), so that a step of h seconds has the closed form

    Δγ = f/(1 + H) · (1 - exp(-(1 + H) h/τ)),                     f/(1 + H) for τ = 0.

It is taken after a step, from the positions where that ended: the energy is the same while it is minimised, and is not
raised by the flow, which goes from κ̄ towards κ along the normal of the energy below. A strip that is bent to 1/r and
let go keeps (1/r - κ_y)/(1 + H).

A hinge measures v = Σ c_k x_k, which is (A₁+A₂) κ n with the normal n on a sheet that does not stretch; a plate
measures x_uu = κ_uu n, and so on, whose norm is that of the energy. Bending away from a curvature at rest has the
energy

    w/2 |z - κ̄ n|²,     n the nearest unit vector to z among those within 30° of the normal at the end of the last step.

With any normal the sheet would not know on which side a crease is; with the last one it could not turn. So a crease may
turn by 30° in a step without feeling it, and has a side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.cpu.compiling import compiled, inlined
from ..backends.cpu.vectors import cross, dot, edge, like, plus, put4, times
from ..checks import is_number, shown
from ..errors import InputError
from .base import Prepared, Role, constraint
from .dihedral import angles, value
from .hinge import coefficients
from .plate import prepared_plates

COSINE, SINE = float(np.cos(np.pi / 6)), 0.5  # how far a crease may turn in a step
FLAT = 1e-7  # rad: a fold below this is none
LAW = ("yield", "hardening", "time")
TINY = 1e-30


# --- its maths --------------------------------------------------------------------------------------------------------


@inlined
def flowed(size, yields, hardening, time, before, h):
    """Δγ of a step of h seconds that ends with the elastic part `size`, after `before` has flowed."""
    beyond = size - yields - hardening * before
    if not beyond > 0.0:
        return 0.0
    share = 1.0 if time == 0.0 else -np.expm1(-(1.0 + hardening) * h / time)
    return share * beyond / (1.0 + hardening)


@inlined
def nearest_normal(g, n):
    """The unit vector nearest to the direction of g within 30° of the unit vector n."""
    size, along = np.sqrt(dot(g, g)), dot(g, n)
    one = like(size, 1.0)
    if size <= like(size, TINY):  # flat: none is nearer than another
        return n
    if along >= like(size, COSINE) * size:
        return times(one / size, g)
    t = plus(g, times(-along, n))
    across = np.sqrt(dot(t, t))
    if across <= like(size, 1e-6) * size:  # straight behind: any direction is as near as another
        zero = like(size, 0.0)
        t = cross(n, (one, zero, zero)) if abs(n[0]) < like(size, 0.6) else cross(n, (zero, one, zero))
        across = np.sqrt(dot(t, t))
    return plus(times(like(size, COSINE), n), times(like(size, SINE) / across, t))


@inlined
def seen_normal(g, n):
    """The normal that curvatures are told by: that of the energy, g, where it has one; else n, of the triangles."""
    size, along = np.sqrt(dot(g, g)), dot(g, n)
    return times(1.0 / size, g) if along > 0.5 * size and size > TINY else n


@inlined
def hinge_normal(x):
    """The mean unit normal of a hinge's two triangles; zero where it has none."""
    e, a, b = edge(x, 1), edge(x, 2), edge(x, 3)
    m, n = cross(e, a), cross(b, e)
    mm, nn = dot(m, m), dot(n, n)
    if min(mm, nn) <= TINY:
        return times(0.0, e)
    both = plus(times(1.0 / np.sqrt(mm), m), times(1.0 / np.sqrt(nn), n))
    size = np.sqrt(dot(both, both))
    return times(1.0 / size if size > 1e-3 else 0.0, both)


@compiled
def hinge_normals(rest):
    """`hinge_normal` of hinges (m, 4, 3)."""
    out = np.empty((len(rest), 3))
    for m in range(len(rest)):
        out[m, 0], out[m, 1], out[m, 2] = hinge_normal(rest[m])
    return out


# --- what they store, and their names ---------------------------------------------------------------------------------


def check_law(yields: Any, hardening: Any, time: Any) -> None:
    """A curvature, a number and a time."""
    named = (("crease, the yield curvature,", yields, "1/m"), ("hardening", hardening, ""), ("creep", time, "s"))
    for name, given, unit in named:
        if not is_number(given) or given < 0:
            raise InputError(f"{name} must be zero or positive{unit and f', in {unit}'}, not {shown(given)}")


def _law(m: int, yields: np.ndarray, hardening: float, creep: float) -> np.ndarray:
    return np.stack([yields, np.full(m, float(hardening)), np.full(m, float(creep))], axis=1)


@constraint(
    "creased-hinge", vertices=4, rows=1, parameters=("rest_size", "x", "y", "z", "flowed", *LAW), flowing=5, unit="N·m"
)
class CreasedHinge:
    """A hinge that yields: resists bending away from a fold that follows it beyond a curvature; stiffness in N·m."""

    @staticmethod
    def prepare(rest: np.ndarray, crease: float = 50.0, hardening: float = 0.0, creep: float = 0.0) -> Prepared:
        """The operator of `Hinge`, the signed size of its vector at rest, and the law, with the yield in that measure.

        `crease`: the yield curvature κ_y (1/m); `hardening`: H; `creep`: the time τ (s), 0 for at once.
        """
        check_law(crease, hardening, creep)
        rows, area = coefficients(rest)
        normals = hinge_normals(rest)
        size = np.einsum("mk,mkc,mc->m", rows, rest, normals)
        size[np.abs(angles(rest)) < FLAT] = 0.0
        state = np.concatenate([size[:, None], normals, np.zeros((len(rest), 1))], axis=1)
        law = _law(len(rest), crease * area, hardening, creep)
        return Prepared(rows[:, None, :], np.concatenate([state, law], axis=1), 3.0 / area)

    @staticmethod
    def project(z, parameters, p):
        """The vector of the size at rest in the direction of the nearest normal."""
        size = parameters[0]
        if size == like(size, 0.0):
            p[0, 0], p[0, 1], p[0, 2] = size, size, size
        else:
            g = (size * z[0, 0], size * z[0, 1], size * z[0, 2])
            n = nearest_normal(g, (parameters[1], parameters[2], parameters[3]))
            p[0, 0], p[0, 1], p[0, 2] = size * n[0], size * n[1], size * n[2]

    @staticmethod
    def flow(x, operator, parameters, h):
        """The return to the yield surface, and the normal that the next step begins with."""
        e, a, b = edge(x, 1), edge(x, 2), edge(x, 3)
        z = plus(plus(times(operator[0, 1], e), times(operator[0, 2], a)), times(operator[0, 3], b))
        rest = parameters[0]
        n = hinge_normal(x)
        if dot(n, n) == 0.0:  # folded onto itself: as it was
            n = (parameters[1], parameters[2], parameters[3])
        g = times(rest if rest != 0.0 else dot(z, n), z)
        n = seen_normal(g, n)
        away = dot(z, nearest_normal(g, n)) - rest
        more = flowed(abs(away), parameters[5], parameters[6], parameters[7], parameters[4], h)
        if more == 0.0 and rest == 0.0:
            return False
        parameters[0] += more if away > 0.0 else -more
        parameters[1], parameters[2], parameters[3] = n
        parameters[4] += more
        return True


@constraint(
    "creased-plate",
    vertices=6,
    rows=3,
    parameters=("warp", "weft", "twist", "x", "y", "z", "flowed", *LAW),
    flowing=7,
    unit="N·m",
)
class CreasedPlate:
    """A plate that yields: resists bending away from curvatures that follow it; flexural rigidity in N·m."""

    @staticmethod
    def prepare(
        rest: np.ndarray,
        weft: float = 1.0,
        twist: float = 1.0,
        along: object = (1.0, 0.0, 0.0),
        crease: float = 50.0,
        hardening: float = 0.0,
        creep: float = 0.0,
    ) -> Prepared:
        """As of `CurvedPlate`; and the law, as of `CreasedHinge`."""
        check_law(crease, hardening, creep)
        rows, area, normal = prepared_plates(rest, weft, twist, along)
        curvature = np.einsum("mrk,mkc,mc->mr", rows, rest, normal)
        curvature[np.linalg.norm(curvature, axis=1) * np.sqrt(area) < FLAT] = 0.0
        law = _law(len(rest), np.full(len(rest), float(crease)), hardening, creep)
        state = np.concatenate([curvature, normal, np.zeros((len(rest), 1))], axis=1)
        return Prepared(rows, np.concatenate([state, law], axis=1), area)

    @staticmethod
    def project(z, parameters, p):
        """The curvatures at rest in the direction of the nearest normal."""
        a, b, c = parameters[0], parameters[1], parameters[2]
        zero = like(a, 0.0)
        if a == zero and b == zero and c == zero:
            for r in range(3):
                p[r, 0], p[r, 1], p[r, 2] = zero, zero, zero
        else:
            g = (
                a * z[0, 0] + b * z[1, 0] + c * z[2, 0],
                a * z[0, 1] + b * z[1, 1] + c * z[2, 1],
                a * z[0, 2] + b * z[1, 2] + c * z[2, 2],
            )
            n = nearest_normal(g, (parameters[3], parameters[4], parameters[5]))
            for r in range(3):
                p[r, 0], p[r, 1], p[r, 2] = parameters[r] * n[0], parameters[r] * n[1], parameters[r] * n[2]

    @staticmethod
    def flow(x, operator, parameters, h):
        """The return to the yield surface, and the normal that the next step begins with."""
        z = np.zeros((3, 3))
        for k in range(1, 6):
            for d in range(3):
                away = x[k, d] - x[0, d]
                for r in range(3):
                    z[r, d] += operator[r, k] * away
        n = cross(edge(x, 1), edge(x, 2))
        area = np.sqrt(dot(n, n))
        n = times(1.0 / area, n) if area > TINY else (parameters[3], parameters[4], parameters[5])
        a, b, c = parameters[0], parameters[1], parameters[2]
        bent = a != 0.0 or b != 0.0 or c != 0.0
        if bent:
            g = (
                a * z[0, 0] + b * z[1, 0] + c * z[2, 0],
                a * z[0, 1] + b * z[1, 1] + c * z[2, 1],
                a * z[0, 2] + b * z[1, 2] + c * z[2, 2],
            )
            n = seen_normal(g, n)
            by = nearest_normal(g, n)
        else:
            by = n
        square = 0.0
        for r in range(3):
            away = z[r, 0] * by[0] + z[r, 1] * by[1] + z[r, 2] * by[2] - parameters[r]
            z[r, 0] = away
            square += away * away
        size = np.sqrt(square)
        more = flowed(size, parameters[7], parameters[8], parameters[9], parameters[6], h)
        if more == 0.0 and not bent:
            return False
        for r in range(3):
            parameters[r] += more * z[r, 0] / max(size, TINY)
        parameters[3], parameters[4], parameters[5] = n
        parameters[6] += more
        return True


@constraint(
    "creased-dihedral",
    vertices=4,
    rows=0,
    parameters=("rest_angle", "flowed", *LAW),
    role=Role.POSITION,
    flowing=2,
    unit="N·m",
)
class CreasedDihedral:
    """Keeps an angle that follows beyond a curvature, as `dihedral` keeps its own; newton; stiffness in N·m."""

    @staticmethod
    def prepare(rest: np.ndarray, crease: float = 50.0, hardening: float = 0.0, creep: float = 0.0) -> Prepared:
        """As of `Dihedral`; and the law, as of `CreasedHinge`, with the angle κ (A₁+A₂)/l for the curvature κ."""
        check_law(crease, hardening, creep)
        _, area = coefficients(rest)
        length = np.linalg.norm(rest[:, 1] - rest[:, 0], axis=1)
        law = _law(len(rest), crease * area / length, hardening, creep)
        state = np.stack([angles(rest), np.zeros(len(rest))], axis=1)
        return Prepared(parameters=np.concatenate([state, law], axis=1), measure=3.0 * length**2 / area)

    @staticmethod
    def evaluate(x, parameters, gradient):
        """C = θ - θ₀ at the positions x (4, 3); its gradient goes to `gradient`."""
        c, g0, g1, g2, g3 = value(edge(x, 1), edge(x, 2), edge(x, 3), parameters[0])
        put4(gradient, g0, g1, g2, g3)
        return c

    @staticmethod
    def flow(x, operator, parameters, h):
        """The return to the yield surface."""
        away = value(edge(x, 1), edge(x, 2), edge(x, 3), parameters[0])[0]
        more = flowed(abs(away), parameters[2], parameters[3], parameters[4], parameters[1], h)
        if more == 0.0:
            return False
        parameters[0] += more if away > 0.0 else -more
        parameters[1] += more
        return True
