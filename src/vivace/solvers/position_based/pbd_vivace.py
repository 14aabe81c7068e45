"""Position based dynamics over coloured vertices [fratarcangeli2016, Alg. 1, section 5 "Complex scenarios"].

All corrections of a vertex are computed and summed, and the vertices of a colour move in parallel. The paper adds the
sum as it is. A vertex that moves alone by the sum of its constraints' corrections overshoots when they agree: by
Σ_c w_i |∇_i C|² / Σ_j w_j |∇_j C|² at most, 3 on a triangle mesh and more in a solid, and from 2 on it diverges. So the
sum is divided by that number, or a closer bound, taken at rest; `plain=True` is the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...backends.cpu.arguments import Phase, phase_kernel
from ...checks import is_number
from ...collisions.contacts import Contacts
from ...colouring import COLOURINGS, Colouring, colour, recolour_with
from ...constraints import ConstraintGroup, Role
from ...energy.kernels.assemble import list_corners
from ...energy.system import System, values
from ...errors import InputError
from ..base import SOLVERS
from ..projective.ordering import morton_rank
from ..projective.vertex_graph import vertex_graph
from .base import Listed, PositionalSolver
from .contacts import ContactPasses
from .kernels.contact import visit_contacts
from .kernels.steps import apply_steps

SPARE = 1.6  # on the overshoot at rest, for what deformation adds
RAMP, RAMP_LENGTH = 2.0, 200  # iterations in which ω gets half-way; see `vivace` for why the first must be plain


Visit = tuple[phase_kernel, dict[str, np.ndarray]]  # a kernel, and its arrays but the order of the vertices


@SOLVERS.register("pbd-vivace")
@dataclass(eq=False)
class PbdVivace(PositionalSolver):
    """Position based dynamics over coloured vertices: corrections of a vertex are summed, colours run in parallel.

    Attributes:
        stiffness: None: compliance from the model's weights (XPBD); or the paper's stiffness, 0 to 1.
        bend: stiffness of bending, if `stiffness` is a number; None: the same.
        omega: relaxation, (0, 2), reached after a few iterations.
        plain: add the sum of the corrections as it is, as the paper does.
        colouring_algorithm: name of a colouring (see `vivace list colourings`).

    Limitations: no energy terms of a model's own, no viscosity, no creases; few iterations leave cloth stretched;
    angular momentum is not conserved, and bodies may turn slowly on the floor; friction is remembered for one step
    only, so that heaps creep (`collide(sleep=...)` stops them).
    """

    stiffness: float | None = None
    bend: float | None = None
    omega: float = 1.8
    plain: bool = False
    colouring_algorithm: str = "brooks-vizing"

    name = "pbd-vivace"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.omega) or not 0 < self.omega < 2:
            raise InputError(f"omega must lie between 0 and 2, not {self.omega!r}")
        COLOURINGS[self.colouring_algorithm]

    def arrange(self, groups: list[ConstraintGroup], system: System) -> list[tuple[np.ndarray, np.ndarray]]:
        """Colour the vertices; the constraints stay in the order of the model, in one colour."""
        n = system.n
        self._graph = vertex_graph(n, [group.vertices for group in groups])
        indptr, indices = self._graph
        self._own_colouring = colour(
            indptr, indices, self.colouring_algorithm, seed=self.seed, threads=self.threads, check=False
        )
        self._rank = morton_rank(system.model.mesh.vertices)
        self._responses = response(n, groups, self.inverse_of(system), system.model.mesh.vertices)
        k = np.arange(RAMP_LENGTH)
        self._weights = (1.0 + (self.omega - 1.0) * k / (k + RAMP)).astype(np.float32)
        self._shares, self._squares, self._moved = np.zeros(n, np.float32), np.zeros(n), np.zeros((n, 4), np.float32)
        return [(np.arange(len(group)), np.array([0, len(group)])) for group in groups]

    @staticmethod
    def inverse_of(system: System) -> np.ndarray:
        """Inverse masses (n,), 1/kg."""
        return 1.0 / system.model.masses

    def iteration(self) -> list[Phase]:
        """One colour of vertices after the other, those of each in parallel."""
        self._visits = [self._visit(item) for item in self.listed]
        return self._by_colour(self._own_colouring, self._responses, self._visits, [])

    def partial_sums(self) -> list[np.ndarray]:
        """Σ (C + α λ)², vertex by vertex."""
        return [self._squares]

    def _visit(self, item: Listed) -> Visit:
        """The kernel of a group, and its arrays but the order of the vertices."""
        k = item.group.kind.vertices
        used = np.ascontiguousarray(item.vertices.reshape(-1, k)[item.place])
        starts, flat, _ = list_corners(used.ravel(), len(self._shares))
        places = (item.place[flat // k] * k + flat % k).astype(np.int32)
        item.lambdas = np.zeros(len(places), np.float32)
        own = {"vertices": item.vertices, "parameters": item.parameters, "soft": item.soft, "lambdas": item.lambdas}
        own |= {"settings": item.settings, "operator": item.operator, "q": self.q, **self._moving}
        return item.kernel(by_vertex=True), {"starts": starts, "incidences": places, **own}

    @property
    def _moving(self) -> dict[str, np.ndarray]:
        """What all visits of a vertex share."""
        return {"moved": self._moved, "shares": self._shares, "weights": self._weights}

    def _by_colour(
        self, colouring: Colouring, responses: np.ndarray, visits: list[Visit], more: list[Visit]
    ) -> list[Phase]:
        self.colouring = colouring
        order, pointers = colouring.order(self._rank)
        self._shares[:] = 1.0 if self.plain else 1.0 / np.maximum(responses, 1.0)
        bound = [(kernel, {"order": order, **arrays}) for kernel, arrays in (*visits, *more)]
        apply = {"order": order, "q": self.q, "squares": self._squares, **self._moving}
        phases = []
        for begin, end in zip(pointers[:-1].tolist(), pointers[1:].tolist(), strict=True):
            phases += [Phase(kernel, arrays, begin, end) for kernel, arrays in bound]
            phases.append(Phase(apply_steps, apply, begin, end))
        return phases

    def remembered(self) -> dict[str, np.ndarray]:
        """Colours, from which those of the next step's contacts are found."""
        return {} if self.colouring is None else {"colours": self.colouring.colours.copy()}

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with the colours of the last step, from which contacts are coloured anew."""
        if "colours" in memory:
            colours, own = memory["colours"].copy(), self._own_colouring.colours
            if colours.shape != own.shape or colours.dtype != own.dtype:
                raise InputError(f"the state's colours must be {own.dtype} of the shape {own.shape}")
            if len(colours) and not 0 <= colours.min() <= colours.max() <= len(colours):
                raise InputError("the state's colours must be numbered from 0 on, no more than there are vertices")
            self.colouring = replace(self._own_colouring, colours=colours, count=int(colours.max(initial=-1)) + 1)

    def iteration_without(self) -> list[Phase]:
        """The iteration of the model alone, with its own colours."""
        return self._by_colour(self._own_colouring, self._responses, self._visits, [])

    def iteration_with(self, contacts: Contacts, previous: np.ndarray) -> list[Phase]:
        """The same over colours in which vertices in contact differ, and colliders after them."""
        pairs, last = contacts.over_four, self.colouring or self._own_colouring
        touching = ContactPasses(contacts, pairs, previous, self.q, self.threads, corners=True)
        colouring, responses, more = self._own_colouring, self._responses, []
        if len(pairs):
            colouring = recolour_with(*self._graph, pairs.couples, last.colours, check=False, trust=True)
            starts, flat, _ = list_corners(pairs.vertices.ravel(), len(self._shares))
            responses = responses + np.bincount(pairs.vertices.ravel(), minlength=len(self._shares)) * 0.5
            more = [(visit_contacts, {**touching.pairs, "starts": starts, "incidences": flat, **self._moving})]
        walls = touching.against_walls()
        phases = [*self._by_colour(colouring, responses, self._visits, more), *walls]
        self.contact_phases = [*self._by_colour(colouring, responses, [], more), *walls]
        return phases


def response(n: int, groups: list[ConstraintGroup], inverse: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """How far a vertex overshoots at most: the largest eigenvalue of Σ_c w_i ∇_i C ∇_i Cᵀ / Σ_j w_j |∇_j C|².

    With gradients as at rest, where they have a direction there (`SPARE` is for what deformation changes); of others
    the largest that any direction gives.
    """
    blocks, traces = np.zeros((n, 3, 3)), np.zeros(n)
    for group in groups:
        corners, w = group.vertices.ravel(), inverse[group.vertices]
        gradients = _gradients_at_rest(group, rest)
        if gradients is None:
            traces += np.bincount(corners, _largest_shares(group.operator, w).ravel(), minlength=n)
            continue
        share = _shares(w * (gradients**2).sum(axis=2))[..., None, None]
        sizes = np.maximum((gradients**2).sum(axis=2), 1e-300)[..., None, None]
        outer = share / sizes * gradients[..., :, None] * gradients[..., None, :]
        for a in range(3):
            for b in range(a, 3):
                blocks[:, a, b] += np.bincount(corners, outer[:, :, a, b].ravel(), minlength=n)
                blocks[:, b, a] = blocks[:, a, b]
    return SPARE * np.linalg.eigvalsh(blocks)[:, -1] + traces


def _largest_shares(operator: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The largest w_k |∇_k C|² / Σ_j w_j |∇_j C|² that C = ‖A x - p‖ can have, whatever A x - p (m, k).

    Every coordinate of ∇_k C is a_k·d, a_k a column of A, for some d: so it is w_k a_kᵀ S⁻¹ a_k, S = Σ_j w_j a_j a_jᵀ.
    """
    s = np.einsum("mrk,mk,msk->mrs", operator, w, operator)
    size = np.einsum("mrr->m", s)
    s += (1e-9 * size + 1e-300)[:, None, None] * np.eye(s.shape[1])
    shares: np.ndarray = w * np.einsum("mrk,mrk->mk", operator, np.linalg.solve(s, operator))
    return shares


def _shares(squares: np.ndarray) -> np.ndarray:
    sums = squares.sum(axis=1, keepdims=True)
    shares: np.ndarray = np.divide(squares, sums, out=np.zeros_like(squares), where=sums > 0)
    return shares


def _gradients_at_rest(group: ConstraintGroup, rest: np.ndarray) -> np.ndarray | None:
    """∇C (m, k, 3) of springs and of what is known by its value; None for other projections: they have none at rest."""
    if group.kind.evaluate is not None:
        return values(group, rest)[1]
    if group.kind.role is not Role.SPRING:
        return None
    along = rest[group.vertices[:, 0]] - rest[group.vertices[:, 1]]
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    return np.stack([along, -along], axis=1)
