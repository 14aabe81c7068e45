"""A system's arrays as the sweeps read them: float32, rows of four, in the order in which vertices are visited.

Every sweeping solver uses this one layout, so comparisons between them compare algorithms and not data structures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import SMALL, Plan
from ...collisions.contacts import ContactForces, Contacts
from ...constraints import ConstraintGroup
from ...constraints.kernels.local import gather, local_pass
from ...energy.kernels.assemble import (
    assign_slots,
    count_corners,
    pair_springs,
    sort_rows,
    split_rows,
    spring_rows,
)
from ...energy.system import System, row_sums
from ...errors import InputError
from ...mesh.topology import adjacency
from ..base import refuse_terms
from ..kernels.vectors import load_rows, store_rows
from .contacts import NEVER, ContactStage
from .kernels.sweep import project_springs
from .potentials import Potential

ROOM = 4096  # contacts that every layout has room for
CONTACT = 300.0  # times m/h²: how stiff contacts are for solvers that move everything at once, see `contact_stage`


class Rows(NamedTuple):
    """What a vertex update reads of Y's rows without the diagonal (`kernels.sweep`): springs, then others."""

    spring_at: np.ndarray
    spring_j: np.ndarray
    spring_a: np.ndarray
    spring_wl: np.ndarray
    other_at: np.ndarray
    other_j: np.ndarray
    other_a: np.ndarray


class OffDiagonal(NamedTuple):
    """Y without its diagonal by rows: pointers, where a row's columns pass its own number, columns, -Y_ij."""

    row_at: np.ndarray
    middle: np.ndarray
    j: np.ndarray
    a: np.ndarray


