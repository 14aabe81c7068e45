"""What a solver is. To add one: a file beside this one, a class with `prepare` and `solve`, one decorator.

`prepare` is called when the system is new or its constraints have changed: colour, lay out, factorise. `solve` is
called every step and must leave finite positions behind whatever the budget, at least one sweep's worth.
"""

from __future__ import annotations

import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from ..backends.cpu.arguments import Phase
from ..checks import is_whole, read_value, shown
from ..collisions.contacts import ContactForces, Contacts
from ..colouring import Colouring
from ..constraints import Role
from ..deprecation import warn
from ..energy.system import Frame, System
from ..errors import InputError
from ..hyperelastic.term import Hyperelastic
from ..model.model import Model
from ..registry import Registry
from .budget import Budget as Budget
from .budget import Deadline as Deadline
from .budget import as_budget as as_budget

DEEPEST = 8  # solvers inside each other
# What touches needs some iterations to hold together: with fewer it melts, more of it touches, and the next step takes
# longer still. So it gets them even if that is late (`Report.late_ms`).
LEAST_SWEEPS, LEAST_ROUNDS = 8, 4  # of solvers that sweep over vertices or constraints; that move everything at once


@dataclass(frozen=True)
class Outcome:
    """What a solve did: what `Solver.solve` returns, and `Simulation.step` puts into its report.

        return Outcome(sweeps, residual, stopped)

    Attributes:
        sweeps: how many.
        residual: norm of the residual (N) that the last sweep met, vertex by vertex. Where projections are kept for
            some sweeps it is the residual with those; `Report.gradient` is the true one.
        stopped: "time", "iterations" or "tolerance".
        swept_ns: when the last sweep ended, on the clock of time.perf_counter_ns; unless told, now.
        note: what a user should know: acceleration that was reduced, a hierarchy that is still being built, ...
        residuals: (k, 2), if they were asked for: numbers of sweeps over fresh projections, and the norm of the
            residual each met.
    """

    sweeps: int
    residual: float
    stopped: str
    swept_ns: int = field(default_factory=time.perf_counter_ns)
    note: str = ""
    residuals: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))


SubstepsPlan = Callable[[Sequence[Deadline]], Outcome]  # a deadline for each substep


