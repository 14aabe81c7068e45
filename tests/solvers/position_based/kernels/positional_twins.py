"""C and ∇C of every kind of constraint written out in float64, and deformed meshes to try passes on.

Rounding: C is known to δC = c u S, S the sizes of all that is added up in it, Σ |a_k| |x_k - x_0| + |rest value|; the
direction of ∇C to δC/C. So a vertex lands within u |x| + w |a_k| c u S / (Σ w |∇C|² + α) of where it should. c covers
the operations inside, fewer for the written-out forms than for rotations and angles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import kernel_twins as twins
import vivace as vv
from kernel_twins import EPS32
from vivace.backends.cpu.arguments import GRAIN
from vivace.backends.cpu.executor import Plan
from vivace.constraints import CONSTRAINTS, make_group
from vivace.constraints.kernels.local import no_projection
from vivace.solvers.position_based.kernels.positional import any_kernel, fast_kernel

KINDS = ["spring", "hinge", "curved-hinge", "volume", "dihedral", "tet-strain", "weld", "attachment"]
FAST = [name for name in KINDS if CONSTRAINTS[name].gradients is not None]
H = 1 / 30
MODES = {"stiffness": 0.7, "compliance": None}


def rest_of(name):
    """Rest positions and the constraints of a small mesh, which share vertices in every way."""
    if name in ("volume", "tet-strain"):
        mesh = vv.mesh.cube(2, side=1.0)
        return mesh.vertices, mesh.tets
    mesh = vv.mesh.cloth(4, 3, width=1.5, height=1.0, irregular=True)
    rest = mesh.vertices.copy()
    if name in ("curved-hinge", "dihedral"):
        rest[:, 1] = 0.4 * np.sin(3 * rest[:, 0])
    if name in ("spring", "weld"):
        return rest, mesh.edges
    return rest, mesh.hinges


# --- the twin ---------------------------------------------------------------------------------------------------------


@dataclass
class Value:
    """C, its gradients (k, 3), the reach |a_k| of each corner, and the sizes S of what C adds up."""

    c: float
    g: np.ndarray
    reach: np.ndarray
    size: float


def projected(group, number, x):
    """C = ‖A x - p‖, ∇_k C = a_kᵀ (A x - p)/C."""
    a = group.operator[number].astype(np.float32).astype(np.float64)
    z = a @ (x - x[0]) if abs(a.sum(axis=1)).max() < 1e-6 * abs(a).max() else a @ x
    p = np.zeros_like(z)
    if group.kind.project is not None:
        group.kind.project(z.copy(), parameters_of(group, number), p)
    c = float(np.linalg.norm(z - p))
    reach = np.linalg.norm(a, axis=0)
    size = float(reach @ np.linalg.norm(x - x[0], axis=1)) + float(np.linalg.norm(p))
    return Value(c, a.T @ (z - p) / c if c else np.zeros_like(x), reach, size)


def written(group, number, x):
    """What has a form of its own: C signed."""
    name, rest = group.kind.name, parameters_of(group, number)
    if name == "dihedral":
        return evaluated(group, number, x)
    if name == "spring":
        d = x[0] - x[1]
        n = d / np.linalg.norm(d)
        return Value(np.linalg.norm(d) - rest[0], np.stack([n, -n]), np.ones(2), np.linalg.norm(d) + rest[0])
    if name == "volume":
        e1, e2, e3 = x[1:] - x[0]
        g = np.stack([np.cross(e2, e3), np.cross(e3, e1), np.cross(e1, e2)]) / 6
        g = np.vstack([-g.sum(axis=0), g])
        reach = np.linalg.norm(e1) * np.linalg.norm(e2) * np.linalg.norm(e3)
        return Value(np.dot(np.cross(e1, e2), e3) / 6 - rest[0], g, np.linalg.norm(g, axis=1), reach + rest[0])
    a = group.operator[number, 0].astype(np.float32).astype(np.float64)
    v = a @ (x - x[0])
    size = float(np.abs(a) @ np.linalg.norm(x - x[0], axis=1))
    length = np.linalg.norm(v)
    at_rest = rest[0] if name == "curved-hinge" else 0.0
    return Value(length - at_rest, np.outer(a, v / length), np.abs(a), size + at_rest)


def evaluated(group, number, x):
    g = np.zeros_like(x)
    c = float(group.kind.evaluate(x, parameters_of(group, number), g))
    size = np.linalg.norm(g, axis=1) @ np.linalg.norm(x - x[0], axis=1) + abs(parameters_of(group, number)[0])
    return Value(c, g, np.linalg.norm(g, axis=1), float(size))


def parameters_of(group, number):
    return group.parameters[number].astype(np.float32).astype(np.float64)


def step_of(value, w, soft, before, kappa, compliant):
    """Δλ [fratarcangeli2013, Eq. 6; macklin2016, Eq. 18], and the denominator."""
    weight = float(w @ (value.g**2).sum(axis=1))
    if compliant:
        return -(value.c + soft * before) / (weight + soft), weight + soft
    return (-kappa * value.c / weight, weight) if weight > 0 else (0.0, np.inf)


# --- the kernels ------------------------------------------------------------------------------------------------------


class Case:
    """A deformed mesh with random masses, a pinned vertex, and the arrays of a pass over its constraints."""

    def __init__(self, name, mode, *, form=None, seed=0, disturbed=0.05, mesh=rest_of):
        self.rng = np.random.default_rng(seed)
        rest, vertices = mesh(name)
        self.group = make_group(name, rest, vertices, self.rng.uniform(50, 500, len(vertices)))
        self.kind, self.m, self.k, self.n = self.group.kind, len(vertices), self.group.kind.vertices, len(rest)
        self.kappa, self.compliant = MODES[mode] or 1.0, MODES[mode] is None
        self.form = form or ("fast" if self.kind.gradients is not None else "any")
        self.slack = 16 if self.form == "fast" and name != "dihedral" else 64
        self.q = twins.to_rows(rest + disturbed * self.rng.normal(size=rest.shape))
        self.q[:, 3] = self.rng.uniform(0.5, 20, self.n)
        self.q[self.n // 2, 3] = 0.0
        self.vertices = np.ascontiguousarray(self.group.vertices).ravel()
        self.parameters = self.group.parameters.astype(np.float32).ravel()
        self.operator = self.group.operator.astype(np.float32).ravel()
        self.soft = (1 / (self.group.weights * H**2)).astype(np.float32)
        self.lambdas = np.zeros(self.m, np.float32)
        self.sums = np.zeros(self.m // GRAIN + 1)
        self.settings = np.array([self.kappa, self.compliant, 0], np.float32)

    def kernel(self, by_vertex=False):
        if self.form == "fast":
            return fast_kernel(self.kind.gradients, self.k, by_vertex=by_vertex)
        numbers = (self.k, self.kind.rows, len(self.kind.parameters))
        function = self.kind.evaluate or self.kind.project or no_projection
        return any_kernel(function, *numbers, by_vertex=by_vertex, projects=self.kind.evaluate is None)

    def value(self, number, q):
        x = q[self.group.vertices[number], :3].astype(np.float64)
        if self.form == "fast":
            return written(self.group, number, x)
        return (projected if self.kind.evaluate is None else evaluated)(self.group, number, x)

    def delta(self, number, q, before):
        """The value, Δλ, and how far rounding may take Δλ away."""
        value, w = self.value(number, q), q[self.group.vertices[number], 3].astype(np.float64)
        soft = float(self.soft[number])
        delta, total = step_of(value, w, soft, float(before), self.kappa, self.compliant)
        sizes = value.size + soft * abs(float(before)) * self.compliant
        return value, delta, self.slack * EPS32 * (sizes / total + 4 * abs(delta))

    def square(self, number, value, before):
        """(C + α λ)², or C², and how far rounding may take it away."""
        more = float(self.soft[number]) * float(before) * self.compliant
        missing, size = value.c + more, value.size + abs(more)
        return missing**2, 2 * self.slack * EPS32 * size * (abs(missing) + EPS32 * size) + 8 * EPS32 * missing**2

    @property
    def table(self):
        """What every pass reads."""
        given = {"vertices": self.vertices, "parameters": self.parameters, "operator": self.operator, "soft": self.soft}
        return {**given, "q": self.q, "settings": self.settings}

    def in_place(self, begin, end, kernel=None):
        kernel = kernel or self.kernel()
        arrays = {**self.table, "targets": self.vertices, "out": self.q, "shares": self.soft}
        arrays |= {"lambdas": self.lambdas, "sums": self.sums}
        Plan([kernel.over(begin, end, serial=True, **kernel.select(arrays))], 1).run()
