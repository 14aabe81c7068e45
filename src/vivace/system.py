"""The problem of one time step, in float64: the matrix Y, the energy that a step minimises, and its gradient.

With the prediction s = q_n + (h v_n + h² M⁻¹ f)/(1 + air h) the new positions minimise [fratarcangeli2018, Eq. 12, 13]

    ε(q) = (1 + air h)/(2h²) ‖q - s‖²_M + viscosity/(2h) ‖q - q_n‖²_K + Σ_c w_c/2 ‖A_c q - p_c‖²

where K = Σ w AᵀA without the pins. Both kinds of damping are Rayleigh's dissipation in implicit Euler: quadratic, so
they join the constant matrix and cannot make a step unstable. (Air's own term, air/(2h) ‖q - q_n‖²_M, is merged into
the first, whose minimum without constraints is then the damped flight: a solver stopped early still feels the air.)
For fixed p the minimum solves

    Y q = b,   Y = (1/h² + air/h) M + (1 + viscosity/h) K + W_pins,   b = constant + Σ w Aᵀ p.

Y acts on the three coordinates alike: it is stored as an n x n matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .blocks import in_blocks
from .checks import check_time_step, shown
from .constraints import ConstraintGroup, Role
from .errors import InputError
from .kernels.assemble import add_stiffness, count_pairs, fill_columns, merge_columns
from .kernels.local import project_pass, value_pass
from .model import Model


@dataclass(frozen=True, eq=False)
class Frame:
    """One time step's data: prediction s, first guess q⁰ and last positions q_n (n, 3), pin targets (p, 3)."""

    s: np.ndarray
    start: np.ndarray
    previous: np.ndarray
    targets: np.ndarray


