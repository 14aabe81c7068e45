"""Position based dynamics: every constraint moves its own vertices until it holds [mueller2007; fratarcangeli2013].

A constraint C(x) = 0 over vertices of inverse mass w_k moves them along its gradient,

    Δx_k = w_k Δλ ∇_k C,    Δλ = -κ C / Σ w_j |∇_j C|²                 stiffness κ in [0, 1]: [fratarcangeli2013, Eq. 6]
                            Δλ = -(C + α λ) / (Σ w_j |∇_j C|² + α)     compliance α = 1/(w h²): [macklin2016, Eq. 18]

λ adds up the Δλ of a step: with compliance, and as far as gradients do not turn, the fixed point is the minimum of the
step's energy, whose stiffness is the model's; iterations that end before it leave things softer. (Eq. 12 and 13 of the
paper print the volume's correction with the opposite sign.)

Three ways to apply them:

    in place   one constraint after the other, those of a colour in parallel                  Gauss-Seidel
    slots      each correction goes to a slot of its vertex and is scaled; `gather_steps` adds them up       Jacobi
    vertex     `vertex_*`: all corrections of a vertex are computed and summed there, vertices of a colour in parallel

The table of a pass: vertices, targets (the vertices again, or slots), parameters, softness α, λ, q, out (q again, or
slots), settings (stiffness κ, compliant?, slots?), share of each vertex, partial sums of (C + α λ)², operators.
q has the inverse mass in its fourth lane; a slot has there the λ of its corner, because corners that are scaled
differently have different ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ....backends.cpu.arguments import GRAIN, doubles, floats, ints, phase_kernel, rows
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import at, dot4, lane4, load4, make4, store4
from ....backends.cpu.templates import cacheable, specialised
from .positional_wide import WIDE
from .steps import weight_of

LABEL = "constraints"  # what phases of these kernels are reported under

VERTICES = ROWS = PARAMETERS = 0  # stand-ins for what `specialised` puts into copies of the templates
KAPPA, COMPLIANT, SLOTS = 0, 1, 2  # places in the settings
TINY, ZERO = np.float32(1e-30), np.float32(0.0)


def gradients():  # stand-in likewise
    """C and its gradients."""


def evaluate(x, parameters, gradient):
    """C and its gradient."""


def project(z, parameters, p):
    """The nearest point of the constraint's set."""


def value_of(c, vertices, operator, parameters, q, x, z, p, g):
    """C, and its gradient in g."""


@inlined
def multiplier(value, weight, soft, before, kappa, compliant):
    """Δλ of one constraint; 0 where nothing can move."""
    if compliant:
        total = weight + soft
        return -(value + soft * before) / total if total > TINY else np.float32(0.0)
    return -kappa * value / weight if weight > TINY else np.float32(0.0)