class Solver(ABC):
    """Who finds the positions that a step ends with. One of your own is a class with two methods, and a name.

        @vv.SOLVERS.register("mine")
        @dataclass(eq=False)
        class Mine(vv.Solver):
            '''One line, which `vivace list solvers` shows.

            Limitations: what it cannot do; the docstring ends with it.
            '''

            omega: float = 1.0  # an option, "mine:omega=0.5"; the docstring tells its range

            name = "mine"

            def prepare(self, system, *, threads, seed):
                self.system = system  # and all that does not depend on where the vertices are

            def solve(self, start, constant, out, deadline):
                energy = self.system.around(start[:, :3], constant[:, :3])  # q ↦ ε(q), ∇ε(q)
                ...
                out[:, :3] = q
                return vv.Outcome(sweeps, residual, stopped)

    `Simulation(model, solver="mine")` then uses it, and so do scene files and `vivace run`. All other methods have a
    default that is right for a solver without memory, contacts and colours. examples/own_solver.py is a whole one.
    """

    name: ClassVar[str] = ""
    colouring: Colouring | None = None  # of the current system, for solvers that colour
    system: System | None = None  # the one `prepare` was last called for
    starts_anywhere: bool = True  # whether the first guess may be another than the prediction
    wrappers: ClassVar[Mapping[str, type[Solver]]] = {}  # what accelerates it in its own way, by the accelerator's name
    takes_terms: ClassVar[bool] = False  # whether it minimises energy terms of a model's own (`Model.add`)
    takes_hyperelastic: ClassVar[bool] = False  # whether it minimises those of hyperelastic materials
    takes_valued: ClassVar[bool] = False  # whether it takes constraints that are known by their value alone
    takes_flowing: ClassVar[bool] = True  # whether it takes constraints that keep what happens to them, as creases do
    takes_free_bodies: bool = False  # whether it can be asked to push rigid bodies that are free
    pushes_bodies: bool = False  # whether `contact_forces` tells what presses on rigid bodies that are free
    snaps_pins: bool = True  # whether the first guess has pinned vertices at their targets, and not at the prediction

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "touch" in cls.__dict__:  # what `set_contacts` was called
            warn(f"{cls.__name__}.touch", f"{cls.__name__}.set_contacts")
            cls.set_contacts = cls.__dict__["touch"]  # type: ignore[method-assign]

    @property
    def plan_key(self) -> object:
        """What changes when plans made by `plan_substeps` no longer hold."""
        return self.system

    @property
    def used(self) -> str:
        """The solver that made the last step: itself, unless it chooses among others."""
        return self.name

    @property
    def takes_contacts(self) -> bool:
        """Whether it can follow what a model touches."""
        return type(self).set_contacts is not Solver.set_contacts

    def why_not(self, model: Model) -> str:
        """What of a model it cannot simulate, in a few words; "" if it can. Asked before anything is prepared."""
        touching = model.collisions
        if touching is not None and not self.takes_contacts:
            return "it does not follow contacts"
        if touching is not None and any(not b.immovable for b in touching.bodies) and not self.takes_free_bodies:
            return "it does not push rigid bodies"
        alone = all(isinstance(term, Hyperelastic) for term in model.terms)
        if model.terms and not (self.takes_terms or (alone and self.takes_hyperelastic)):
            return "it cannot minimise energy terms of the model's own"
        valued = [group.kind.name for group in model.groups if group.kind.role is Role.POSITION and len(group)]
        if valued and not self.takes_valued:
            return f"it does not know the constraint {valued[0]!r}"
        flowing = [group.kind.name for group in model.groups if group.kind.flow is not None and len(group)]
        if flowing and not self.takes_flowing:
            return f"its iterations bend too far before they converge, and {flowing[0]!r} would keep that as a crease"
        return ""

    def substeps_for(self, model: Model, h: float, budget: Budget) -> int:
        """In how many equal parts this solver does best to make a step of h seconds under a budget."""
        return 1

    def time_itself(self, model: Model) -> bool:
        """Measure what an iteration takes here, for `substeps_for`; False where that depends on no measurement."""
        return False

    @abstractmethod
    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Get ready for `system`; everything that depends on its constraints but not on its state.

        Called before the first step and whenever `system` is another; sets `self.system` when all is ready. The result
        must not depend on `threads`; `seed` is for what is drawn at random.
        """

    def adapt(self, system: System) -> bool:
        """Go on with a system that differs from the last in its pins only (`System.shares_structure`), within a frame.

        False: not possible, `prepare` anew.
        """
        return False

    @property
    def colours(self) -> int | None:
        """How many there are; None for solvers that do not colour."""
        return self.colouring.count if self.colouring else None

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray) -> None:
        """The contacts of the next step, which began at `previous` and whose first guess is `start` (n, 4)."""
        if len(contacts):
            raise InputError(f"solver {self.name!r} does not know contacts; see docs/collisions.md for those that do")

    def contact_forces(self) -> ContactForces | None:
        """What colliders and bodies held vertices with at the end of the last solve; None: not known."""
        return None

    def remembered(self) -> dict[str, np.ndarray]:
        """What the next step needs of earlier ones to give the same bits: copies, by name. See `Simulation.state`."""
        return {}

    def recall(self, memory: dict[str, np.ndarray]) -> None:  # noqa: B027
        """Go on with what `remembered` gave; `prepare` has been called."""

    def see(self, frame: Frame) -> None:  # noqa: B027
        """The next step's problem, in float64: only called for models with terms of their own, which may read it."""

    def forget(self) -> None:  # noqa: B027
        """What was kept of earlier steps does not lead to the next: positions or velocities have been set."""

    def wait(self) -> None:  # noqa: B027
        """Finish what `prepare` has left to the background, if anything."""

    def plan_substeps(
        self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, before: Sequence[Phase], after: Sequence[Phase]
    ) -> SubstepsPlan | None:
        """A way to solve all substeps of a frame in one go, or None: then each is solved by itself.

        `before` writes `start` and `constant` of a substep, `after` takes what is in `out`.
        """
        return None

    @abstractmethod
    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Minimise the step's energy from the first guess `start`; write the positions to `out`.

        All are (n, 4) float32 in the order of the mesh, the fourth column zero; `constant` is `System.constant`. What
        is written must be finite, and one sweep's worth at least, however short the time until the deadline.
        """


SOLVERS: Registry[type[Solver]] = Registry("solver")


def refuse_terms(model: Model, family: str) -> None:
    """For solvers that cannot minimise terms of a model's own: says so, and who can."""
    if model.terms:
        alone = all(isinstance(term, Hyperelastic) for term in model.terms)
        able = " or ".join(
            repr(name) for name, cls in SOLVERS.items() if cls.takes_terms or (alone and cls.takes_hyperelastic)
        )
        name = type(model.terms[0]).__name__
        raise InputError(f"{family} cannot minimise the model's own energy term {name}; choose solver {able}")


def refuse_flowing(model: Model, family: str) -> None:
    """For solvers whose iterations are far from converged: what flows follows where steps end, and keeps it."""
    for group in model.groups:
        if group.kind.flow is not None and len(group):
            raise InputError(
                f"{family} does not take the constraint {group.kind.name!r}: iterations that have not converged bend "
                'too far in places, and creases keep that; choose solver="auto", or "newton" for bending="dihedral"'
            )


