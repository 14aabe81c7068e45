"""How a contact finds its velocity v = A λ + b: by the bodies it touches, or by the contacts it depends on.

    factorised   w = W Jᵀ λ is kept up to date: two bodies are read a contact        100 K multiplications an iteration
    naive        a row of A, and R beside it                                         16 N + 8 K
    t            a row of T = 1 - R A                                                16 N

[thesis2010, Table 3.1], for K contacts and N blocks of A that are not zero; `auto` takes the factorised scheme where
N > 6 K. All give the same iterates but for rounding. Arrays are in visiting order, so that memory is read as it lies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ...backends.cpu.arguments import Phase, phase_kernel
from ...backends.cpu.executor import VALUE, run_once
from ...errors import InputError
from ...rigid.problem import UNKNOWNS, ContactProblem
from .kernels import factorised as kernels
from .kernels import ordering
from .kernels.friction import with_friction
from .kernels.judge import FACTOR, GROWTH, KEPT, LAST, RECORD, SMALLEST, TRIES, judge_factorised, judge_matrix, judge_t
from .kernels.matrix import copy, naive, t_scheme

CHEAPER_BY_BODIES = 6.0  # blocks of A a contact from which on the factorised scheme has less to do (3.4.3)
SCHEMES = ("auto", "factorised", "t", "naive")


class Scheme(ABC):
    """A contact problem in visiting order, with its impulses, and phases that improve them."""

    def __init__(self, problem: ContactProblem, order: np.ndarray, rates: np.ndarray, start: np.ndarray | None):
        """`rates`: (K, 3), r-factors of normal, tangents and spin, in the problem's order as all its arrays are."""
        self.problem, self.order, self.contacts = problem, order, problem.contacts
        self.threads = 1  # for what is done before the first iteration; a solver says how many there are
        self.impulses = np.zeros(UNKNOWNS * self.contacts)
        if start is not None:
            self.impulses[:] = start[order].ravel()
        self.previous = self.impulses.copy()
        self.change = np.zeros(max(self.contacts, 1))
        self.record, self.monitor, self.residuals = np.zeros(RECORD), np.array([np.inf, 0.0]), np.zeros(0)

    def expect(self, iterations: int, tolerance: float, tries: int, growth: float, factor: float) -> None:
        """Before a solve: how many residuals to keep, when to stop, and when to go back."""
        self.residuals = np.zeros(iterations)
        self.record[[LAST, SMALLEST, TRIES, GROWTH, FACTOR, KEPT]] = np.inf, np.inf, tries, growth, factor, 0
        self.monitor[:] = np.inf, tolerance

    def of_friction(self, kernel: phase_kernel) -> phase_kernel:
        """A kernel that visits contacts, with the friction sets of the problem."""
        return with_friction(kernel, self.problem.own)

    @abstractmethod
    def gauss_seidel(self, begin: int, end: int, *, serial: bool = False) -> list[Phase]:
        """Contacts [begin, end) one after the other, or, where they do not depend on each other, at the same time."""

    @abstractmethod
    def jacobi(self, begin: int, end: int) -> list[Phase]:
        """Contacts [begin, end) from the same velocities, whatever they depend on."""

    @abstractmethod
    def judge(self) -> Phase:
        """The end of an iteration: its residual, and the way back if it leads away."""

    @property
    def result(self) -> np.ndarray:
        """Impulses in the problem's order, (K, 4)."""
        out = np.empty((self.contacts, UNKNOWNS))
        out[self.order] = self.impulses.reshape(-1, UNKNOWNS)
        return out

    @property
    def kept_residuals(self) -> np.ndarray:
        """Of the iterations that were not taken back."""
        return self.residuals[: int(self.record[KEPT])].copy()

    @property
    def residual(self) -> float:
        """Of the last iteration."""
        return float(self.monitor[VALUE])

    @property
    def _judged(self) -> dict[str, np.ndarray]:
        judged = {"change": self.change, "record": self.record, "residuals": self.residuals, "monitor": self.monitor}
        return {**judged, "impulses": self.impulses, "previous": self.previous}


