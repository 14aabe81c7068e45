"""Proximal maps onto the legal sets of contact impulses [thesis2010, 2.1.3, 2.2.2 and 2.3], one contact at a time.

    prox_C(z) = the point of the closed convex set C nearest to z                                 (2.43)

    N           {λₙ >= 0}                                                                         (2.24)
    DISC        |(λs, λt)| <= μ λₙ                      isotropic Coulomb friction                (2.27)
    ELLIPSE     (λs/μs)² + (λt/μt)² <= λₙ²              friction along s differs from that along t
    BOX         |λs| <= μs λₙ, |λt| <= μt λₙ            the pyramid of complementarity problems   (2.2.2)
    COUPLED     |(λs, λt)|²/μ² + λτ²/β² <= λₙ²          what spins has less left against sliding
    NONE        {0}
    SUPPORT, SUPPORT + 1, ...                           sets of one's own, see `convex`

All but COUPLED are taken times |λτ| <= β λₙ, Contensou's friction against spin, with β = 2/3 μ (2.37). What the text
leaves open, and how it is read here:

- (2.43) says "min" where the point is meant at which the minimum is attained.
- F depends on λₙ (2.27), and (2.74) does not say on which. It is the one that is handed over; solvers hand over the one
  that they have just projected onto N, so that the law of friction holds whenever one stops.
- (2.37) bounds λτ from above only. Spin has two directions: it bounds |λτ|.
- (2.35) and (2.36) measure torque and spin by the radius of the contact, λτ = τₙ/R and vτ = ω R, but the Jacobian
  (2.61) has no R in its last row, as if R were one metre. Maps do not see R: whoever calls has put it into λτ and vτ.
- Factors r are gathered into "a diagonal matrix" R in (2.74), while Theorem 2.1 is about a number r > 0. With one r
  along s and another along t, a fixed point of λ = prox_F(λ - R v) has -R v normal to F, not -v: friction does not
  oppose the slip, and less is dissipated than could be (tests/rigid/test_proximal_contacts.py has a counter-example).
  BOX alone bears any diagonal, because it is a product of intervals. DISC, ELLIPSE and sets of one's own in the plane
  need one r for s and t, and may have another for the spin. COUPLED and sets of one's own in space need one for all.

What is not a number stays so: it is for the solver to see that it has diverged.
"""

from __future__ import annotations

import math

from ...backends.cpu.compiling import compiled, function

DISC, ELLIPSE, BOX, NONE, COUPLED, SUPPORT = range(6)

THINNEST = 2.0**-100  # ratio of half axes below which an ellipse is taken for a segment
FARTHEST = 300  # powers of two of a half axis beyond which a point is as good as infinitely far away
ROUNDS = 150  # of Newton's method, at most; less than ten for half axes of a ratio of 10


@function
def project_normal(z):
    """The point of N = {λₙ >= 0} nearest to z (2.53)."""
    return 0.0 if z <= 0.0 else z


@function
def project_interval(z, bound):
    """The number of [-bound, bound] nearest to z (2.44)."""
    if z > bound:
        return bound
    return -bound if z < -bound else z


# --- the disc ---------------------------------------------------------------------------------------------------------


@function
def project_disc(radius, x, y):
    """The point of the disc nearest to (x, y)."""
    square = x * x + y * y
    if 1e-280 < square < 1e280:  # neither lost nor beyond all numbers
        if square <= radius * radius:
            return x, y
        shrink = radius / math.sqrt(square)
        return x * shrink, y * shrink
    if (x == 0.0 and y == 0.0) or radius == 0.0:
        return 0.0 * x, 0.0 * y
    size = math.frexp(max(abs(x), abs(y)))[1]  # powers of two change no digit
    x, y, reach = math.ldexp(x, -size), math.ldexp(y, -size), math.ldexp(radius, -size)
    square = x * x + y * y
    if square <= reach * reach:
        return math.ldexp(x, size), math.ldexp(y, size)
    shrink = radius / math.sqrt(square)
    return x * shrink, y * shrink


# --- the ellipse ------------------------------------------------------------------------------------------------------
#
# With x, y >= 0 outside of an ellipse of half axes a >= b the nearest point is (a c, b u),
#
#     c = x / (a + q b),     u = y / (b + q a),     c² + u² = 1,     q > 0,
#
# which is (2.45) with the multiplier a b q. Lengths appear once in each term, never squared, so that q has no unit and
# nothing overflows for axes of very different lengths. c² + u² - 1 loses all digits of u where c is nearly 1, near the
# tips of thin ellipses. Instead u² is compared with (1 - c)(1 + c), and
#
#     1 - c = (a - x + q b) / (a + q b) = (gap + p b) / (a + q b),      q = least + p,    p >= 0,
#
# where `least` is the smallest q for which neither c nor u is above 1: sums of positive numbers only. Newton's method
# for 1/√(c² + u²) = 1, which is concave and nearly straight in q, comes from below and never passes the root.


