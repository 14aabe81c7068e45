"""The levels of Newton's multigrid: rows, blocks and factors of each, and the phases that make and use them.

The prolongations are those of the hierarchy for Y (`hierarchy`), scalars that act on x, y and z alike, with columns
scaled so that their rows add up to one: then a coarse matrix can be kept in differences (`kernels.block_galerkin`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ...backends.cpu.arguments import Phase, phase_kernel
from ...backends.cpu.executor import SMALLEST_CHUNK
from ...constraints.kernels.local import gather
from ...constraints.kernels.rotation import local_rotations
from ...constraints.kernels.volume import local_volumes
from ...energy.system import System
from .block_membranes import Membranes
from .block_patterns import SOLID, coarse_pattern, layout_entries, split_entries, unit_prolongations
from .hierarchy import COARSE, LARGEST_DENSE, Hierarchy, Transfer, transfer_of
from .kernels.acceleration import BLOCK
from .kernels.block_contacts import (
    contact_forces,
    contact_gains,
    contact_products,
    hold_ties,
    turn_contacts,
    turn_walls,
    wall_forces,
    wall_gains,
    wall_products,
)
from .kernels.block_galerkin import (
    SHIFT,
    add_pairs,
    coarsen_turned,
    coarsen_wrapped,
    factor_turned,
    factor_wrapped,
    turn_springs,
    turning_blocks,
    volume_normals,
    wrap_entries,
)
from .kernels.block_lists import corner_lists, loose_lists, mirrors, pair_lists, pair_places, tie_lists
from .kernels.block_multigrid import (
    backward_turned,
    backward_wrapped,
    factor_dense,
    forward_turned,
    forward_wrapped,
    left_turned,
    left_wrapped,
    product_turned,
    product_wrapped,
    solve_dense,
)
from .kernels.contact import pull_contacts, pull_walls
from .kernels.linear import add_prolonged, restrict_rows
from .layout import Layout

WRAPPED = forward_wrapped, left_wrapped, backward_wrapped
TURNED = forward_turned, left_turned, backward_turned
PADDED = 4  # springs are turned in fours


@dataclass(eq=False)
class BlockLevel:
    """One matrix: rows in the order of their colours without the diagonal, its blocks, ties and factors."""

    at: np.ndarray
    middle: np.ndarray
    j: np.ndarray
    pointers: np.ndarray
    turned: bool = False  # the form of its blocks, see `kernels.block_multigrid`
    down: tuple[Transfer, Transfer] | None = None  # P to the level below, and Pᵀ

    def __post_init__(self) -> None:
        self.n = len(self.middle)
        self.mirror = mirrors(self.at, self.j[: self.at[-1]])
        entries = len(self.mirror) + 1  # the last is nobody's, where padding is written to
        self.blocks = np.zeros(((1 if self.turned else 3) * entries, 4), np.float32)
        self.ties, self.factors = (np.zeros((2 * self.n, 4), np.float32) for _ in range(2))

    @cached_property
    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """r and e of a coarse level."""
        return np.zeros((self.n, 4), np.float32), np.zeros((self.n, 4), np.float32)

    @property
    def matrix(self) -> dict[str, np.ndarray]:
        """What kernels read of it, by their names."""
        return {"row_at": self.at, "middle": self.middle, "j": self.j, "blocks": self.blocks}

    def factor_phase(self) -> Phase:
        """Factors of the diagonal blocks, from wrapped ones."""
        shift = np.array([SHIFT], np.float32)
        own = {"row_at": self.at, "blocks": self.blocks, "ties": self.ties, "factors": self.factors}
        return factor_wrapped.over(0, self.n, tie_shift=shift, **own)

    def sweeps(self, r: np.ndarray, e: np.ndarray, left: np.ndarray) -> tuple[list[Phase], Phase, list[Phase]]:
        """Forward from zero, what that leaves, backward. Small levels are not worth a wait between colours."""
        forward, rest, backward = TURNED if self.turned else WRAPPED
        arrays = {**self.matrix, "factors": self.factors, "r": r, "e": e, "left": left}
        down, up = forward.select(arrays), backward.select(arrays)
        colours = [(int(a), int(b)) for a, b in pairwise(self.pointers)]
        small = self.n < 4 * SMALLEST_CHUNK
        if small:
            colours = [(0, self.n)]
        return (
            [Phase(forward, down, *colour, serial=small) for colour in colours],
            Phase(rest, rest.select(arrays), 0, self.n, serial=small),
            [Phase(backward, up, *colour, serial=small) for colour in reversed(colours)],
        )


class BlockLevels:
    """All levels over a layout: `set_up` makes H at layout.q and all that follows from it; `cycle` is e ≈ H⁻¹ r.

    `local` must have been walked at the same positions: tetrahedra leave their rotations in shares. It is what the
    layout's local phases are, with the forces of contacts in the place of their right-hand sides, and goes with `tie`.
    """

    def __init__(self, layout: Layout, pointers: np.ndarray, hierarchy: Hierarchy, seed: int):
        self.layout = layout
        rest, w, wl = (layout_entries(layout, values) for values in split_entries(layout))
        self.membranes = Membranes(layout)
        turned = not _solids(layout) and not layout.potentials and not self.membranes.tables
        off = layout.matrix
        self.fine = BlockLevel(off.row_at, off.middle, off.j, pointers, turned)
        self.levels = [self.fine]
        self.tie = layout.tie.copy()  # without contacts
        forces = {pull_contacts: contact_forces, pull_walls: wall_forces}
        self.local = [replace(phase, kernel=forces.get(phase.kernel, phase.kernel)) for phase in layout.local_phases]
        self.set_up = self._hold()
        self.set_up += self._turned(rest, w, wl) if turned else self._wrapped(rest, w, wl)
        moving = w > 0 if turned else np.ones(len(w), bool)
        order = np.arange(layout.n)
        for p in unit_prolongations(hierarchy):
            order, phases = self._coarsen(sp.csr_array(p[order]), rest, moving, symmetric=turned, seed=seed)
            self.set_up += phases
            moving = np.ones(len(self.levels[-1].mirror), bool)
        last = self.levels[-1]
        self._dense: dict[str, np.ndarray] = {}
        if len(self.levels) > 1 and last.n <= LARGEST_DENSE:
            size = 3 * last.n
            self._dense = {"lower": np.zeros(size * size), "scales": np.zeros(size + 1), "room": np.zeros(size)}
            matrix = factor_dense.select(last.matrix)
            self.set_up.append(factor_dense.over(0, 1, ties=last.ties, serial=True, **matrix, **self._dense))

    def load_ties(self, system: System) -> None:
        """Take the ties of a system, which has no contacts."""
        self.tie[:] = system.tie[self.layout.order]

    # --- contacts -----------------------------------------------------------------------------------------------------

    def _hold(self) -> list[Phase]:
        """Ties of the finest level: what holds a vertex, and contacts at layout.q."""
        layout, stage = self.layout, self.layout.contacts
        self._slots = {"slot_at": np.zeros(layout.n + 1, np.int32), "slots": np.zeros((1, 4), np.float32)}
        if stage is not None:
            self._slots = {"slot_at": stage.slot_at, "slots": stage.slots}
        held = hold_ties.over(0, layout.n, tie=self.tie, ties=self.fine.ties, **self._slots)
        if stage is None:
            return [held]
        self._pairs, self._walls = (np.zeros((stage.room, 4), np.float32) for _ in range(2))
        return [
            turn_contacts.over(0, stage.room, turned=self._pairs, **stage.pairs),
            turn_walls.over(0, stage.room, turned=self._walls, **stage.walls),
            held,
        ]

    def _contact_products(self, p: np.ndarray) -> list[Phase]:
        stage = self.layout.contacts
        if stage is None:
            return []
        kinds = (contact_products, stage.pairs, self._pairs), (wall_products, stage.walls, self._walls)
        return [kernel.over(0, stage.room, p=p, turned=rows, **kernel.select(arrays)) for kernel, arrays, rows in kinds]

    # --- the finest level ---------------------------------------------------------------------------------------------

    def _take_pairs(self, w: np.ndarray, wl: np.ndarray) -> np.ndarray:
        """Keep the ends and w l of all pairs with springs; returns their entries above the diagonal."""
        fine = self.fine
        rows = np.repeat(np.arange(fine.n, dtype=np.int32), np.diff(fine.at))
        entry = np.flatnonzero((w > 0) & (fine.j[: len(rows)] > rows)).astype(np.int32)
        self.pairs = {"first": _padded(rows[entry], 0), "second": _padded(fine.j[entry], 0)}
        self.pull = _padded(wl[entry], 0)
        return entry

    def _turned(self, rest: np.ndarray, w: np.ndarray, wl: np.ndarray) -> list[Phase]:
        """Springs and scalars alone: pairs with springs change, the others are what they are."""
        fine = self.fine
        fine.blocks[:-1, 3] = rest
        entry, nobody = self._take_pairs(w, wl), len(fine.mirror)
        springs = {
            **self.pairs,
            "entry": _padded(entry, nobody),
            "mirror": _padded(fine.mirror[entry], nobody),
            "w": _padded(w[entry], 0),
            "wl": self.pull,
            "rest": _padded(rest[entry], 0),
            "q": self.layout.q,
            "blocks": fine.blocks,
        }
        rows = np.repeat(np.arange(fine.n), np.diff(fine.at))
        still = np.bincount(rows, np.where(w > 0, 0.0, rest), minlength=fine.n).astype(np.float32)
        spring_at = np.concatenate([[0], np.cumsum(np.bincount(rows[w > 0], minlength=fine.n))]).astype(np.int32)
        factors = {"spring_at": spring_at, "entry": np.flatnonzero(w > 0).astype(np.int32), "still": still}
        factors |= {"blocks": fine.blocks, "ties": fine.ties, "factors": fine.factors}
        return [turn_springs.over(0, len(self.pull), **springs), factor_turned.over(0, fine.n, **factors)]

    def _wrapped(self, rest: np.ndarray, w: np.ndarray, wl: np.ndarray) -> list[Phase]:
        """Tetrahedra as well."""
        fine, layout = self.fine, self.layout
        self._take_pairs(w, wl)
        tables = _solids(layout)
        turned = [arrays for kernel, arrays in tables if kernel is local_rotations]
        kept = [arrays for kernel, arrays in tables if kernel is local_volumes]
        none = np.zeros(0, np.int32)
        vertices = [
            np.concatenate([none, *(t["vertices"].ravel() for t in part)]).reshape(-1, 4) for part in (turned, kept)
        ]
        slots = np.concatenate([none, *(t["slots"].ravel() for t in turned)]).reshape(-1, 4)
        weights = np.concatenate([np.zeros(0, np.float32), *(t["weights"] for t in turned)])
        scales = np.divide(0.5, weights, where=weights > 0, out=np.zeros_like(weights))
        shares = next(phase.arrays for phase in layout.local_phases if phase.kernel is gather)["shares"]
        normals = np.zeros((vertices[1].size, 4), np.float32)
        places = np.arange(vertices[1].size, dtype=np.int32).reshape(-1, 4)
        phases, first = [], 0
        for table in kept:
            count = len(table["weights"])
            part = normals[4 * first : 4 * (first + count)]
            phases.append(volume_normals.over(0, count, normals=part, **volume_normals.select(table)))
            first += count
        corners = (fine.at, fine.j[: len(fine.mirror)])
        arrays = {**fine.matrix, "mirror": fine.mirror, "rest": rest, "w": w, "wl": wl, "q": layout.q}
        names = "corner_at", "here", "there", "scales"
        arrays |= dict(zip(names, corner_lists(*corners, vertices[0], slots, scales), strict=True))
        volumes = corner_lists(*corners, vertices[1], places, np.zeros(len(places), np.float32))[:3]
        arrays |= dict(zip(("volume_at", "near", "far"), volumes, strict=True))
        wrap = wrap_entries.over(0, fine.n, shares=shares, normals=normals, **arrays)
        membranes = self.membranes.pairs(fine.at, fine.middle, fine.j, fine.mirror, fine.blocks)
        return [*phases, wrap, *self._hyperelastic(), *membranes, fine.factor_phase()]

    def _hyperelastic(self) -> list[Phase]:
        """The Hessians of hyperelastic elements, pair by pair of their corners."""
        fine, phases = self.fine, list[Phase]()
        for potential in self.layout.potentials:
            pairs = np.zeros((18 * potential.count, 4), np.float32)
            corners, first = potential.vertices, potential.pair_rows
            pair_at, places = pair_places(fine.at, fine.j[: len(fine.mirror)], corners, first)
            entries = {"row_at": fine.at, "middle": fine.middle, "mirror": fine.mirror, "blocks": fine.blocks}
            added = add_pairs.over(0, fine.n, pair_at=pair_at, places=places, pairs=pairs, **entries)
            phases += [*potential.pairs(pairs), added]
        return phases

    def judging(self, q_old: np.ndarray) -> tuple[list[Phase], list[np.ndarray]]:
        """What the trapezium rule leaves out of the energy of springs and contacts: phases, and sums in blocks."""
        q, stage = self.layout.q, self.layout.contacts
        sums = [np.zeros(-(-len(self.pull) // BLOCK))]
        ends = {"q": q, "q_old": q_old}
        items = len(self.pull)
        phases = [turning_blocks.over(0, items, wl=self.pull, partial=sums[0], grain=BLOCK, **ends, **self.pairs)]
        if stage is not None:
            for kernel, table in ((contact_gains, stage.pairs), (wall_gains, stage.walls)):
                sums.append(np.zeros(-(-stage.room // BLOCK)))
                arrays = {**kernel.select(table), "q_old": q_old, "partial": sums[-1]}
                phases.append(kernel.over(0, stage.room, grain=BLOCK, **arrays))
        judged = [potential.judging(q_old) for potential in self.layout.potentials]
        for phase, partial in (*judged, *self.membranes.judging(q_old)):
            phases.append(phase)
            sums.append(partial)
        return phases, sums

    def product(self, r: np.ndarray, p: np.ndarray, hp: np.ndarray, partial: np.ndarray) -> list[Phase]:
        """H p, p·r and p·Hp."""
        fine = self.fine
        kernel = product_turned if fine.turned else product_wrapped
        arrays = {"tie": self.tie, "r": r, "p": p, "hp": hp, "partial": partial, **self._slots}
        product = kernel.over(0, fine.n, grain=BLOCK, **kernel.select(fine.matrix), **arrays)
        return [*self._contact_products(p), product]

    # --- the others ---------------------------------------------------------------------------------------------------

    def _coarsen(
        self, p: sp.csr_array, rest: np.ndarray, moving: np.ndarray, *, symmetric: bool, seed: int
    ) -> tuple[np.ndarray, list[Phase]]:
        """Add a level below the last. `p`: rows as the last's; returns the order of its columns, and phases.

        `moving`: entries of the last level that change; the others are scalars, `rest`, whose part is made now.
        """
        above = self.levels[-1]
        order, pointers, at, middle, j = coarse_pattern(above.at, above.j, p, seed)
        p = sp.csr_array(p[:, order])
        p.sort_indices()
        here = BlockLevel(at, middle, j, pointers)
        down = transfer_of(p)
        above.down = down, transfer_of(sp.csr_array(p.T))
        sums = np.asarray(p.sum(axis=1)).ravel()
        wide = down.row_at, down.j, p.data
        fine, coarse = (above.at, above.middle, above.j, above.mirror), (here.at, here.j)
        lists = [
            *pair_lists(*fine[:3], moving, *wide, *coarse, symmetric, 1 if above.turned else 2),
            *tie_lists(*wide, *coarse),
            *transfer_of(sp.csr_array((sp.diags_array(sums) @ p).T)),
            *loose_lists(*fine[:3], *wide, sums, here.n),
        ]
        names = [name + part for name in ("pair", "held", "down", "loose") for part in ("_at", "", "_w")]
        arrays = {"row_at": here.at, "middle": here.middle, "mirror": here.mirror, "blocks": here.blocks}
        arrays |= {"ties": here.ties, "fine": above.blocks, "fine_ties": above.ties}
        arrays |= dict(zip(names, lists, strict=True))
        kernel = coarsen_wrapped
        if above.turned:
            starts, number, weight = pair_lists(*fine[:3], ~moving, *wide, *coarse, True, 1)
            owner = np.repeat(np.arange(len(here.mirror)), np.diff(starts))
            still = np.bincount(owner, weight * rest[number].astype(np.float64), minlength=len(here.mirror) + 1)
            kernel, arrays = coarsen_turned, {**arrays, "still": still.astype(np.float32)}
        self.levels.append(here)
        return order, [kernel.over(0, here.n, **arrays), here.factor_phase()]

    def cycle(self, r: np.ndarray, e: np.ndarray) -> list[Phase]:
        """One V-cycle: e ≈ H⁻¹ r."""
        return self._cycle(0, r, e)

    def _cycle(self, depth: int, r: np.ndarray, e: np.ndarray) -> list[Phase]:
        level, left = self.levels[depth], np.zeros_like(r)
        if depth == len(self.levels) - 1 and self._dense:
            swept = {"factors": level.factors, "r": r, "e": e}
            return [solve_dense.over(0, 1, serial=True, **level.matrix, **swept, **self._dense)]
        forward, rest, backward = level.sweeps(r, e, left)
        if level.down is None:
            return [*forward, *backward]
        below, (prolong, restrict) = self.levels[depth + 1], level.down
        return [
            *forward,
            rest,
            restrict_rows.over(0, below.n, source=left, to=below.vectors[0], **restrict._asdict()),
            *(replace(phase, label=COARSE) for phase in self._cycle(depth + 1, *below.vectors)),
            add_prolonged.over(0, level.n, source=below.vectors[1], to=e, **prolong._asdict()),
            *backward,
        ]


def _solids(layout: Layout) -> list[tuple[phase_kernel, Mapping[str, np.ndarray]]]:
    """The local passes of tetrahedra that have blocks of their own, and their arrays."""
    return [(phase.kernel, phase.arrays) for phase in layout.local_phases if phase.kernel in SOLID]


def _padded(values: np.ndarray, fill: int) -> np.ndarray:
    """With a multiple of four entries."""
    out = np.full(-(-len(values) // PADDED) * PADDED, fill, values.dtype)
    out[: len(values)] = values
    return out
