"""Proximal maps onto convex sets of one's own, which are known by their support mapping alone [thesis2010, 2.3].

    S(d) = a point of K for which <d, S(d)> is largest, |d| = 1;     K holds the origin;     F(λₙ) = λₙ K

The text names the algorithm of Gilbert, Johnson and Keerthi (GJK) for sets that have no formula. It is what is done in
space (s, t, τ), see `gjk`. In the plane there is a better way, because directions have an order. For z outside of K let

    h(d) = <d, z - S(d)>,     g(d) = d x (z - S(d))

h is the distance of z from the supporting line, largest at the direction d* of z - prox(z), and g is its derivative
with respect to the angle of d. Where h > 0 its second derivative is -(h + ρ), with the radius of curvature ρ >= 0 of
K's boundary, so that g falls, and it says how far one is from the solution:

    |S(d) - prox(z)| <= |g(d)|

(for p = S(d) and x = prox(z), <d, x - p> <= 0 and <z - x, p - x> <= 0, so |p - x|² <= <p - z, p - x> <= |g| |p - x|).
GJK stops by a difference of squares of distances instead, which leaves half of the digits of a point on a curved
boundary. If h(d) > 0, d* lies between d and the direction e of z - S(d), less than a right angle apart. Inside of that
bracket the sign of g says on which side d* is, also where h < 0 (<d, z - p> > 0 for all p of K, so that from no point
of K the direction to z is a right angle or more from d). It is narrowed by the normal of the chord between its two
support points (GJK's own choice, which ends at the edges of polygons, exactly) and by the secant of g (which is fast on
curves), in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from ...backends.cpu.compiling import compile_now, function
from ...backends.cpu.templates import cacheable, compiled_project, specialised
from .gjk import nearest_template as _space_nearest_template
from .gjk import polish_template
from .proximal import project_all_template, project_friction, project_interval, project_normal

EPS = 2.0**-52
FAR = 1e100  # times K's unit: from there on the direction of z is all that counts
ROUNDS = 100  # calls of the support mapping for one point, at most; some 15 in practice


def support(dx, dy):  # stand-in
    """A point of K as far as possible in the direction (dx, dy)."""
    return dx, dy


@function
def _unit(x, y):
    """The direction of (x, y), however short or long."""
    larger = max(abs(x), abs(y))
    x, y = x / larger, y / larger
    length = math.sqrt(x * x + y * y)
    return x / length, y / length


@function
def _foot(x, y, lx, ly, rx, ry):
    """The point of the segment from l to r nearest to (x, y)."""
    ex, ey = lx - rx, ly - ry
    square = ex * ex + ey * ey
    along = (x - rx) * ex + (y - ry) * ey
    if not along > 0.0:
        return rx, ry
    if along >= square:
        return lx, ly
    w = along / square
    return rx + w * ex, ry + w * ey


def separate_template(x, y, ux, uy, px, py):
    """A direction d with h(d) > 0, or (0, 0) if (x, y) lies in K: the last chord that its ray (ux, uy) passes through.

    (px, py) is S(u), from which (x, y) is not separated. l and r are support points left and right of the ray.
    """
    lx, ly = support(-uy, ux)
    rx, ry = support(uy, -ux)
    if ux * py - uy * px >= 0.0:
        lx, ly = px, py
    else:
        rx, ry = px, py
    for _ in range(ROUNDS):
        mx, my = ly - ry, rx - lx
        if mx == 0.0 and my == 0.0:
            return 0.0, 0.0
        mx, my = _unit(mx, my)
        if (x - lx) * mx + (y - ly) * my <= 0.0:
            return 0.0, 0.0
        px, py = support(mx, my)
        if (x - px) * mx + (y - py) * my > 0.0:
            return mx, my
        if (px - lx) * mx + (py - ly) * my <= 0.0:
            return 0.0, 0.0
        if ux * py - uy * px >= 0.0:
            lx, ly = px, py
        else:
            rx, ry = px, py
    return 0.0, 0.0


def separate(x, y, ux, uy, px, py):
    """Stand-in: replaced by a set's own."""
    return ux, uy


