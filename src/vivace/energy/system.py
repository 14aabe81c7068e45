"""The problem of one time step, in float64, as projective dynamics treats it: the matrix Y and the right-hand side b.

With the prediction s = q_n + (h v_n + h² M⁻¹ f)/(1 + air h) the new positions minimise [fratarcangeli2018, Eq. 12, 13]

    ε(q) = (1 + air h)/(2h²) ‖q - s‖²_M + viscosity/(2h) ‖q - q_n‖²_K + Σ_c w_c/2 ‖A_c q - p_c‖²

where K = Σ w AᵀA without the pins. Both kinds of damping are Rayleigh's dissipation in implicit Euler: quadratic, so
they join the constant matrix and cannot make a step unstable. Hyperelastic elements may turn freely, though: see
`hyperelastic.viscosity`. (Air's own term, air/(2h) ‖q - q_n‖²_M, is merged into
the first, whose minimum without constraints is then the damped flight: a solver stopped early still feels the air.)
For fixed p the minimum solves

    Y q = b,   Y = (1/h² + air/h) M + (1 + viscosity/h) K + W_pins,   b = constant + Σ w Aᵀ p.

Y acts on the three coordinates alike: it is stored as an n x n matrix.

Without inertia (`static`) there is no time either, hence no damping, and external forces f are a term of their own:

    ε(q) = 1/(2h²) ‖q - q_n‖²_M - f·(q - q_n) + Σ_c w_c/2 ‖A_c q - p_c‖².

Its first term is a small one: h is then not the time step but HOLD, in which a body would fall half a kilometre. It
makes H definite where pins leave a body free to turn, and vanishes where q_n is the equilibrium: a pendulum of a metre
is left 1e-3 of its way short by a step, and 1e-6 by two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..checks import check_flag, check_time_step, shown
from ..constraints import Role
from ..errors import InputError
from ..hyperelastic.term import Hyperelastic
from ..hyperelastic.viscosity import Turning
from ..model import Model
from ..terms.term import Frame
from .motion import Inertia, Load, Pins, Viscosity
from .objective import Objective
from .stiffness import Stiffness, assembled, row_sums
from .stored import Projected, Quadratic, Springs, Valued, project, values

__all__ = ["HOLD", "Frame", "System", "assembled", "project", "row_sums", "values"]

HOLD = 10.0  # s: a step without inertia is held to where it began as loosely as by inertia in a step of this length


class System:
    """Matrix, energy and gradient of a model at a time step of h seconds.

    Args:
        model: whose steps these are.
        h: time step (s); HOLD with `static`.
        like: a system whose assembled arrays are taken over as far as this one has the same constraints.
        static: steps without inertia and damping.
    """

    def __init__(self, model: Model, h: float, like: System | None = None, *, static: bool = False):
        if not isinstance(model, Model):
            raise InputError(f"a system is made of a Model (Model.of(mesh, material)), not {shown(model)}")
        check_flag("static, whether steps have no inertia,", static)
        self.model, self.h, self.static = model, check_time_step(h), static
        inner = [g for g in model.groups if g.kind.role not in (Role.TARGET, Role.POSITION) and len(g)]
        self.springs = [group for group in inner if group.kind.role is Role.SPRING]
        self.projected = [group for group in inner if group.kind.role is Role.PROJECTED]
        self.quadratic = [group for group in inner if group.kind.role is Role.QUADRATIC]
        self.positional = [group for group in model.groups if group.kind.role is Role.POSITION and len(group)]
        self.pins = [group for group in model.groups if group.kind.role is Role.TARGET and len(group)]
        self.hyperelastic = [term for term in model.terms if isinstance(term, Hyperelastic)]
        inner += [term.proxy for term in self.hyperelastic]  # in Y; their energy is that of the model's own term
        self._inner = inner
        shared = like is not None and like.n == model.n and _same(inner, like._inner)
        self._stiffness: Stiffness = like._stiffness if like is not None and shared else Stiffness(model.n, inner)
        self.pin_weight = np.zeros(model.n)
        for group in self.pins:
            np.add.at(self.pin_weight, group.vertices[:, 0], group.weights)
        # share of its motion that air leaves a free vertex in a step
        self.air_factor = 1.0 if static else 1.0 / (1.0 + model.air * h)
        self.inertia = model.masses / (self.air_factor * h**2)
        self.viscous = 0.0 if static else model.viscosity / h  # factor on K
        self.contact_weight: np.ndarray | float = 0.0  # what contacts add to the diagonal (N/m)

    def touched(self, weight: np.ndarray) -> System:
        """This system with contacts that add `weight` (n,) to its diagonal."""
        other = System(self.model, self.h, like=self, static=self.static)
        other.contact_weight = weight
        return other

    @cached_property
    def objective(self) -> Objective:
        """What a step minimises, term by term."""
        n = self.n
        viscosity = [Viscosity(self.viscous, self._stiffness)] if self.viscous else []
        stored = [
            *(Springs(group, n) for group in self.springs),
            *(Projected(group, n) for group in self.projected),
            *(Quadratic(group, n) for group in self.quadratic),
            *(Valued(group) for group in self.positional),
        ]
        load = [Load()] if self.static else []
        turning = [Turning(term, self.viscous) for term in self.hyperelastic] if self.viscous else []
        own = [*self.model.terms, *turning]
        return Objective(n, [Inertia(self.inertia), *load, *viscosity, *self._pins], stored, own)

    @cached_property
    def _pins(self) -> list[Pins]:
        firsts = np.cumsum([0, *(len(group) for group in self.pins)])
        return [Pins(group, int(first), self.n) for group, first in zip(self.pins, firsts, strict=False)]

    # K and Y are assembled when first asked for: position based solvers never do.

    @property
    def stiffness_off(self) -> sp.csr_matrix:
        """K without its diagonal."""
        return self._stiffness.parts[0]

    @property
    def stiffness_diagonal(self) -> np.ndarray:
        """The diagonal of K."""
        return self._stiffness.parts[1]

    @property
    def stiffness_tie(self) -> np.ndarray:
        """Row sums of K."""
        return self._stiffness.parts[2]

    @property
    def off(self) -> sp.csr_matrix:
        """Y without its diagonal."""
        return self._stiffness.scaled(1.0 + self.viscous)

    @cached_property
    def tie(self) -> np.ndarray:
        """Row sums of Y: what holds a vertex to the world and not to its neighbours."""
        held = self.inertia + self.pin_weight + self.contact_weight
        return held + (1.0 + self.viscous) * self.stiffness_tie

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of Y."""
        held = self.inertia + self.pin_weight + self.contact_weight
        return held + (1.0 + self.viscous) * self.stiffness_diagonal

    @property
    def n(self) -> int:
        """The number of vertices."""
        return self.model.n

    def shares_structure(self, other: System) -> bool:
        """Whether nothing but pins tells the two apart: then their matrices differ on the diagonal only."""
        mine, theirs = self.model, other.model
        return (
            (self.h, self.static) == (other.h, other.static)
            and (mine.air, mine.viscosity) == (theirs.air, theirs.viscosity)
            and _same(self._inner, other._inner)
            and _same(self.positional, other.positional)
            and _same(mine.terms, theirs.terms)
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
        load = self.model.masses[:, None] * acceleration if self.static else None
        s = q.copy() if self.static else q + self.air_factor * (self.h * v + self.h**2 * acceleration)
        start = s.copy()
        start[self.model.pinned] = targets
        return Frame(s, start, q, targets, self.h, self.model.pinned, load)

    def constant(self, frame: Frame) -> np.ndarray:
        """The part of b that no projection changes (n, 3)."""
        b: np.ndarray = self.inertia[:, None] * frame.s
        if self.static and frame.load is not None:
            b += frame.load
        if self.viscous:
            b += self.viscous * self._stiffness.times(frame.previous)
        for pins in self._pins:
            weights = pins.group.weights[:, None]
            np.add.at(b, pins.group.vertices[:, 0], weights * pins.held(frame))
        return b

    def right_hand_side(self, q: np.ndarray, frame: Frame) -> np.ndarray:
        """b with the projections at q (n, 3)."""
        b = self.constant(frame)
        for term in self.objective.stored:
            if isinstance(term, Projected) and not isinstance(term, Quadratic):
                b += term.operator.T @ (term.weights * project(term.group, term.operator @ q))
        return b

    def energy(self, q: np.ndarray, frame: Frame) -> float:
        """ε(q) in joules."""
        return self.objective.energy(q, frame)

    def potential(self, q: np.ndarray) -> float:
        """The elastic part of ε: what the constraints other than pins store (J)."""
        return self.objective.potential(q)

    def gradient(self, q: np.ndarray, frame: Frame) -> np.ndarray:
        """∇ε(q), (n, 3) in newtons: Y q - b(q), where constraints with a projection and quadratic ones are all."""
        return self.objective.gradient(q, frame)

    def evaluate(self, q: np.ndarray, frame: Frame) -> tuple[float, np.ndarray]:
        """ε and ∇ε together, with one projection of each constraint."""
        return self.objective.evaluate(q, frame)

    def around(
        self, start: np.ndarray, constant: np.ndarray, frame: Frame | None = None
    ) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """The function q ↦ (ε(q) up to a constant, ∇ε(q)), from what solvers know of a frame: (n, 3) in float64.

        With x = q - start, the inertial part is x·Bx/2 + x·(B start - constant), B = Y without the constraints' own K:
        in differences, because q·Bq/2 - q·constant would cancel far from the origin. `frame`: for the model's own
        terms, if it has any.
        """
        objective = self.objective
        if objective.own and frame is None:
            raise InputError(
                "the model has energy terms of its own, which need the step's frame; call solver.see(frame)"
            )

        def pull(x: np.ndarray) -> np.ndarray:
            held: np.ndarray = (self.inertia + self.pin_weight)[:, None] * x
            return held + self.viscous * self._stiffness.times(x) if self.viscous else held

        first = pull(start) - constant

        def evaluate(q: np.ndarray) -> tuple[float, np.ndarray]:
            x = q - start
            back = pull(x)
            stored, gradient = objective.elastic(q)
            energy, gradient = float(np.sum(x * (0.5 * back + first))) + stored, gradient + back + first
            return (energy + objective.add(objective.own, q, frame, gradient) if objective.own else energy), gradient

        return evaluate


def _same(mine: Sequence[object], theirs: Sequence[object]) -> bool:
    return len(mine) == len(theirs) and all(a is b for a, b in zip(mine, theirs, strict=True))
