"""The benchmarks of a thesis on rigid contact, measured here: what `vivace bench contact` does [thesis2010, 3.8].

Solvers are compared by the seconds they take to an answer as good as that of 50 iterations of Gauss-Seidel on one
thread; how many iterations that takes is found by trial. Their solves take turns, so that what else the machine does
meets all alike. The thesis' sequential programs are here the same code on one thread: phases without a second thread
have nothing to wait for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from ..backends.cpu.executor import check_threads, default_threads
from ..checks import is_number, is_whole, shown
from ..errors import InputError
from ..pictures.bars import BarPanel, Bars, bar_panels
from ..rigid.problem import ContactProblem
from ..solvers.rigid import ContactSolver, make_contact_solver, quality, scheme_for
from . import contact_thesis as thesis
from .contact_cases import CASES, GAUSS_SEIDEL, JACOBI, JACOBI_T, ORDERS, Case, Row, in_order, rows_of
from .contact_trials import ITERATIONS, MOST, goal_of, iterations_to
from .pbd import spread
from .run import Progress, settle
from .statistics import median, percentile

REPEATS = 3
PARTS = ("tables", "scaling", "colours", "solvers", "orders")
DEFAULT_PARTS = PARTS[:4]
TABLES, SCALING = (JACOBI, GAUSS_SEIDEL), (JACOBI, JACOBI_T)
OMEGAS = (1.0, 0.5)  # what r-factors are multiplied by in the part orders
TRIED = (JACOBI, "rigid", "rigid, balanced, fixed", "relaxed, fixed")  # the solvers of that part


@dataclass(eq=False)
class Timed:
    """A solver on some threads, to the common quality: seconds of each turn. `iterations`: None if it stays worse."""

    case: str
    name: str
    solver: str
    threads: int
    iterations: int | None
    quality: float
    residual: float
    colours: np.ndarray
    unsafe: bool
    setup: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def row(self, sequential: Timed | None) -> dict[str, object]:
        """What tables and files show of it; `sequential`: Gauss-Seidel on one thread."""
        ratios = np.array(sequential.seconds) / np.array(self.seconds) if sequential else np.zeros(0)
        printed = thesis.ITERATIONS.get((self.name, self.case))
        return {
            **{name: getattr(self, name) for name in ("case", "name", "solver", "threads", "iterations", "quality")},
            "residual": self.residual,
            "colours": len(self.colours),
            "unsafe": self.unsafe,
            **spread("setup_s", self.setup),
            **spread("seconds", self.seconds),
            **spread("times_sequential", ratios),
            "thesis": None if printed is None else {"iterations": printed},
        }


class Coloured(NamedTuple):
    """The colours of a solver; `sizes` from the largest on, the unsafe one last if there is one."""

    case: str
    name: str
    solver: str
    sizes: list[int]
    unsafe: bool

    def row(self) -> dict[str, object]:
        """What tables and files show of it."""
        safe = self.sizes[:-1] if self.unsafe else self.sizes
        found = thesis.Colours(len(self.sizes), max(safe, default=0), min(safe, default=0), self.unsafe_size)
        printed = thesis.COLOURS.get((self.name, self.case))
        return {
            "case": self.case,
            "name": self.name,
            "solver": self.solver,
            **found._asdict(),
            "sizes": self.sizes,
            "thesis": printed._asdict() if printed else None,
        }

    @property
    def unsafe_size(self) -> int:
        """Contacts in the unsafe colour."""
        return self.sizes[-1] if self.unsafe else 0


@dataclass(eq=False)
class Measured:
    """A problem and what solvers did with it. `blocks` of A, and `coupled` ones: as if the ground could move."""

    name: str
    bodies: int
    contacts: int
    blocks: int
    coupled: int
    scheme: str
    goal: float = 0.0
    timed: list[Timed] = field(default_factory=list)
    colours: list[Coloured] = field(default_factory=list)
    orders: list[dict[str, object]] = field(default_factory=list)

    def find(self, name: str, threads: int = 1) -> Timed | None:
        """The run of a solver, or None."""
        return next((run for run in self.timed if (run.name, run.threads) == (name, threads)), None)

    def size_row(self) -> dict[str, object]:
        """Tables 3.2 and 3.4."""
        printed = thesis.SIZES.get(self.name)
        found = {"case": self.name, "bodies": self.bodies, "contacts": self.contacts, "blocks": self.coupled}
        return {
            **found,
            "blocks_that_couple": self.blocks,
            "thesis": printed._asdict() if printed else None,
            "equal": printed == (self.bodies, self.contacts, self.coupled) if printed else None,
        }

    def operation_rows(self) -> list[dict[str, object]]:
        """Table 3.1, its formulas with our sizes, and with the thesis'."""
        printed = thesis.SIZES.get(self.name)
        theirs = operations(printed.contacts, printed.blocks) if printed else {}
        return [
            {"case": self.name, "scheme": scheme, **counts, "auto": scheme == self.scheme, "thesis": theirs.get(scheme)}
            for scheme, counts in operations(self.contacts, self.blocks).items()
        ]

    def sequential_rows(self) -> list[dict[str, object]]:
        """Tables 3.3 and 3.5."""
        rows = []
        for name in TABLES:
            run, printed = self.find(name), thesis.SEQUENTIAL.get((name, self.name))
            if run:
                shown_there = printed._asdict() if printed else None
                rows.append({**run.row(self.find(GAUSS_SEIDEL)), "thesis": shown_there})
        return rows

    def scaling_rows(self) -> list[dict[str, object]]:
        """Tables 6.1 to 6.3: how many times as fast as one thread, and as the factorised scheme on one thread."""
        rows: list[dict[str, object]] = []
        sequential = self.find(JACOBI)
        for run in self.timed:
            own = self.find(run.name)
            if run.name not in SCALING or run.threads == 1 or own is None or sequential is None:
                continue
            printed = thesis.SPEED_UPS.get((run.name, self.name))
            seconds = np.array(run.seconds)
            rows.append(
                {
                    "case": self.name,
                    "name": run.name,
                    "threads": run.threads,
                    "iterations": run.iterations,
                    **spread("ms_an_iteration", 1e3 * seconds / (run.iterations or MOST)),
                    **spread("times_own", np.array(own.seconds) / seconds),
                    **spread("times_sequential", np.array(sequential.seconds) / seconds),
                    "thesis": printed._asdict() if printed else None,
                }
            )
        return rows

    def solver_rows(self) -> list[dict[str, object]]:
        """What figures 6.4 to 6.8 and 7.5 to 7.10 show: seconds to the common quality."""
        return [run.row(self.find(GAUSS_SEIDEL)) for run in self.timed]


