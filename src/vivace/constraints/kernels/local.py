"""The local pass: project every constraint of a group and hand each vertex its share.

Constraint c with corners k gives corner k the share w Σ_r A_rk p_r of the right-hand side [fratarcangeli2018, Eq. 14].
Shares are written to slots that are grouped by vertex, so that `gather` reads them as one stream and needs no atomics:

    group 0:  c0 c1 c2 ...        slots:  | vertex 0: ▪▪▪ | vertex 1: ▪▪ | vertex 2: ▪▪▪▪ | ...
               └──┴── share ───────────────────▲

The table of every local pass: vertices, operator, weights, parameters, slots, q, out, and the row sums of the operator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ...backends.cpu.arguments import floats, ints, phase_kernel, rows
from ...backends.cpu.compiling import compile_now
from ...backends.cpu.simd import at, load4, store4
from ...backends.cpu.templates import cacheable, specialised

LABEL = "local passes"  # what phases of these kernels are reported under

VERTICES = ROWS = PARAMETERS = 0  # stand-ins for what `local_pass` puts into copies of the template


def project(z, parameters, p):  # stand-in likewise
    """Nearest point of the constraint's set."""


def _local_template(
    begin, end, iteration, vertices: ints, operator: floats, weights: floats, parameters: floats, slots: ints, q: rows,
    out: rows, sums: floats,
):  # fmt: skip
    z = np.empty((ROWS, 3), np.float32)
    p = np.empty((ROWS, 3), np.float32)
    for c in range(begin, end):
        for r in range(ROWS):
            # z = Σ a_k (q_k - q_0) + (Σ a_k) q_0: differences first, so that nothing is lost far from the origin
            first = vertices[c * VERTICES]
            x, y, w = q[first, 0], q[first, 1], q[first, 2]
            x, y, w = sums[c * ROWS + r] * x, sums[c * ROWS + r] * y, sums[c * ROWS + r] * w
            for k in range(1, VERTICES):
                a = operator[(c * ROWS + r) * VERTICES + k]
                i = vertices[c * VERTICES + k]
                x += a * (q[i, 0] - q[first, 0])
                y += a * (q[i, 1] - q[first, 1])
                w += a * (q[i, 2] - q[first, 2])
            z[r, 0], z[r, 1], z[r, 2] = x, y, w
        project(z, parameters[c * PARAMETERS : (c + 1) * PARAMETERS], p)
        for k in range(VERTICES):
            x = y = w = np.float32(0.0)
            for r in range(ROWS):
                a = weights[c] * operator[(c * ROWS + r) * VERTICES + k]
                x += a * p[r, 0]
                y += a * p[r, 1]
                w += a * p[r, 2]
            i = slots[c * VERTICES + k]
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x, y, w, np.float32(0.0)


def no_projection(z, parameters, p):
    """Quadratic constraints: what they measure ought to be zero."""
    p[:] = 0.0


def evaluate(x, parameters, gradient):  # stand-in
    """C and its gradient."""


def _value_template(q, vertices, parameters, c, gradients):
    x = np.empty((vertices.shape[1], 3))
    for m in range(vertices.shape[0]):
        for k in range(vertices.shape[1]):
            for d in range(3):
                x[k, d] = q[vertices[m, k], d]
        c[m] = evaluate(x, parameters[m], gradients[m])


def _project_template(z, parameters, p):
    for c in range(z.shape[0]):
        project(z[c], parameters[c], p[c])


@cache
def local_pass(function: Callable, vertices: int, rows: int, parameters: int) -> phase_kernel:
    """The local pass with `function` as its projection."""
    numbers = {"VERTICES": vertices, "ROWS": rows, "PARAMETERS": parameters}
    return phase_kernel(specialised(_local_template, function, **numbers), items="weights", cache=cacheable(function))


@cache
def project_pass(function: Callable) -> Callable:
    """`function` over whole float64 arrays z (m, r, 3), parameters (m, k), p (m, r, 3)."""
    return compile_now(specialised(_project_template, function), cache=cacheable(function))


@cache
def value_pass(function: Callable) -> Callable:
    """C (m,) and gradients (m, k, 3) of a constraint known by these, in float64: q (n, 3), vertices (m, k)."""
    return compile_now(specialised(_value_template, function, "evaluate"), cache=cacheable(function))


def flow(x, operator, parameters, h):  # stand-in
    """What a step leaves behind in the parameters; whether it changed any."""


def _flow_template(q, vertices, operator, parameters, h):
    x = np.empty((vertices.shape[1], 3))
    changed = False
    for m in range(vertices.shape[0]):
        for k in range(vertices.shape[1]):
            for d in range(3):
                x[k, d] = q[vertices[m, k], d]
        if flow(x, operator[m], parameters[m], h):
            changed = True
    return changed


@cache
def flow_pass(function: Callable) -> Callable:
    """`function` over all constraints: rows q (n, 4), vertices (m, k), operator (m, r, k), parameters (m, p), h."""
    return compile_now(specialised(_flow_template, function, "flow"), cache=cacheable(function))


@phase_kernel(items="base")
def gather(begin, end, iteration, slot_at: ints, shares: rows, constant: rows, base: rows):
    """base_i = constant_i + the shares of vertex i."""
    for i in range(begin, end):
        total = load4(constant, i)
        for s in range(at(slot_at, i), at(slot_at, i + 1)):
            total += load4(shares, s)
        store4(base, i, total)