class System:
    """Matrix, energy and gradient of a model at a time step of h seconds.

    `like`: a system whose assembled arrays are taken over as far as this one has the same constraints.
    """

    def __init__(self, model: Model, h: float, like: System | None = None):
        if not isinstance(model, Model):
            raise InputError(f"a system is made of a Model (Model.of(mesh, material)), not {shown(model)}")
        self.model, self.h = model, check_time_step(h)
        inner = [g for g in model.groups if g.kind.role not in (Role.TARGET, Role.POSITION) and len(g)]
        self.springs = [group for group in inner if group.kind.role is Role.SPRING]
        self.projected = [group for group in inner if group.kind.role is Role.PROJECTED]
        self.quadratic = [group for group in inner if group.kind.role is Role.QUADRATIC]
        self.positional = [group for group in model.groups if group.kind.role is Role.POSITION and len(group)]
        self.pins = [group for group in model.groups if group.kind.role is Role.TARGET and len(group)]
        self._inner = inner
        shared = like is not None and like.n == model.n and _same(inner, like._inner)
        self._assembly: _Assembly = like._assembly if like is not None and shared else _Assembly(model.n, inner)
        self.pin_weight = np.zeros(model.n)
        for group in self.pins:
            np.add.at(self.pin_weight, group.vertices[:, 0], group.weights)
        self.glide = 1.0 / (1.0 + model.air * h)  # share of its motion that air leaves a free vertex in a step
        self.inertia = model.masses / (self.glide * h**2)
        self.viscous = model.viscosity / h  # factor on K
        self.contact_weight: np.ndarray | float = 0.0  # what contacts add to the diagonal (N/m)

    def touched(self, weight: np.ndarray) -> System:
        """This system with contacts that add `weight` (n,) to its diagonal."""
        other = System(self.model, self.h, like=self)
        other.contact_weight = weight
        return other

    # K and Y are assembled when first asked for: position based solvers never do.

    @property
    def stiffness_off(self) -> sp.csr_matrix:
        """K without its diagonal."""
        return self._assembly.parts[0]

    @property
    def stiffness_diagonal(self) -> np.ndarray:
        return self._assembly.parts[1]

    @property
    def stiffness_tie(self) -> np.ndarray:
        """Row sums of K."""
        return self._assembly.parts[2]

    @property
    def off(self) -> sp.csr_matrix:
        """Y without its diagonal."""
        return self._assembly.scaled(1.0 + self.viscous)

    @cached_property
    def tie(self) -> np.ndarray:
        """Row sums of Y: what holds a vertex to the world and not to its neighbours."""
        held = self.inertia + self.pin_weight + self.contact_weight
        return held + (1.0 + self.viscous) * self.stiffness_tie

    @cached_property
    def diagonal(self) -> np.ndarray:
        held = self.inertia + self.pin_weight + self.contact_weight
        return held + (1.0 + self.viscous) * self.stiffness_diagonal

    @property
    def n(self) -> int:
        return self.model.n

    def shares_structure(self, other: System) -> bool:
        """Whether nothing but pins tells the two apart: then their matrices differ on the diagonal only."""
        mine, theirs = self.model, other.model
        return (
            self.h == other.h
            and (mine.air, mine.viscosity) == (theirs.air, theirs.viscosity)
            and _same(self._inner, other._inner)
            and _same(self.positional, other.positional)
            and (mine.masses is theirs.masses or np.array_equal(mine.masses, theirs.masses))
        )

    @cached_property
    def matrix(self) -> sp.csr_matrix:
        """Y."""
        return (self.off + sp.diags(self.diagonal)).tocsr()

    @property
    def graph(self) -> tuple[np.ndarray, np.ndarray]:
        """Who shares a constraint with whom: the pattern of Y as CSR (indptr, indices)."""
        return self.off.indptr, self.off.indices

    def frame(self, q: np.ndarray, v: np.ndarray, acceleration: np.ndarray, targets: np.ndarray) -> Frame:
        """The prediction from positions, velocities and accelerations (n, 3); the first guess holds pins at targets."""
        s = q + self.glide * (self.h * v + self.h**2 * acceleration)
        start = s.copy()
        start[self.model.pinned] = targets
        return Frame(s, start, q, targets)

    def constant(self, frame: Frame) -> np.ndarray:
        """The part of b that no projection changes (n, 3)."""
        b = self.inertia[:, None] * frame.s
        if self.viscous:
            b += self.viscous * self._stiffness_times(frame.previous)
        for group, held in self._held(frame):
            np.add.at(b, group.vertices[:, 0], group.weights[:, None] * held)
        return b

    def right_hand_side(self, q: np.ndarray, frame: Frame) -> np.ndarray:
        """b with the projections at q (n, 3)."""
        b = self.constant(frame)
        for group, operator in self._operators:
            if group.kind.role is not Role.QUADRATIC:
                b += operator.T @ (_weights(group) * project(group, operator @ q))
        return b

    def energy(self, q: np.ndarray, frame: Frame) -> float:
        """ε(q) in joules."""
        return self._inertial(q, frame) + self.potential(q)

    def potential(self, q: np.ndarray) -> float:
        """The elastic part of ε: what the constraints other than pins store (J)."""
        return self._elastic(q)[0]

    def gradient(self, q: np.ndarray, frame: Frame) -> np.ndarray:
        """∇ε(q) = Y q - b(q), (n, 3) in newtons. The projections' own derivative drops out: p is the nearest point."""
        return self.evaluate(q, frame)[1]

    def evaluate(self, q: np.ndarray, frame: Frame) -> tuple[float, np.ndarray]:
        """ε and ∇ε together, with one projection of each constraint."""
        stored, gradient = self._elastic(q)
        gradient += self.inertia[:, None] * (q - frame.s)
        if self.viscous:
            gradient += self.viscous * self._stiffness_times(q - frame.previous)
        for group, held in self._held(frame):
            i = group.vertices[:, 0]
            np.add.at(gradient, i, group.weights[:, None] * (q[i] - held))
        return self._inertial(q, frame) + stored, gradient

    def around(self, start: np.ndarray, constant: np.ndarray) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """The function q ↦ (ε(q) up to a constant, ∇ε(q)), from what solvers know of a frame: (n, 3) in float64.

        With x = q - start, the inertial part is x·Bx/2 + x·(B start - constant), B = Y without the constraints' own K:
        in differences, because q·Bq/2 - q·constant would cancel far from the origin.
        """

        def pull(x: np.ndarray) -> np.ndarray:
            held = (self.inertia + self.pin_weight)[:, None] * x
            return held + self.viscous * self._stiffness_times(x) if self.viscous else held

        first = pull(start) - constant

        def evaluate(q: np.ndarray) -> tuple[float, np.ndarray]:
            x = q - start
            back = pull(x)
            stored, gradient = self._elastic(q)
            return float(np.sum(x * (0.5 * back + first))) + stored, gradient + back + first

        return evaluate

    def _elastic(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """`potential` and its gradient (n, 3)."""
        energy, gradient = 0.0, np.zeros((self.n, 3))
        for group, operator in self._operators:
            stored, offset = self._distance(group, operator @ q)
            energy += stored
            gradient += operator.T @ (_weights(group) * offset)
        for group in self.positional:
            c, slopes = values(group, q)
            energy += 0.5 * float(group.weights @ (c * c))
            pull = (group.weights * c)[:, None, None] * slopes
            for axis in range(3):
                gradient[:, axis] += np.bincount(group.vertices.ravel(), pull[:, :, axis].ravel(), minlength=self.n)
        return energy, gradient

    def _inertial(self, q: np.ndarray, frame: Frame) -> float:
        """ε without the elastic part."""
        total = 0.5 * float(self.inertia @ _squares(q - frame.s))
        if self.viscous:
            moved = q - frame.previous
            total += 0.5 * self.viscous * float(np.sum(moved * self._stiffness_times(moved)))
        for group, held in self._held(frame):
            total += 0.5 * float(group.weights @ _squares(q[group.vertices[:, 0]] - held))
        return total

    @staticmethod
    def _distance(group: ConstraintGroup, z: np.ndarray) -> tuple[float, np.ndarray]:
        """w/2 ‖z - p‖² summed over a group, and z - p."""
        offset = z if group.kind.role is Role.QUADRATIC else z - project(group, z)
        return 0.5 * float(np.sum(_weights(group) * offset * offset)), offset

    def _held(self, frame: Frame):
        """The groups of pins, each with its targets."""
        start = 0
        for group in self.pins:
            yield group, frame.targets[start : start + len(group)]
            start += len(group)

    @cached_property
    def _operators(self) -> list[tuple[ConstraintGroup, sp.csr_matrix]]:
        """Every A_c of a group stacked: (m r) x n."""
        stacked = []
        for group in (*self.springs, *self.projected, *self.quadratic):
            m, r, k = group.operator.shape
            columns = np.repeat(group.vertices, r, axis=0).ravel()
            pointers = np.arange(0, m * r * k + 1, k)
            stacked.append((group, sp.csr_matrix((group.operator.ravel(), columns, pointers), (m * r, self.n))))
        return stacked

    def _stiffness_times(self, x: np.ndarray) -> np.ndarray:
        return self.stiffness_off @ x + self.stiffness_diagonal[:, None] * x


class _Assembly:
    """K of some constraint groups, made when first needed; systems that differ in their pins share one."""

    def __init__(self, n: int, groups: list[ConstraintGroup]):
        self._n, self._groups = n, groups
        self._scaled: tuple[float, sp.csr_matrix] | None = None

    @cached_property
    def parts(self) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
        return assembled(self._n, self._groups)

    def scaled(self, factor: float) -> sp.csr_matrix:
        """The off-diagonal part times a factor, the last of which is kept: it changes with the time step only."""
        if factor == 1.0:
            return self.parts[0]
        if self._scaled is None or self._scaled[0] != factor:
            self._scaled = factor, self.parts[0] * factor
        return self._scaled[1]


def project(group: ConstraintGroup, z: np.ndarray) -> np.ndarray:
    """p of every constraint of a group for its stacked measures z (m r, 3), in float64."""
    assert group.kind.project is not None
    shape = (len(group), group.kind.rows, 3)
    p = np.empty(shape)
    project_pass(group.kind.project)(np.ascontiguousarray(z).reshape(shape), group.parameters, p)
    return p.reshape(z.shape)


def _same(mine: list, theirs: list) -> bool:
    return len(mine) == len(theirs) and all(a is b for a, b in zip(mine, theirs, strict=True))


def values(group: ConstraintGroup, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C (m,) and its gradients (m, k, 3) for constraints that are known by these, in float64."""
    assert group.kind.evaluate is not None
    c, gradient = np.empty(len(group)), np.empty((*group.vertices.shape, 3))
    value_pass(group.kind.evaluate)(np.ascontiguousarray(q), group.vertices, group.parameters, c, gradient)
    return c, gradient


def _weights(group: ConstraintGroup) -> np.ndarray:
    """w of every stacked row (m r, 1)."""
    return np.repeat(group.weights, group.kind.rows)[:, None]


def _squares(x: np.ndarray) -> np.ndarray:
    return np.einsum("ic,ic->i", x, x)


def assembled(n: int, groups: list[ConstraintGroup]) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    """Σ w AᵀA as (CSR without the diagonal, diagonal, row sums). Entries that cancel stay: they are edges of the graph.

    Row sums come from those of A, which are exactly zero for all that does not mind being moved as a whole; adding up
    the entries would leave rounding noise as large as the inertia.
    """
    diagonal, sums = np.zeros(n), np.zeros(n)
    counts = np.zeros(n, np.int64)
    for group in groups:
        count_pairs(counts, group.vertices)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    columns, cursor = np.empty(indptr[-1], np.int32), indptr[:-1].copy()
    for group in groups:
        fill_columns(cursor, columns, group.vertices)
    indptr = merge_columns(indptr, columns)
    columns = columns[: indptr[-1]].copy()
    values = np.zeros(len(columns))
    for group in groups:
        add_stiffness(indptr, columns, values, diagonal, group.vertices, group.operator, group.weights)
        total = row_sums(group.operator)
        if total.any():
            shares = np.einsum("m,mrk,mr->mk", group.weights, group.operator, total)
            sums += np.bincount(group.vertices.ravel(), shares.ravel(), minlength=n)
    return sp.csr_matrix((values, columns, indptr), shape=(n, n)), diagonal, sums


def row_sums(operator: np.ndarray) -> np.ndarray:
    """Σ_k A_rk for every row (m, r), with what is rounding noise set to zero."""

    def of(block: np.ndarray) -> np.ndarray:
        total = block.sum(axis=2)
        return np.where(np.abs(total) <= 1e-12 * np.abs(block).sum(axis=2), 0.0, total)

    return in_blocks(of, operator)