def operations(contacts: int, blocks: int) -> dict[str, dict[str, int]]:
    """Table 3.1 of the thesis for K contacts and N blocks of A: of an iteration, of preparing it, of new r-factors."""
    k, n = contacts, blocks
    names = ("multiplications", "additions", "setup_multiplications", "setup_additions", "rate_multiplications")
    counts = {
        "naive": (16 * n + 8 * k, 12 * n + 4 * k, 96 * n, 80 * n, 4 * k),
        "t": (16 * n, 12 * n + 4 * k, 112 * n, 84 * n, 4 * k + 16 * n),
        "factorised": (100 * k, 100 * k, 0, 0, 4 * k),
    }
    return {scheme: dict(zip(names, row, strict=True)) for scheme, row in counts.items()}


def measure(
    case: Case,
    parts: Sequence[str] = DEFAULT_PARTS,
    threads: Sequence[int] | None = None,
    repeats: int = REPEATS,
    *,
    order: str = "given",
    omega: float = 1.0,
    progress: Progress | None = None,
) -> Measured:
    """Count, colour and time a problem as far as `parts` need it, with contacts in an order and r-factors times ω."""
    tell = progress or (lambda what, done, total: None)
    counts = sorted({1, *(threads or (default_threads(),))})
    tell(f"{case.name}: making it", 0, 1)
    problem = case.make()
    blocks, coupled = (problem.nonzero_blocks(fixed_couple=couple) for couple in (False, True))
    scheme = {"Factorised": "factorised", "TScheme": "t"}[scheme_for(problem, "auto").__name__]
    measured = Measured(case.name, problem.bodies, problem.contacts, blocks, coupled, scheme)
    tell(f"{case.name}: making it", 1, 1)
    if "orders" in parts:
        measured.orders = _orders(case.name, problem, counts[-1], tell)
    problem = in_order(problem, order)
    if "colours" in parts:
        coloured = [row for row in rows_of(problem, omega=omega, alike=True).values() if _colours(row)]
        measured.colours = [_colour(case.name, row, problem) for row in coloured]
    wanted = dict.fromkeys([*(TABLES if "tables" in parts else ()), *(SCALING if "scaling" in parts else ())])
    rows = rows_of(problem, None if "solvers" in parts else list(wanted), omega=omega)
    if rows:
        everything = {name for name, row in rows.items() if row.parallel and "solvers" in parts}
        more = everything | set(SCALING if "scaling" in parts else ())
        measured.goal = goal_of(problem, omega)
        _time(measured, problem, rows, more, counts, repeats, tell)
    return measured