def contact_rows(problem: ContactProblem, order: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The rows that `kernels.factorised` reads, one contact after the other."""
    out = np.empty((problem.contacts, kernels.ROW))
    parts = (problem.frames, problem.arms, problem.b, rates, problem.friction, problem.radii, problem.kinds)
    ordering.fill_rows(order, *parts, out)
    return out.ravel()


def body_rows(problem: ContactProblem) -> np.ndarray:
    """The rows of bodies: inverse mass, the upper half of the inverse inertia, and where a matrix stands instead."""
    out = np.zeros((problem.bodies, kernels.BODY))
    out[:, 0] = problem.inverse_mass
    out[:, 1:7] = problem.inverse_inertia[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    if problem.held is None or problem.held_inverse is None:
        return out.ravel()
    return with_matrices(out, problem.held, problem.held_inverse)


def with_matrices(rows: np.ndarray, which: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Rows of bodies, of which some have an inverse inertia of 6 x 6: these stand after all rows."""
    rows[which, kernels.MATRIX] = rows.size + 36 * np.arange(len(which))
    return np.concatenate([rows.ravel(), matrices.ravel()])


def own_matrices(rows: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Rows copied from `shared`, some bodies several times, with copies of their matrices."""
    which = np.flatnonzero(rows[:, kernels.MATRIX])
    at = rows[which, kernels.MATRIX].astype(np.int64)[:, None] + np.arange(36)
    return with_matrices(rows.copy(), which, shared[at])


def contacts_of_bodies(pairs: np.ndarray, bodies: int) -> tuple[np.ndarray, np.ndarray]:
    """Row pointers, and 2 k + side of the contacts that touch each body, in order."""
    found: tuple[np.ndarray, np.ndarray] = ordering.touching(pairs, bodies)
    return found


class Factorised(Scheme):
    """λ against w = W Jᵀ λ [thesis2010, figure 3.6]."""

    def __init__(self, problem: ContactProblem, order: np.ndarray, rates: np.ndarray, start: np.ndarray | None):
        super().__init__(problem, order, rates, start)
        self.pairs = np.ascontiguousarray(problem.pairs[order], np.int32)
        self.w = np.zeros(kernels.BODY * problem.bodies)
        rows, bodies = contact_rows(problem, order, rates), body_rows(problem)
        self.starts, self.touching = contacts_of_bodies(self.pairs, problem.bodies)
        self.arrays = {"rows": rows, "pairs": self.pairs.ravel(), "bodies": bodies, "w": self.w}
        self.arrays |= {"impulses": self.impulses, "previous": self.previous, "change": self.change}
        if start is not None:
            run_once(self._gather(), 1)

    def _gather(self) -> Phase:
        arrays = {"starts": self.starts, "touching": self.touching, **kernels.gather.select(self.arrays)}
        return Phase(kernels.gather, arrays, 0, self.problem.bodies)

    def gauss_seidel(self, begin: int, end: int, *, serial: bool = False) -> list[Phase]:
        """One after the other, or at the same time where that is the same."""
        return [Phase(self.of_friction(kernels.sweep), self.arrays, begin, end, serial=serial)]

    def sets(self, begin: int, end: int, starts: np.ndarray, inside: np.ndarray, *, serial: bool = False) -> Phase:
        """Gauss-Seidel over contact sets [begin, end)."""
        arrays = {**self.arrays, "starts": starts, "inside": inside}
        return Phase(self.of_friction(kernels.sweep_sets), arrays, begin, end, serial=serial)

    def jacobi(self, begin: int, end: int) -> list[Phase]:
        """All from the same velocities."""
        relax = self.of_friction(kernels.relax)
        return [Phase(relax, relax.select(self.arrays), begin, end), self.add_changes(begin, end)]

    def add_changes(self, begin: int, end: int) -> Phase:
        """Bring w up to date with what [begin, end) changed: all of it anew if these are all contacts.

        Adding up anew is as cheap as adding changes, and does not gather rounding errors.
        """
        if begin == 0 and end == self.contacts:
            return self._gather()
        listed, numbers = np.unique(self.pairs[begin:end], return_inverse=True)
        starts, touching = contacts_of_bodies(numbers.reshape(-1, 2), len(listed))
        arrays = {"starts": starts, "touching": touching + np.int32(2 * begin), "listed": listed.astype(np.int32)}
        arrays |= kernels.add_changes.select(self.arrays)
        return Phase(kernels.add_changes, arrays, 0, len(listed))

    def judge(self) -> Phase:
        """Residual, and the way back."""
        more = {"starts": self.starts, "touching": self.touching}
        more |= {name: self.arrays[name] for name in ("rows", "bodies", "w")}
        return Phase(judge_factorised, {**self._judged, **more}, 0, 1, serial=True)


class _Matrix(Scheme):
    """What the schemes with a matrix share: blocks in visiting order, and laws of friction."""

    def __init__(self, problem: ContactProblem, order: np.ndarray, rates: np.ndarray, start: np.ndarray | None):
        super().__init__(problem, order, rates, start)
        rank = np.empty(self.contacts, np.int32)
        rank[order] = np.arange(self.contacts, dtype=np.int32)
        found = problem.operator()
        lengths = np.diff(found.indptr)
        row = np.repeat(np.arange(self.contacts), lengths)
        visit = np.lexsort((rank[found.indices], rank[row]))
        self.starts = np.concatenate([[0], np.cumsum(lengths[order])]).astype(np.int32)
        self.columns = rank[found.indices[visit]].astype(np.int32)
        self.blocks = found.data[visit]
        laws = np.column_stack([problem.friction, problem.kinds])[order]
        self.rates = rates[order][:, [0, 1, 1, 2]]
        self.b = problem.b[order]
        self.new = self.impulses.copy()
        self.shared = {"starts": self.starts, "columns": self.columns, "laws": laws.ravel()}
        self.shared |= {"previous": self.previous, "change": self.change}

    kernel = naive

    @property
    @abstractmethod
    def own(self) -> dict[str, np.ndarray]:
        """The arrays that only this scheme has."""

    def gauss_seidel(self, begin: int, end: int, *, serial: bool = False) -> list[Phase]:
        """One after the other, or at the same time where that is the same."""
        arrays = {**self.shared, **self.own, "read": self.impulses, "out": self.impulses}
        return [Phase(self.of_friction(self.kernel), arrays, begin, end, serial=serial)]

    def jacobi(self, begin: int, end: int) -> list[Phase]:
        """All from the same velocities."""
        arrays = {**self.shared, **self.own, "read": self.impulses, "out": self.new}
        back = {"from_array": self.new, "to_array": self.impulses}
        visit = Phase(self.of_friction(self.kernel), arrays, begin, end)
        return [visit, Phase(copy, back, UNKNOWNS * begin, UNKNOWNS * end)]


class Naive(_Matrix):
    """A and R apart [thesis2010, figure 3.5]."""

    @property
    def own(self) -> dict[str, np.ndarray]:
        """The arrays that only this scheme has."""
        if not hasattr(self, "_own"):
            self._own = {"matrix": self.blocks.ravel(), "b": self.b.ravel(), "rates": self.rates.ravel()}
        return self._own

    def judge(self) -> Phase:
        """Residual, and the way back."""
        return Phase(judge_matrix, {**self._judged, "rates": self.own["rates"]}, 0, 1, serial=True)


class TScheme(_Matrix):
    """T = 1 - R A and c = - R b [thesis2010, 3.4.1]."""

    kernel = t_scheme

    @property
    def own(self) -> dict[str, np.ndarray]:
        """The arrays that only this scheme has."""
        if not hasattr(self, "_own"):
            row = np.repeat(np.arange(self.contacts), np.diff(self.starts))
            matrix = -self.rates[row][:, :, None] * self.blocks
            matrix[row == self.columns] += np.eye(UNKNOWNS)
            self._own = {"matrix": matrix.ravel(), "constant": (-self.rates * self.b).ravel()}
        return self._own

    def judge(self) -> Phase:
        """Residual, and the way back."""
        arrays = {**self._judged, **self.own, "starts": self.starts, "columns": self.columns}
        return Phase(judge_t, arrays, 0, 1, serial=True)


def scheme_for(problem: ContactProblem, name: str) -> type[Scheme]:
    """The class of a scheme; `auto` is the one with less to do."""
    if name == "auto":
        many = problem.nonzero_blocks() > CHEAPER_BY_BODIES * problem.contacts
        return Factorised if many else TScheme
    known = {"factorised": Factorised, "t": TScheme, "naive": Naive}
    if name not in known:
        raise InputError(f"unknown scheme {name!r}; there are {', '.join(SCHEMES)}")
    return known[name]