def nearest_template(normal, zs, zt):
    """The point of normal K nearest to (zs, zt)."""
    larger = max(abs(zs), abs(zt))
    if larger == 0.0 or normal == 0.0:
        return 0.0 * zs, 0.0 * zt
    dx, dy = _unit(zs, zt)
    if larger > FAR * normal:
        x, y = dx * FAR, dy * FAR
    else:
        x, y = zs / normal, zt / normal
    px, py = support(dx, dy)
    if not (x - px) * dx + (y - py) * dy > 0.0:
        dx, dy = separate(x, y, dx, dy, px, py)
        if dx == 0.0 and dy == 0.0:
            return zs, zt
        px, py = support(dx, dy)
    h, g = (x - px) * dx + (y - py) * dy, (y - py) * dx - (x - px) * dy
    if abs(g) <= 4.0 * EPS * (abs(px) + abs(py) + h):
        return normal * px, normal * py
    # From right to left: (ax, ay) with its support point r and g > 0, (bx, by) with l and g < 0.
    ex, ey = _unit(x - px, y - py)
    qx, qy = support(ex, ey)
    f = (y - qy) * ex - (x - qx) * ey
    if g > 0.0:
        ax, ay, rx, ry, right, bx, by, lx, ly, left = dx, dy, px, py, g, ex, ey, qx, qy, f
    else:
        ax, ay, rx, ry, right, bx, by, lx, ly, left = ex, ey, qx, qy, f, dx, dy, px, py, g
    for k in range(ROUNDS):
        if lx == rx and ly == ry:
            break
        chord = k % 2 == 0
        if chord:
            mx, my = _unit(ly - ry, rx - lx)
            chord = ax * my - ay * mx >= 0.0 and mx * by - my * bx >= 0.0
        if not chord:
            w = right / (right - left) if right > 0.0 > left else 0.5
            mx, my = _unit(ax + w * (bx - ax), ay + w * (by - ay))
        px, py = support(mx, my)
        if chord and ((px == lx and py == ly) or (px == rx and py == ry)):
            break  # nothing of K is beyond the chord: it is an edge
        h, g = (x - px) * mx + (y - py) * my, (y - py) * mx - (x - px) * my
        if abs(g) <= 4.0 * EPS * (abs(px) + abs(py) + abs(h)):
            return normal * px, normal * py
        if g < 0.0:
            if mx == bx and my == by:
                break
            bx, by, lx, ly, left = mx, my, px, py, g
        else:
            if mx == ax and my == ay:
                break
            ax, ay, rx, ry, right = mx, my, px, py, g
    s, t = _foot(x, y, lx, ly, rx, ry)
    return normal * s, normal * t


def nearest(normal, zs, zt):
    """Stand-in: replaced by a set's own."""
    return zs, zt


def others(kind, normal, zs, zt, ztau, mu_s, mu_t, bound_tau):
    """Stand-in: replaced by the map onto the other sets."""
    return zs, zt, ztau


KIND = 0


def _plane_template(kind, normal, zs, zt, ztau, mu_s, mu_t, bound_tau):
    """`project_friction` that knows one set in the plane more, times the interval of the spin."""
    if kind != KIND:
        return others(kind, normal, zs, zt, ztau, mu_s, mu_t, bound_tau)
    normal = project_normal(normal)
    s, t = nearest(normal, zs, zt)
    return s, t, project_interval(ztau, bound_tau * normal)


def _space_template(kind, normal, zs, zt, ztau, mu_s, mu_t, bound_tau):
    """`project_friction` that knows one set in (s, t, τ) more; bound_tau is part of the set."""
    if kind != KIND:
        return others(kind, normal, zs, zt, ztau, mu_s, mu_t, bound_tau)
    return nearest(project_normal(normal), zs, zt, ztau)


# --- making maps ------------------------------------------------------------------------------------------------------


@cache
def friction_with(mapping: Callable, dimensions: int, kind: int, rest: Callable = project_friction) -> Callable:
    """`project_friction` that knows the set of this support mapping as `kind`, and all else as `rest` does.

    dimensions  2 for mapping(dx, dy) -> (x, y), 3 for mapping(dx, dy, dτ) -> (x, y, τ)

    It is compiled when a kernel that calls it is: `specialised(kernel, friction_with(...), "project_friction")`.
    """
    if dimensions == 2:
        inner = specialised(nearest_template, specialised(separate_template, mapping, "support"), "separate")
        whole = _plane_template
    else:
        inner = specialised(_space_nearest_template, specialised(polish_template, mapping, "support"), "polish")
        whole = _space_template
    found = specialised(inner, mapping, "support")
    return compiled_project(specialised(specialised(whole, found, "nearest", KIND=kind), rest, "others"))


@cache
def projection_pass(friction: Callable, mapping: Callable) -> Callable:
    """`project_all` with another `project_friction`."""
    return compile_now(specialised(project_all_template, friction, "project_friction"), cache=cacheable(mapping))