class Layout:
    """`order[i]` is the vertex visited i-th.

    `refresh`: how many sweeps projections are kept. 0: those of springs are computed inside the vertex update, from the
    newest positions, and all others before every sweep. `contact`: times m/h², how stiff contacts are at most; they are
    no stiffer than the vertices they hold. `more_room`: a factor on the number of contacts that fit. `potentials`: the
    model may have hyperelastic terms (see there): for solvers that judge their steps.
    """

    def __init__(
        self,
        system: System,
        order: np.ndarray,
        threads: int,
        *,
        refresh: int = 0,
        contact: float = np.inf,
        more_room: int = 1,
        potentials: bool = False,
    ):
        if system.positional:
            kind = system.positional[0].kind
            able = "a position based solver such as pbd-coloured, or newton" if kind.flow is None else "newton"
            raise InputError(
                f"constraint {kind.name!r} is known by its value alone, which projective dynamics cannot use; "
                f"choose {able}"
            )
        if not potentials or len(system.hyperelastic) < len(system.model.terms):
            refuse_terms(system.model, "projective dynamics")
        n, self.potentials = system.n, list[Potential]()
        self.system, self.threads, self.n, self.refresh, self.contact = system, threads, n, refresh, contact
        self.order = np.ascontiguousarray(order, np.int32)
        self.rank = np.empty(n, np.int32)
        self.rank[self.order] = np.arange(n, dtype=np.int32)
        self.rows = self._rows([] if refresh else system.springs)
        self._middle = sort_rows(self.rows.other_at, self.rows.other_j, self.rows.other_a)
        self.tie, self.inverse, self.diagonal = (np.zeros(n, np.float32) for _ in range(3))
        self.adapt(system)
        self.constant = np.zeros((n, 4), np.float32)
        self.q = np.zeros((n, 4), np.float32)
        self.square = np.zeros(n, np.float32)  # |residual|² that the last sweep met at each vertex

        # What a sweep starts from, in stages: constant, + shares of projected constraints, + springs if they are kept.
        self.base, self.local_phases = self.constant, list[Phase]()
        if system.projected or system.hyperelastic:
            self.base = np.zeros((n, 4), np.float32)
            self.local_phases += self._local_phases(system.projected)
        if refresh and system.springs:
            spring_at, spring_j, spring_wl = spring_rows(self.order, self.rank, *self._springs(system.springs))
            before, self.base = self.base, np.zeros((n, 4), np.float32)
            springs = {"spring_at": spring_at, "spring_j": spring_j, "spring_wl": spring_wl}
            springs |= {"zeros": np.zeros_like(spring_wl)}
            self.local_phases.append(project_springs.over(0, n, q=self.q, constant=before, base=self.base, **springs))
        self.contacts: ContactStage | None = None
        if system.model.collisions is not None:
            before, self.base = self.base, np.zeros((n, 4), np.float32)
            room, remembers = max(ROOM, n) * more_room, bool(np.isfinite(contact))
            arrays = self.rank, self.q, before, self.base
            edges = adjacency(n, system.model.mesh.edges)
            self.contacts = ContactStage(*arrays, room, threads, remembers=remembers, graph=system.graph, edges=edges)
            self.contacts.tells = bool(system.model.collisions is not None and system.model.collisions.bodies)
            self.local_phases += self.contacts.phases
        self.local_phases = [replace(phase, every=max(1, refresh)) for phase in self.local_phases]
        self._copied: dict[str, tuple[tuple[np.ndarray, ...], Plan]] = {}
        _ = load_rows.address, store_rows.address  # compiled now, not inside the first step's budget
        with np.errstate(over="ignore"):  # a force on a vertex, with room for its neighbours'
            force = (16.0 * system.diagonal * np.abs(system.model.mesh.vertices).max()).astype(np.float32)
        _check_finite(self.rows.spring_a, self.rows.spring_wl, self.rows.other_a, force)

    @cached_property
    def matrix(self) -> OffDiagonal:
        """All of Y, springs included wherever their projections are computed."""
        if self.refresh or not self.system.springs:
            return OffDiagonal(self.rows.other_at, self._middle, self.rows.other_j, self.rows.other_a)
        *_, at, j, a = self._rows([])
        return OffDiagonal(at, sort_rows(at, j, a), j, a)

    @property
    def swept(self) -> dict[str, np.ndarray]:
        """What sweeps and residuals read and write, by the names that kernels have for it."""
        own = {"tie": self.tie, "inverse": self.inverse, "base": self.base, "q": self.q, "square": self.square}
        return {**self.rows._asdict(), **own}

    def adapt(self, system: System) -> None:
        """Go on with a system that differs from the last in its pins: only the diagonal changes."""
        with np.errstate(over="ignore"):
            new = [array.astype(np.float32) for array in (system.tie, system.diagonal, 1.0 / system.diagonal)]
        _check_finite(*new)
        self.system = system
        for array, out in zip(new, (self.tie, self.diagonal, self.inverse), strict=True):
            np.take(array, self.order, out=out)

    def with_room_for(self, contacts: Contacts) -> Layout:
        """The same with room for twice these contacts."""
        needed = -(-2 * len(contacts) // max(ROOM, self.n))
        arrays = self.system, self.order, self.threads
        able = bool(self.potentials)
        new = Layout(*arrays, refresh=self.refresh, contact=self.contact, more_room=needed, potentials=able)
        if new.contacts is not None and self.contacts is not None:
            new.contacts.take_over(self.contacts)
        return new

    @cached_property
    def pressing(self) -> np.ndarray:
        """`ContactStage.pressing`, for those who judge rounds."""
        return np.array([NEVER, 0]) if self.contacts is None else self.contacts.pressing

    def set_contacts(self, contacts: Contacts, previous: np.ndarray, start: np.ndarray, system: System) -> bool:
        """The contacts of a step, on top of `system`; whether the diagonal has changed."""
        if self.contacts is None:
            return False
        settings = system.model.collisions
        stiffness = settings.stiffness if settings is not None else None
        held = np.minimum(system.diagonal, self.contact * system.inertia)
        added = self.contacts.load(contacts, previous, start, held, stiffness)
        if added is None:
            return False
        self.adapt(system.touched(added))
        return True

    def contact_forces(self) -> ContactForces | None:
        """What colliders and bodies held vertices with when the last solve ended."""
        return None if self.contacts is None else self.contacts.forces(self.system.inertia)

    def _rows(self, springs: list[ConstraintGroup]) -> Rows:
        off, listed = self.system.off, self._springs(springs)
        limits = np.array([len(listed[1]), off.nnz], np.int64)
        arrays = (self.order, self.rank, off.indptr, off.indices, off.data, *listed, limits)
        return Rows(*split_rows(*arrays))

    def _springs(self, springs: list[ConstraintGroup]) -> tuple[np.ndarray, ...]:
        """The springs at each vertex of the mesh: row pointers, other ends, stiffnesses, rest lengths."""
        pairs = np.concatenate([g.vertices for g in springs]) if springs else np.zeros((0, 2), np.int32)
        weights = np.concatenate([g.weights for g in springs]) if springs else np.zeros(0)
        lengths = np.concatenate([g.parameters[:, 0] for g in springs]) if springs else np.zeros(0)
        spring_at, other, number = pair_springs(self.n, pairs)
        return spring_at, other, weights[number], lengths[number]

    def _local_phases(self, groups: list[ConstraintGroup]) -> list[Phase]:
        counts = np.zeros(self.n, np.int32)
        terms = self.system.hyperelastic
        turning = terms if self.system.viscous else []
        for vertices in (*(group.vertices for group in groups), *(term.vertices for term in (*terms, *turning))):
            count_corners(counts, vertices, self.rank)
        slot_at = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        shares = np.zeros((int(slot_at[-1]), 4), np.float32)
        cursor = slot_at[:-1].copy()
        phases = []
        for group in groups:
            kind = group.kind
            # Neighbours in memory should be neighbours in the mesh: visit constraints in the order of their vertices.
            visit = np.argsort(self.rank[group.vertices].min(axis=1), kind="stable")
            arrays = {
                "vertices": self.rank[group.vertices[visit]],
                "operator": group.operator[visit].astype(np.float32),
                "weights": group.weights[visit].astype(np.float32),
                "parameters": group.parameters[visit].astype(np.float32),
                "slots": assign_slots(cursor, group.vertices[visit], self.rank),
                "sums": row_sums(group.operator)[visit].astype(np.float32),
            }
            group.follow(arrays["parameters"], np.argsort(visit))
            kernel = kind.kernel or local_pass(kind.project, kind.vertices, kind.rows, len(kind.parameters))
            phases.append(kernel.over(0, len(group), q=self.q, out=shares, **kernel.select(arrays)))
        viscous = self.system.viscous
        self.potentials = [Potential(term, self.rank, cursor, self.q, shares, viscous) for term in terms]
        phases += [phase for potential in self.potentials for phase in potential.local_phases()]
        added = {"slot_at": slot_at, "shares": shares, "constant": self.constant, "base": self.base}
        return [*phases, gather.over(0, self.n, **added)]

    def load(self, start: np.ndarray, constant: np.ndarray) -> None:
        """Bring the step's data into visiting order; q begins at `start`."""
        self._copies("load", self.loading, start, constant).run()
        if self.contacts is not None:
            Plan(self.contacts.set_out(), 1).run()

    def store(self, out: np.ndarray) -> None:
        """Write q back in the order of the mesh."""
        if self.contacts is not None:
            self.contacts.remember()
            ended = self.q.copy()
            Plan(self.contacts.keep_out(), 1).run()
            self.contacts.take_along(ended, self.system.inertia, self.system.pin_weight > 0)
            self.contacts.keep_patches_out(self.system.inertia, self.system.pin_weight > 0)
        self._copies("store", self.storing, out).run()

    def _copies(self, name: str, phase: Callable[..., Phase], *arrays: np.ndarray) -> Plan:
        """The plan of a phase that copies, kept as long as the arrays are the same."""
        kept = self._copied.get(name)
        if kept is None or any(a is not b for a, b in zip(kept[0], arrays, strict=True)):
            kept = self._copied[name] = arrays, Plan([phase(*arrays)], self._copy_threads)
        return kept[1]

    def loading(self, start: np.ndarray, constant: np.ndarray) -> Phase:
        """The phase of `load`."""
        to = {"to_a": self.q, "to_b": self.constant}
        return load_rows.over(0, self.n, order=self.order, a=start, b=constant, **to)

    def storing(self, out: np.ndarray) -> Phase:
        """The phase of `store`."""
        return store_rows.over(0, self.n, order=self.order, a=self.q, to=out)

    @property
    def _copy_threads(self) -> int:
        return self.threads if self.n > SMALL else 1

    def resolution(self) -> float:
        """Square of the residual's norm that rounding leaves (N²): Σ (2⁻²⁴ Y_ii |q_i|)² for float32 positions.

        Four times the norm, because over-relaxation keeps the last bits moving.
        """
        reach = np.linalg.norm(self.q.astype(np.float64), axis=1)
        return 16.0 * float(np.sum((2.0**-24 * self.diagonal * reach) ** 2))

    def residual(self) -> float:
        """Norm of the residual that the last sweep met (N)."""
        return float(np.sqrt(self.square.sum(dtype=np.float64)))


def _check_finite(*singles: np.ndarray) -> None:
    if not all(np.isfinite(array).all() for array in singles):
        raise InputError("a stiffness, mass or time step is beyond what float32 holds; rescale the scene")
