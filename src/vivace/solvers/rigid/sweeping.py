"""Jacobi and Gauss-Seidel over contacts, in one order or colour by colour [thesis2010, chapters 3, 6 and 7]."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import SMALL, SMALLEST_CHUNK, run_once
from ...checks import check_seed, is_whole, shown
from ...colouring import COLOURINGS, Colouring, balanced_constraints, colour_constraints
from ...errors import InputError
from ...rigid.problem import ContactProblem
from .base import CONTACT_SOLVERS, ContactSolver
from .kernels import ordering
from .kernels.set_rates import bound_rates
from .schemes import Factorised, Scheme


@CONTACT_SOLVERS.register("jacobi")
@dataclass(eq=False)
class ContactJacobi(ContactSolver):
    """All contacts at once, each from what the last iteration left. Parallel without colours.

    Limitations: needs more iterations than Gauss-Seidel, and smaller r-factors where a body has many contacts.
    """

    name = "jacobi"

    def iteration(self, scheme: Scheme) -> list[Phase]:
        """The phases of one iteration."""
        return scheme.jacobi(0, scheme.contacts)


@CONTACT_SOLVERS.register("gauss-seidel")
@dataclass(eq=False)
class ContactGaussSeidel(ContactSolver):
    """One contact after the other, in the order of the problem: what all others are measured against.

    Limitations: one thread.
    """

    name = "gauss-seidel"

    def iteration(self, scheme: Scheme) -> list[Phase]:
        """The phases of one iteration."""
        return scheme.gauss_seidel(0, scheme.contacts, serial=True)


@CONTACT_SOLVERS.register("coloured")
@dataclass(eq=False)
class ColouredGaussSeidel(ContactSolver):
    """Gauss-Seidel over colours: contacts of one colour share no body that moves, and are solved at the same time.

    Args:
        colouring: name of a colouring (see `vivace list colourings`); "greedy" is the thesis' (4.3).
        balance: even out the sizes of the colours.
        seed: of the colouring.
        fixed: whether bodies that cannot move make contacts depend on each other, as they do in the thesis.
        merged: colours of fewer contacts are merged into one, last in the iteration, whose contacts depend on each
            other and are solved by Jacobi (the thesis' relaxed schemes); 0: all colours are safe (its rigid ones).

    Limitations: a body with hundreds of contacts has as many colours, unless small ones are merged.
    """

    colouring: str = "greedy"
    balance: bool = False
    seed: int = 0
    fixed: bool = False
    merged: int = 0

    name = "coloured"

    def __post_init__(self) -> None:
        super().__post_init__()
        COLOURINGS[self.colouring]
        check_seed(self.seed)
        if not is_whole(self.merged) or self.merged < 0:
            raise InputError(f"merged must be a whole number of contacts, zero or more, not {shown(self.merged)}")

    def coloured(self, problem: ContactProblem, pairs: np.ndarray) -> Colouring:
        """Colours of pairs of bodies."""
        free = None if self.fixed else problem.movable
        found = colour_constraints(pairs, problem.bodies, self.colouring, seed=self.seed, threads=1, free=free)
        return balanced_constraints(pairs, problem.bodies, found, free) if self.balance else found

    def arrange(self, problem: ContactProblem) -> np.ndarray:
        """Contacts colour by colour."""
        found = self.coloured(problem, problem.pairs)
        order, self._pointers = self._merge(found)
        return order

    def _merge(self, found: Colouring) -> tuple[np.ndarray, np.ndarray]:
        """Order and pointers, small colours as one at the end."""
        sizes, colours = found.sizes, found.colours
        small = sizes < self.merged
        self.unsafe = int(small.sum()) > 1
        number = np.arange(found.count)
        if self.unsafe:
            number = np.where(small, (~small).sum(), np.cumsum(~small) - 1)
            colours = number[colours]
        order, starts = ordering.sorted_by(colours, int(number.max(initial=-1)) + 1)
        self.colours = np.diff(starts)
        return order, starts

    def iteration(self, scheme: Scheme) -> list[Phase]:
        """The phases of one iteration."""
        at = [int(pointer) for pointer in self._pointers]
        safe = len(at) - 1 - self.unsafe
        phases: list[Phase] = []
        for begin, end in pairwise(at[: safe + 1]):
            phases += scheme.gauss_seidel(begin, end, serial=end - begin < SMALLEST_CHUNK)
        return phases + (scheme.jacobi(at[-2], at[-1]) if self.unsafe else [])


@CONTACT_SOLVERS.register("contact-sets")
@dataclass(eq=False)
class ContactSets(ColouredGaussSeidel):
    """Gauss-Seidel over contact sets, all points between two bodies, coloured as one [thesis2010, 8.3].

    Args:
        inside: within a set: "jacobi", as the thesis suggests (chapter 3), or "gauss-seidel".

    Limitations: the factorised scheme only.
    """

    inside: str = "jacobi"

    name = "contact-sets"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.inside not in ("jacobi", "gauss-seidel"):
            raise InputError(f"inside must be 'jacobi' or 'gauss-seidel', not {shown(self.inside)}")
        if self.merged:
            raise InputError("contact-sets has safe colours only; leave out merged")

    def scheme_class(self, problem: ContactProblem) -> type[Scheme]:
        """Always by the bodies."""
        return Factorised

    def arrange(self, problem: ContactProblem) -> np.ndarray:
        """Contacts colour by colour."""
        sets, starts = ordering.runs(problem.pairs)
        if len(starts):
            order, self._pointers = self._merge(self.coloured(problem, sets))
            visit, self._starts = ordering.members(order, starts)
            return np.asarray(visit)
        pairs = np.sort(problem.pairs, axis=1)
        sets, which = np.unique(pairs, axis=0, return_inverse=True)
        which = which.reshape(-1)
        found = self.coloured(problem, sets.astype(np.int32))
        order, self._pointers = self._merge(found)
        rank = np.empty(len(sets), np.int64)
        rank[order] = np.arange(len(sets))
        visit = np.argsort(rank[which], kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(rank[which], minlength=len(sets)))]).astype(np.int32)
        return visit

    def iteration(self, scheme: Scheme) -> list[Phase]:
        """The phases of one iteration."""
        assert isinstance(scheme, Factorised)
        if self.inside == "jacobi":
            arrays = {"starts": self._starts, **bound_rates.select(scheme.arrays)}
            sets = len(self._starts) - 1
            run_once(Phase(bound_rates, arrays, 0, sets), scheme.threads if sets > SMALL else 1)
        inside = np.array([self.inside == "gauss-seidel"], np.int64)
        bounds = [int(pointer) for pointer in self._pointers]
        return [
            scheme.sets(begin, end, self._starts, inside, serial=end - begin < SMALLEST_CHUNK // 4)
            for begin, end in pairwise(bounds)
        ]