def _time(
    measured: Measured, problem: ContactProblem, rows: dict[str, Row], more: set[str], counts: list[int],
    repeats: int, tell: Progress,
) -> None:  # fmt: skip
    """Find iterations by trial, which warms up what there is to be warmed up, then let the solvers take turns."""
    turns: list[tuple[Timed, ContactSolver]] = []
    guesses: dict[str, int] = {}
    what = f"{measured.name}: finding iterations by trial"
    for number, (name, row) in enumerate(rows.items()):
        tell(what, number, len(rows))
        solver = make_contact_solver(row.solver)
        twin = name.replace(" t", "")  # the same iterates but for rounding
        guess = guesses.get(twin, guesses.get("rigid", ITERATIONS) if solver.name != GAUSS_SEIDEL else ITERATIONS)
        found, best = iterations_to(measured.goal, partial(solver.solve, problem, threads=counts[-1]), problem, guess)
        guesses[name] = found or MOST
        about = (found, quality(problem, best.impulses), float(best.residuals[-1]), best.colours, best.unsafe)
        for count in counts if name in more else counts[:1]:
            turns.append((Timed(measured.name, name, row.solver, count, *about), solver))
    tell(what, len(rows), len(rows))
    settle()
    for turn in range(repeats):
        tell(f"{measured.name}: timing", turn, repeats)
        for timed, solver in turns:
            solved = solver.solve(problem, timed.iterations or MOST, threads=timed.threads)
            timed.setup.append(solved.setup)
            timed.seconds.append(solved.seconds)
    tell(f"{measured.name}: timing", repeats, repeats)
    measured.timed = [timed for timed, _ in turns]


def _orders(case: str, problem: ContactProblem, threads: int, tell: Progress) -> list[dict[str, object]]:
    """Iterations to the quality of 50 of Gauss-Seidel, which depends on the order of contacts, and on r-factors."""
    out: list[dict[str, object]] = []
    for order in ORDERS:
        for omega in OMEGAS:
            tell(f"{case}: orders", len(out), len(ORDERS) * len(OMEGAS))
            ordered = in_order(problem, order)
            goal, guess, needed = goal_of(ordered, omega), ITERATIONS, {}
            for name, row in rows_of(ordered, TRIED, omega=omega).items():
                solver = make_contact_solver(row.solver)
                needed[name] = iterations_to(goal, partial(solver.solve, ordered, threads=threads), ordered, guess)[0]
            printed = {name: thesis.ITERATIONS.get((name, case)) for name in needed}
            theirs = {"quality": thesis.SEQUENTIAL[GAUSS_SEIDEL, case].quality} if case in thesis.SIZES else None
            about = {"case": case, "order": order, "omega": omega, "quality": goal, "iterations": needed}
            out.append({**about, "thesis": theirs and {**theirs, "iterations": printed}})
    tell(f"{case}: orders", len(out), len(out))
    return out


