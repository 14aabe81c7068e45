"""What a solver of contact problems is: an order of the contacts, and the phases of an iteration over them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan, check_threads
from ...checks import is_number, is_whole, shown
from ...errors import InputError
from ...registry import Registry
from ...rigid.problem import UNKNOWNS, ContactProblem
from ..base import parse_solver
from .kernels import factorised as kernels
from .kernels.friction import with_friction
from .rates import rates_of
from .schemes import SCHEMES, Scheme, body_rows, contact_rows, contacts_of_bodies, scheme_for

TRIES = 5  # how often r-factors are made smaller before one gives up [thesis2010, section 3.5]
QUALITY_RATE = 100.0  # the constant r-factor of the quality γ (3.32)
CHUNK = 1024  # contacts whose quality is summed together: fixed, so that sums do not depend on threads


@dataclass(eq=False)
class Solution:
    """What a solver found.

    Attributes:
        impulses: (K, 4) along normal and tangents, in N s, and of the spin.
        residuals: the largest change of an impulse in each iteration that was kept (3.31).
        iterations: how many were made, those that were taken back included.
        tries: how often r-factors were made smaller.
        colours: sizes of the colours, the unsafe one last if there is one; none for solvers that do not colour.
        unsafe: whether the last colour has contacts that depend on each other.
        setup: seconds for arrays and colours.
        seconds: of the iterations.
        scheme: how velocities of contacts were found.
    """

    impulses: np.ndarray
    residuals: np.ndarray
    iterations: int
    tries: int
    colours: np.ndarray
    unsafe: bool
    setup: float
    seconds: float
    scheme: str


CONTACT_SOLVERS: Registry[type[ContactSolver]] = Registry("contact solver")


@dataclass(eq=False)
class ContactSolver(ABC):
    """Base class of solvers of contact problems.

    Args:
        scheme: "factorised", "t", "naive", or "auto": the one with less to do an iteration.
        r: r-factors: "local", "global", or a number.
        omega: times the r-factors: projected successive over-relaxation above 1.
        growth: a residual so many times the smallest so far is divergence, and the iteration taken back; the thesis
            takes 1, which mistakes the first iterations for it.
        factor: ν, by which r-factors are multiplied then.
    """

    scheme: str = "auto"
    r: str | float = "local"
    omega: float = 1.0
    growth: float = 4.0
    factor: float = 0.5

    name: ClassVar[str]

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise InputError(f"unknown scheme {shown(self.scheme)}; there are {', '.join(SCHEMES)}")
        for name, low, high in (("omega", 0.0, 2.0), ("growth", 1.0, np.inf), ("factor", 0.0, 1.0)):
            value = getattr(self, name)
            if not is_number(value) or not (low < value < high or (name == "growth" and value == low)):
                raise InputError(
                    f"{name} of a contact solver must lie between {low:g} and {high:g}, not {shown(value)}"
                )

    # --- what a solver decides --------------------------------------------------------------------------------------

    def arrange(self, problem: ContactProblem) -> np.ndarray:
        """The order in which contacts are visited."""
        return np.arange(problem.contacts)

    def arranged(self, problem: ContactProblem) -> np.ndarray:
        """The same; kept for as long as the same bodies touch, because what is arranged depends on nothing else."""
        names = contact_options(type(self))
        options = {name: getattr(self, name) for name in names}
        if self._known is not None:
            chosen, pairs, movable, order, found = self._known
            same = chosen == options and np.array_equal(movable, problem.movable)
            if same and np.array_equal(pairs, problem.pairs):
                vars(self).update(found)  # somebody may have arranged another problem in between
                return np.asarray(order)
        order = self.arrange(problem)
        found = {name: value for name, value in vars(self).items() if name not in names and name != "_known"}
        self._known = options, problem.pairs.copy(), problem.movable, order, found
        return order

    @abstractmethod
    def iteration(self, scheme: Scheme) -> list[Phase]:
        """The phases of one iteration."""

    colours: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64), init=False, repr=False)
    unsafe: bool = field(default=False, init=False, repr=False)
    _known: Any = field(default=None, init=False, repr=False)  # what the last problem was arranged by, and how

    # --- the solve --------------------------------------------------------------------------------------------------

    def solve(
        self,
        problem: ContactProblem,
        iterations: int = 50,
        *,
        tolerance: float = 0.0,
        deadline_ns: int | None = None,
        start: np.ndarray | None = None,
        threads: int | None = None,
    ) -> Solution:
        """Impulses that satisfy the problem better with every iteration.

        Args:
            problem: the contacts.
            iterations: how many at most.
            tolerance: stop when no impulse changes by more (N s).
            deadline_ns: stop before `time.perf_counter_ns()` reaches it.
            start: (K, 4) impulses to begin with, such as the last step's.
            threads: default: one for each core; the result does not depend on it.
        """
        threads = check_threads(threads)
        if not is_whole(iterations) or iterations < 1:
            raise InputError(f"iterations must be a whole number of at least 1, not {shown(iterations)}")
        if not is_number(tolerance) or tolerance < 0:
            raise InputError(f"tolerance must be zero or a positive impulse in N s, not {shown(tolerance)}")
        start = as_impulses(start, problem)
        began = time.perf_counter()
        if not problem.contacts:
            none = np.zeros(0)
            return Solution(np.zeros((0, UNKNOWNS)), none, 0, 0, none.astype(int), False, 0.0, 0.0, self.scheme)
        cls = self.scheme_class(problem)
        order = self.arranged(problem)
        scheme = cls(problem, order, rates_of(problem, self.r, self.omega), start)
        scheme.expect(iterations, tolerance, TRIES, self.growth, self.factor)
        scheme.threads = threads
        run = self.planned(scheme, threads)
        ready = time.perf_counter()
        made = run(iterations, deadline_ns)
        seconds = time.perf_counter() - ready
        tries = made - len(scheme.kept_residuals)
        return Solution(
            scheme.result, scheme.kept_residuals, made, tries, self.colours, self.unsafe, ready - began, seconds,
            cls.__name__.lower(),
        )  # fmt: skip

    def planned(self, scheme: Scheme, threads: int) -> Callable[[int, int | None], int]:
        """A function of the iterations and the deadline that makes them, and tells how many."""
        return Plan([*self.iteration(scheme), scheme.judge()], threads, scheme.monitor).run

    def scheme_class(self, problem: ContactProblem) -> type[Scheme]:
        """How velocities of contacts are found."""
        return scheme_for(problem, self.scheme)


def as_impulses(start: Any, problem: ContactProblem) -> np.ndarray | None:
    """Impulses to begin with, checked; None as it is."""
    if start is None:
        return None
    found = np.asarray(start, float)
    if found.shape != (problem.contacts, UNKNOWNS) or not np.isfinite(found).all():
        raise InputError(f"impulses to begin with must be finite and of shape ({problem.contacts}, {UNKNOWNS})")
    return found


def make_contact_solver(what: str | ContactSolver) -> ContactSolver:
    """A solver from its name, "name:option=value,...", or itself."""
    if isinstance(what, ContactSolver):
        return what
    if not isinstance(what, str):
        raise InputError(f"a contact solver is a name, 'name:option=value' or a ContactSolver, not {shown(what)}")
    name, options = parse_solver(what)
    cls = CONTACT_SOLVERS[name]
    known = contact_options(cls)
    for key in options:
        if key not in known:
            raise InputError(f"contact solver {name!r} has no option {key!r}; its options: {', '.join(sorted(known))}")
    return cls(**options)  # type: ignore[arg-type]


def contact_solver_as_data(solver: ContactSolver) -> tuple[str, dict[str, object]]:
    """("name", {options}) of a contact solver, for files."""
    for name, cls in CONTACT_SOLVERS.items():
        if type(solver) is cls:
            return name, {key: getattr(solver, key) for key in contact_options(cls)}
    raise InputError(
        f"the contact solver {type(solver).__name__} has no name that a file could tell; register its class with "
        '@CONTACT_SOLVERS.register("a name")'
    )


def contact_solver_of_data(data: object) -> ContactSolver:
    """The contact solver of ("name", {options})."""
    if not isinstance(data, tuple) or len(data) != 2 or not isinstance(data[1], dict):
        raise InputError(f"a contact solver is stored as its name and options, not {shown(data)}")
    cls = CONTACT_SOLVERS[data[0]]
    for key in data[1]:
        if key not in contact_options(cls):
            raise InputError(f"contact solver {data[0]!r} has no option {shown(key)}")
    return cls(**data[1])


def contact_options(cls: type[ContactSolver]) -> dict[str, object]:
    """Option names and defaults of a contact solver."""
    return {item.name: item.default for item in fields(cls) if item.init}


def quality(problem: ContactProblem, impulses: np.ndarray, rate: float = QUALITY_RATE) -> float:
    """γ = ½ ‖prox(λ - r (A λ + b)) - λ‖² with one r for all: how far λ is from an answer, whoever found it (3.32)."""
    if not problem.contacts:
        return 0.0
    order = np.arange(problem.contacts)
    rows, bodies = contact_rows(problem, order, np.full((problem.contacts, 3), rate)), body_rows(problem)
    flat, w = np.ascontiguousarray(impulses, float).ravel(), np.zeros(kernels.BODY * problem.bodies)
    pairs = np.ascontiguousarray(problem.pairs, np.int32)
    starts, touching = contacts_of_bodies(pairs, problem.bodies)
    gathered = {"starts": starts, "touching": touching, "bodies": bodies, "rows": rows, "impulses": flat, "w": w}
    chunks = np.append(np.arange(0, problem.contacts, CHUNK), problem.contacts).astype(np.int32)
    out = np.zeros(len(chunks) - 1)
    measured = {"starts": chunks, "rows": rows, "pairs": pairs.ravel(), "impulses": flat, "w": w, "out": out}
    measure = with_friction(kernels.measure, problem.own)
    Plan([Phase(kernels.gather, gathered, 0, problem.bodies), Phase(measure, measured, 0, len(out))], 1).run()
    return float(out.sum())