def make_solver(what: str | tuple[str, dict[str, Any]] | Solver) -> Solver:
    """A solver from its name, ("name", {options}), "name:option=value,...", "name(inner)..." or itself.

    "chebyshev(jacobi:omega=0.9):rho=0.999" is chebyshev with the options inner="jacobi:omega=0.9" and rho=0.999.
    """
    if isinstance(what, Solver):
        return what
    _check_depth(what)
    name: str
    options: dict[str, object] = {}
    if isinstance(what, str):
        name = what
    elif isinstance(what, (tuple, list)) and len(what) == 2 and isinstance(what[1], dict):
        name, options = what
    else:
        raise InputError(
            f"a solver is a name, 'name:option=value', ('name', {{options}}) or a Solver, not {shown(what)}"
        )
    if isinstance(name, str):
        name, written = parse_solver(name)
        options = {**written, **options}
    cls = SOLVERS[name]
    inner = options.get("inner")
    if isinstance(inner, str):  # some solvers have a class of their own for what accelerates them
        cls = SOLVERS[parse_solver(inner)[0]].wrappers.get(name, cls)
    known = set(options_of(cls))
    for key in options:
        if key not in known:
            raise InputError(
                f"solver {name!r} has no option {shown(key)}; its options: {', '.join(sorted(known)) or 'none'}"
            )
        value = options[key]
        if not isinstance(value, (int, float, str, np.generic, tuple, list, Solver, type(None))):
            raise InputError(
                f"option {key!r} of solver {name!r} is a number, a truth value or text, not {shown(value)}"
            )
        if is_whole(value) and not -(2**63) <= value < 2**63:  # type: ignore[operator]
            raise InputError(f"option {key!r} of solver {name!r} is a whole number beyond 64 bits: {shown(value)}")
    return cls(**options)


def _check_depth(what: object) -> None:
    """Refuse solvers inside solvers inside solvers that nobody can mean, however they are written."""
    depth = 0
    while isinstance(what, (tuple, list)) and len(what) == 2 and isinstance(what[1], dict) and depth <= DEEPEST:
        what, depth = what[1].get("inner", what[0]), depth + 1
    if isinstance(what, str):
        depth += max(accumulate((letter == "(") - (letter == ")") for letter in what), default=0) + what.count("inner")
    if depth > DEEPEST:
        raise InputError(
            f"solvers are nested more than {DEEPEST} deep in {shown(what)}; one or two wrappers are enough"
        )


def parse_solver(text: str) -> tuple[str, dict[str, object]]:
    """The name and options of "name(inner):option=value,..."."""
    head, inner, rest = text, None, ""
    bracket, colon = text.find("("), text.find(":")
    if bracket >= 0 and (colon < 0 or bracket < colon):
        close = text.rfind(")")
        if close < bracket or (text[close + 1 :].strip() and not text[close + 1 :].lstrip().startswith(":")):
            raise InputError(f"the brackets of solver {text!r} do not close; write name(inner):option=value")
        head, inner, rest = text[:bracket], text[bracket + 1 : close].strip(), text[close + 1 :].strip()[1:]
    elif colon >= 0:
        head, rest = text[:colon], text[colon + 1 :]
    options = dict(_option(part) for part in _split(rest) if part.strip())
    if inner is not None:
        options["inner"] = inner
    return head.strip(), options


def _split(text: str) -> list[str]:
    """Parts between commas that are not inside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _option(text: str) -> tuple[str, object]:
    key, separator, value = text.partition("=")
    if not separator:
        raise InputError(f"a solver's option is written name=value, not {text!r}")
    return key.strip(), read_value(value)


def options_of(cls: type[Solver]) -> dict[str, object]:
    """Option names and defaults of a registered solver."""
    items: tuple[Field[Any], ...] = fields(cls) if is_dataclass(cls) else ()
    return {item.name: (item.default if item.default is not MISSING else None) for item in items if item.init}


def solver_as_data(solver: Solver) -> tuple[str, dict[str, Any]]:
    """("name", {options}) of a solver, from which `make_solver` makes it again; for files."""
    for name, cls in SOLVERS.items():
        if type(solver) is cls or any(type(solver) is made.wrappers.get(name) for made in SOLVERS.values()):
            found = {key: getattr(solver, key) for key in options_of(type(solver))}
            return name, {
                k: solver_as_data(value) if isinstance(value, Solver) else value for k, value in found.items()
            }
    raise InputError(
        f"the solver {type(solver).__name__} has no name that a file could tell; register its class with "
        '@vivace.SOLVERS.register("a name")'
    )


def limitations_of(cls: type) -> str:
    """What a solver cannot do or does badly, in the words of its docstring, which ends with them; "" if it has none."""
    text = inspect.cleandoc(cls.__doc__ or "").partition("Limitations: ")[2]
    return " ".join(text.split())