def _colours(row: Row) -> bool:
    return row.solver.startswith("coloured") and "scheme=t" not in row.solver


def _colour(case: str, row: Row, problem: ContactProblem) -> Coloured:
    solver = make_contact_solver(row.solver)
    solver.arrange(problem)
    sizes = [int(size) for size in solver.colours]
    last = [sizes.pop()] if solver.unsafe else []
    return Coloured(case, row.name, row.solver, sorted(sizes, reverse=True) + last, solver.unsafe)


def check_benchmark(
    sizes: Sequence[str], parts: Sequence[str], threads: Sequence[int], repeats: int, omega: float = 1.0
) -> None:
    """Complain about names and numbers before anything is made."""
    for what, values, known in (("size", sizes, CASES), ("part", parts, PARTS), ("number of threads", threads, None)):
        if not len(values):
            raise InputError(f"a benchmark of contact needs at least one {what}")
        for value in values:
            if known is not None and value not in known:
                raise InputError(f"unknown {what} {shown(value)}; there are {', '.join(known)}")
            if list(values).count(value) > 1:
                raise InputError(f"the {what} {value!r} is there twice; leave one out")
    for count in threads:
        check_threads(count)
    if not is_whole(repeats) or repeats < 1:
        raise InputError(f"repeats must be a whole number of at least 1, not {shown(repeats)}")
    if not is_number(omega) or not 0 < omega < 2:
        raise InputError(f"omega must lie between 0 and 2, not {shown(omega)}")


def as_json(found: Sequence[Measured], parts: Sequence[str]) -> dict[str, list[dict[str, object]]]:
    """All rows of the parts asked for, under the names that scripts rely on."""
    out: dict[str, list[dict[str, object]]] = {}
    if "tables" in parts:
        out["sizes"] = [measured.size_row() for measured in found]
        out["operations"] = [row for measured in found for row in measured.operation_rows()]
        out["sequential"] = [row for measured in found for row in measured.sequential_rows()]
    if "scaling" in parts:
        out["scaling"] = [row for measured in found for row in measured.scaling_rows()]
    if "colours" in parts:
        out["colours"] = [row.row() for measured in found for row in measured.colours]
    if "solvers" in parts:
        out["solvers"] = [row for measured in found for row in measured.solver_rows()]
    if "orders" in parts:
        out["orders"] = [row for measured in found for row in measured.orders]
    return out


def plot(path: str | os.PathLike[str], found: Sequence[Measured], settings: dict[str, object] | None = None) -> None:
    """Seconds to the common quality, a panel for each problem and a bar for each solver and number of threads."""
    panels = []
    for measured in found:
        groups: dict[str, list[Timed]] = {}
        for run in measured.timed:
            groups.setdefault(run.name, []).append(run)
        bars = {
            f"{name}  ({runs[0].iterations or f'> {MOST}'})": {
                f"{run.threads} thread{'s' * (run.threads > 1)}": _bar(run) for run in runs
            }
            for name, runs in groups.items()
        }
        sequential = measured.find(GAUSS_SEIDEL)
        mark = None if sequential is None else median(sequential.seconds)
        title = f"{measured.name}: {measured.contacts:,} contacts"
        below = "seconds to the quality of 50 Gauss-Seidel iterations\n(in brackets: iterations; dashed: gauss-seidel)"
        panels.append(BarPanel(bars, title, below, mark))
    bar_panels(path, panels, settings=settings)


def _bar(run: Timed) -> Bars:
    middle, low, high = (percentile(run.seconds, share) or 0.0 for share in (50, 10, 90))
    return Bars(middle, low, high)