@function
def _onto_ellipse(a, b, x, y):
    """The point of the ellipse (c, u) nearest to (x, y) outside of it; a >= b > 0, x >= 0 and y >= 0; and rounds."""
    if y == 0.0:
        return 1.0, 0.0, 0
    if x == 0.0:
        return 0.0, 1.0, 0
    by_x, by_y = (x - a) / b, (y - b) / a
    least = max(0.0, by_x, by_y)
    gap = 0.0 if least == by_x else max(0.0, (a - x) + least * b)
    p, step, rounds = 0.0, math.inf, 0
    along, across = a + least * b, b + least * a
    while step > 1e-9 * p and rounds < ROUNDS:  # the digits that are right double
        c, u = x / along, y / across
        over = u * u - (gap + p * b) / along * (1.0 + c)  # c² + u² - 1
        if not over > 0.0:
            break
        step = over * (1.0 + over) / ((1.0 + math.sqrt(1.0 + over)) * (c * c * b / along + u * u * a / across))
        p += step
        along, across = a + (least + p) * b, b + (least + p) * a
        rounds += 1
    return x / along, y / across, rounds


@function
def _project_long(a, b, x, y):
    """The point of an ellipse of half axes a >= b nearest to (x, y)."""
    if b <= THINNEST * a:
        return project_interval(x, a), 0.0 * y
    up, right = abs(y), abs(x)
    if right < a:
        v = up / b
        if v * v <= (a - right) / a * ((a + right) / a):
            return x, y
    if not (1e-90 < a < 1e90 and right < 1e120 and up < 1e120):  # powers of two, which change no digit
        size = math.frexp(a)[1]
        far = max(math.frexp(max(right, up))[1] - FARTHEST, size)
        right, up = math.ldexp(right, -far), math.ldexp(up, -far)
        c, u, _ = _onto_ellipse(math.ldexp(a, -size), math.ldexp(b, -size), right, up)
    else:
        c, u, _ = _onto_ellipse(a, b, right, up)
    return math.copysign(a * c, x), math.copysign(b * u, y)


@function
def project_ellipse(a, b, x, y):
    """The point of the ellipse (s/a)² + (t/b)² <= 1 nearest to (x, y). An axis may be 0."""
    if a < b:
        t, s = _project_long(b, a, y, x)
        return s, t
    return _project_long(a, b, x, y)


# --- friction ---------------------------------------------------------------------------------------------------------


@function
def _project_coupled(radius, bound, zs, zt, ztau):
    """The ellipsoid is round in the plane, so that all happens in the plane of the spin and of (zs, zt)."""
    slip = math.hypot(zs, zt)
    reached, tau = project_ellipse(radius, bound, slip, ztau)
    if slip == reached:
        return zs, zt, tau
    return zs / slip * reached, zt / slip * reached, tau


@function
def project_friction(kind, normal, zs, zt, ztau, mu_s, mu_t, bound_tau):
    """(λs, λt, λτ) of F(λₙ) nearest to (zs, zt, ztau) (2.54); `normal` is λₙ, coefficients are for λₙ = 1.

    DISC and COUPLED read mu_s. A kind that is not known gives NaN.
    """
    normal = project_normal(normal)
    a, b, bound = mu_s * normal, mu_t * normal, bound_tau * normal
    if kind == COUPLED:
        return _project_coupled(a, bound, zs, zt, ztau)
    tau = project_interval(ztau, bound)
    if kind == DISC:
        s, t = project_disc(a, zs, zt)
    elif kind == ELLIPSE:
        s, t = project_ellipse(a, b, zs, zt)
    elif kind == BOX:
        s, t = project_interval(zs, a), project_interval(zt, b)
    elif kind == NONE:
        s, t = 0.0 * zs, 0.0 * zt
    else:
        s, t, tau = math.nan, math.nan, math.nan
    return s, t, tau


def project_all_template(kind, normal, z, mu_s, mu_t, bound_tau, out):
    """`project_friction` of many points: z and out (m, 3), normal (m,)."""
    for k in range(len(normal)):
        s, t, tau = project_friction(kind, normal[k], z[k, 0], z[k, 1], z[k, 2], mu_s, mu_t, bound_tau)
        out[k, 0], out[k, 1], out[k, 2] = s, t, tau


project_all = compiled(project_all_template)


@compiled
def ellipse_rounds(a, b, x, y):
    """How many rounds of Newton's method (x, y) outside of the ellipse take: for tests."""
    return _onto_ellipse(a, b, x, y)[2]