@inlined
def count_square(sums, c, begin, total, value):
    """Add a square to the sum of its GRAIN constraints, which does not depend on how a phase is cut into chunks."""
    total = value * value if c % GRAIN == 0 or c == begin else total + value * value
    sums[c // GRAIN] = total
    return total


@inlined
def into_slot(out, slot, share, step, lam):
    """Put a vertex's scaled correction into its slot, and λ into the fourth lane."""
    store4(out, slot, share * step + make4(np.float32(0.0), np.float32(0.0), np.float32(0.0), lam))


def _pair_pass(
    begin, end, iteration, vertices: ints, targets: ints, parameters: floats, soft: floats, lambdas: floats, q: rows,
    out: rows, settings: floats, shares: floats, sums: doubles, operator: floats,
):  # fmt: skip
    kappa, compliant, slots = settings[KAPPA], settings[COMPLIANT] != 0, settings[SLOTS] != 0
    total = 0.0
    for c in range(begin, end):
        i, j = at(vertices, 2 * c), at(vertices, 2 * c + 1)
        xi, xj = load4(q, i), load4(q, j)
        value, gi, gj = gradients(xi, xj, operator, parameters, c)
        wi, wj = lane4(xi, 3), lane4(xj, 3)
        weight = wi * dot4(gi, gi) + wj * dot4(gj, gj)
        missing = value
        if compliant:
            missing += at(soft, c) * (lane4(load4(out, at(targets, 2 * c)), 3) if slots else at(lambdas, c))
        total = count_square(sums, c, begin, total, missing)
        if slots:
            ti, tj = at(targets, 2 * c), at(targets, 2 * c + 1)
            a, si, sj = at(soft, c), at(shares, i), at(shares, j)
            bi, bj = lane4(load4(out, ti), 3), lane4(load4(out, tj), 3)
            di = multiplier(value, weight, a, bi, kappa, compliant)
            dj = multiplier(value, weight, a, bj, kappa, compliant)
            into_slot(out, ti, si, (wi * di) * gi, bi + si * di)
            into_slot(out, tj, sj, (wj * dj) * gj, bj + sj * dj)
        else:
            if compliant:
                before = at(lambdas, c)
                delta = multiplier(value, weight, at(soft, c), before, kappa, True)
                lambdas[c] = before + delta
            else:
                delta = multiplier(value, weight, kappa, kappa, kappa, False)
            store4(out, i, xi + (wi * delta) * gi)
            store4(out, j, xj + (wj * delta) * gj)


def _quad_pass(
    begin, end, iteration, vertices: ints, targets: ints, parameters: floats, soft: floats, lambdas: floats, q: rows,
    out: rows, settings: floats, shares: floats, sums: doubles, operator: floats,
):  # fmt: skip
    kappa, compliant, slots = settings[KAPPA], settings[COMPLIANT] != 0, settings[SLOTS] != 0
    total = 0.0
    for c in range(begin, end):
        i, j = at(vertices, 4 * c), at(vertices, 4 * c + 1)
        k, m = at(vertices, 4 * c + 2), at(vertices, 4 * c + 3)
        xi, xj, xk, xm = load4(q, i), load4(q, j), load4(q, k), load4(q, m)
        value, gi, gj, gk, gm = gradients(xi, xj, xk, xm, operator, parameters, c)
        wi, wj, wk, wm = lane4(xi, 3), lane4(xj, 3), lane4(xk, 3), lane4(xm, 3)
        weight = wi * dot4(gi, gi) + wj * dot4(gj, gj) + wk * dot4(gk, gk) + wm * dot4(gm, gm)
        missing = value
        if compliant:
            missing += at(soft, c) * (lane4(load4(out, at(targets, 4 * c)), 3) if slots else at(lambdas, c))
        total = count_square(sums, c, begin, total, missing)
        if slots:
            for corner in range(4):
                v, target = at(vertices, 4 * c + corner), at(targets, 4 * c + corner)
                g = gi if corner == 0 else gj if corner == 1 else gk if corner == 2 else gm
                before, share = lane4(load4(out, target), 3), at(shares, v)
                delta = multiplier(value, weight, at(soft, c), before, kappa, compliant)
                into_slot(out, target, share, (lane4(load4(q, v), 3) * delta) * g, before + share * delta)
        else:
            if compliant:
                before = at(lambdas, c)
                delta = multiplier(value, weight, at(soft, c), before, kappa, True)
                lambdas[c] = before + delta
            else:
                delta = multiplier(value, weight, kappa, kappa, kappa, False)
            store4(out, i, xi + (wi * delta) * gi)
            store4(out, j, xj + (wj * delta) * gj)
            store4(out, k, xk + (wk * delta) * gk)
            store4(out, m, xm + (wm * delta) * gm)


def _any_pass(
    begin, end, iteration, vertices: ints, targets: ints, parameters: floats, soft: floats, lambdas: floats, q: rows,
    out: rows, settings: floats, shares: floats, sums: doubles, operator: floats,
):  # fmt: skip
    kappa, compliant, slots = settings[KAPPA], settings[COMPLIANT] != 0, settings[SLOTS] != 0
    x, g = np.empty((VERTICES, 3), np.float32), np.empty((VERTICES, 3), np.float32)
    z, p = np.empty((ROWS, 3), np.float32), np.empty((ROWS, 3), np.float32)
    total = 0.0
    for c in range(begin, end):
        value = value_of(c, vertices, operator, parameters, q, x, z, p, g)
        weight = np.float32(0.0)
        for k in range(VERTICES):
            square = g[k, 0] * g[k, 0] + g[k, 1] * g[k, 1] + g[k, 2] * g[k, 2]
            weight += q[vertices[c * VERTICES + k], 3] * square
        missing = value
        if compliant:
            missing += soft[c] * (out[targets[c * VERTICES], 3] if slots else lambdas[c])
        total = count_square(sums, c, begin, total, missing)
        before, delta = np.float32(0.0), np.float32(0.0)
        if not slots:
            before = lambdas[c] if compliant else np.float32(0.0)
            delta = multiplier(value, weight, soft[c], before, kappa, compliant)
            if compliant:
                lambdas[c] = before + delta
        for k in range(VERTICES):
            i, target = vertices[c * VERTICES + k], targets[c * VERTICES + k]
            w = q[i, 3]
            if slots:
                before = out[target, 3]
                delta = multiplier(value, weight, soft[c], before, kappa, compliant)
                for d in range(3):
                    out[target, d] = shares[i] * (w * delta * g[k, d])
                out[target, 3] = before + shares[i] * delta
            else:
                for d in range(3):
                    out[target, d] += w * delta * g[k, d]


# --- vertex by vertex ----------------------------------------------------------------------------------------------
# Table: the vertices in the order of their colours, where the incidences of each begin, incidences (constraint x
# corners + corner), then vertices, parameters, softness, λ of every incidence, q, the sums, settings, shares,
# operators, and ω of the iterations in turn, the last of which holds for all later ones.


def _quad_vertex(
    begin, end, iteration, order: ints, starts: ints, incidences: ints, vertices: ints, parameters: floats,
    soft: floats, lambdas: floats, q: rows, moved: rows, settings: floats, shares: floats, operator: floats,
    weights: floats,
):  # fmt: skip
    kappa, compliant = settings[KAPPA], settings[COMPLIANT] != 0
    omega = weight_of(weights, iteration)
    for place in range(begin, end):
        v = at(order, place)
        acc = load4(moved, v)
        share = omega * at(shares, v)
        for e in range(at(starts, v), at(starts, v + 1)):
            corner, c = at(incidences, e) % 4, at(incidences, e) // 4
            xi, xj = load4(q, at(vertices, 4 * c)), load4(q, at(vertices, 4 * c + 1))
            xk, xm = load4(q, at(vertices, 4 * c + 2)), load4(q, at(vertices, 4 * c + 3))
            value, gi, gj, gk, gm = gradients(xi, xj, xk, xm, operator, parameters, c)
            wi, wj, wk, wm = lane4(xi, 3), lane4(xj, 3), lane4(xk, 3), lane4(xm, 3)
            weight = wi * dot4(gi, gi) + wj * dot4(gj, gj) + wk * dot4(gk, gk) + wm * dot4(gm, gm)
            before = at(lambdas, e)
            delta = multiplier(value, weight, at(soft, c), before, kappa, compliant)
            lambdas[e] = before + share * delta
            g = gi if corner == 0 else gj if corner == 1 else gk if corner == 2 else gm
            if compliant:
                value += at(soft, c) * before
            acc += delta * g + make4(ZERO, ZERO, ZERO, np.float32(0.25) * value * value)
        store4(moved, v, acc)


def _pair_vertex(
    begin, end, iteration, order: ints, starts: ints, incidences: ints, vertices: ints, parameters: floats,
    soft: floats, lambdas: floats, q: rows, moved: rows, settings: floats, shares: floats, operator: floats,
    weights: floats,
):  # fmt: skip
    kappa, compliant = settings[KAPPA], settings[COMPLIANT] != 0
    omega = weight_of(weights, iteration)
    for place in range(begin, end):
        v = at(order, place)
        acc = load4(moved, v)
        share = omega * at(shares, v)
        for e in range(at(starts, v), at(starts, v + 1)):
            corner, c = at(incidences, e) % 2, at(incidences, e) // 2
            xi, xj = load4(q, at(vertices, 2 * c)), load4(q, at(vertices, 2 * c + 1))
            value, gi, gj = gradients(xi, xj, operator, parameters, c)
            weight = lane4(xi, 3) * dot4(gi, gi) + lane4(xj, 3) * dot4(gj, gj)
            before = at(lambdas, e)
            delta = multiplier(value, weight, at(soft, c), before, kappa, compliant)
            lambdas[e] = before + share * delta
            if compliant:
                value += at(soft, c) * before
            acc += delta * (gi if corner == 0 else gj) + make4(ZERO, ZERO, ZERO, np.float32(0.5) * value * value)
        store4(moved, v, acc)


def _any_vertex(
    begin, end, iteration, order: ints, starts: ints, incidences: ints, vertices: ints, parameters: floats,
    soft: floats, lambdas: floats, q: rows, moved: rows, settings: floats, shares: floats, operator: floats,
    weights: floats,
):  # fmt: skip
    kappa, compliant = settings[KAPPA], settings[COMPLIANT] != 0
    omega = weight_of(weights, iteration)
    x, g = np.empty((VERTICES, 3), np.float32), np.empty((VERTICES, 3), np.float32)
    z, p = np.empty((ROWS, 3), np.float32), np.empty((ROWS, 3), np.float32)
    for place in range(begin, end):
        v = order[place]
        for e in range(starts[v], starts[v + 1]):
            corner, c = incidences[e] % VERTICES, incidences[e] // VERTICES
            value = value_of(c, vertices, operator, parameters, q, x, z, p, g)
            weight = np.float32(0.0)
            for k in range(VERTICES):
                square = g[k, 0] * g[k, 0] + g[k, 1] * g[k, 1] + g[k, 2] * g[k, 2]
                weight += q[vertices[c * VERTICES + k], 3] * square
            before = lambdas[e]
            delta = multiplier(value, weight, soft[c], before, kappa, compliant)
            lambdas[e] = before + omega * shares[v] * delta
            for d in range(3):
                moved[v, d] += delta * g[corner, d]
            if compliant:
                value += soft[c] * before
            moved[v, 3] += value * value / np.float32(VERTICES)


# --- C of constraints that have no form of their own above ----------------------------------------------------------


def _projected_value(c, vertices, operator, parameters, q, x, z, p, g):
    """C = ‖A x - p‖ and its gradient Aᵀ (A x - p) / C: p is the nearest point, so its own derivative drops out."""
    first = vertices[c * VERTICES]
    for r in range(ROWS):
        row, sums = (c * ROWS + r) * VERTICES, np.float32(0.0)
        for k in range(VERTICES):
            sums += operator[row + k]
        # Differences first, so that nothing is lost far from the origin; what is left of the sums is noise, if small.
        if abs(sums) < np.float32(1e-5) * abs(operator[row]):
            sums = np.float32(0.0)
        for d in range(3):
            total = sums * q[first, d]
            for k in range(1, VERTICES):
                total += operator[row + k] * (q[vertices[c * VERTICES + k], d] - q[first, d])
            z[r, d] = total
    project(z, parameters[c * PARAMETERS : (c + 1) * PARAMETERS], p)
    square = np.float32(0.0)
    for r in range(ROWS):
        for d in range(3):
            z[r, d] -= p[r, d]
            square += z[r, d] * z[r, d]
    value = np.sqrt(square)
    scale = np.float32(1.0) / value if value > np.float32(1e-12) else np.float32(0.0)
    for k in range(VERTICES):
        for d in range(3):
            total = np.float32(0.0)
            for r in range(ROWS):
                total += operator[(c * ROWS + r) * VERTICES + k] * z[r, d]
            g[k, d] = scale * total
    return value


def _evaluated_value(c, vertices, operator, parameters, q, x, z, p, g):
    """C(x) as the constraint says."""
    for k in range(VERTICES):
        for d in range(3):
            x[k, d] = q[vertices[c * VERTICES + k], d]
    return np.float32(evaluate(x, parameters[c * PARAMETERS : (c + 1) * PARAMETERS], g))


# --- putting templates and functions together -----------------------------------------------------------------------


@cache
def fast_kernel(function: Callable, vertices: int, *, by_vertex: bool, coloured: bool = False) -> phase_kernel:
    """The pass of a constraint whose gradients are given row by row, over 2 or 4 vertices.

    `coloured`: in place, and neighbours in the list share no vertex.
    """
    if coloured and function in WIDE:
        return WIDE[function]
    passes, visits = {2: _pair_pass, 4: _quad_pass}, {2: _pair_vertex, 4: _quad_vertex}
    whole = specialised((visits if by_vertex else passes)[vertices], function, "gradients")
    return phase_kernel(whole, items="order" if by_vertex else "soft")


@cache
def any_kernel(
    function: Callable, vertices: int, rows: int, parameters: int, *, by_vertex: bool, projects: bool
) -> phase_kernel:
    """The pass of any constraint, from its projection or from its C(x)."""
    numbers = {"VERTICES": vertices, "ROWS": rows, "PARAMETERS": parameters}
    template, called = (_projected_value, "project") if projects else (_evaluated_value, "evaluate")
    value = specialised(template, function, called, **numbers)
    whole = specialised(_any_vertex if by_vertex else _any_pass, value, "value_of", **numbers)
    return phase_kernel(whole, items="order" if by_vertex else "soft", cache=cacheable(function))
