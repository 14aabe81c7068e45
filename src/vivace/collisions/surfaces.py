"""Contacts between surfaces: cloth with itself, bodies with each other, found on the whole way of a step.

    q, s ──► boxes ──► grid ──► pairs that may meet ──► contacts
             q to s    sizes    boxes overlap, and       distance and time of impact in float64,
                                float32 cannot rule out  a plane for each

A contact is a row: four vertices, a coefficient for each, and a plane. z = Σ c_k x_k leads from one surface to the
other, and n · z ≥ gap keeps them apart. See `kernels/surface_contacts.py` for which pairs count.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..backends.cpu.arguments import Phase
from ..backends.cpu.executor import Plan, check_threads
from ..checks import check_flag, is_number, shown, whole_array
from ..errors import InputError
from ..mesh import checks, topology
from .contacts import ContactList
from .kernels.hash_grid import BASE, CHUNKS, Grid, addresses_of, arrange_boxes, scratch_array, sort_sets
from .kernels.surface_boxes import (
    EVERY,
    EXTRA,
    REACH,
    SETTINGS,
    THICKEST,
    THICKNESS,
    TYPICAL_SIZE,
    arrange_edges,
    arrange_triangles,
    arrange_vertices,
    bound,
    follow,
    survey,
)
from .kernels.surface_contacts import gather, touch_edges, touch_triangles
from .kernels.surface_pairs import pair_edges, pair_vertices
from .thickness import as_thicknesses


@dataclass(eq=False)
class SurfaceContacts(ContactList):
    """The contacts of a step between surfaces; friction is the caller's to set.

    Attributes:
        vertices: a vertex and the corners of a triangle, or the ends of two edges.
        coefficients: (1, -u, -v, -w) for the first, (1 - t, t, -(1 - r), -r) for the second.
        vertex_triangle: how many are of a vertex and a triangle; they come first.
        pairs: pairs of features with overlapping boxes.
        tested: those of them that quick tests could not rule out.
        stages_ms: milliseconds of the parts: grid, pairs, contacts.
    """

    vertex_triangle: int = 0
    pairs: int = 0
    tested: int = 0
    stages_ms: dict[str, float] = field(default_factory=dict)


class Surfaces:
    """Triangles that may not pass through each other."""

    def __init__(
        self,
        rest: Any,
        triangles: Any,
        thickness: float | np.ndarray,
        bodies: Any = None,
        *,
        margin: float | None = None,
        every: bool = False,
        passive: np.ndarray | None = None,
        alike: Any = None,
    ):
        """Prepare to look for contacts.

        Args:
            rest: (n, 3) rest positions, in m.
            triangles: (m, 3) vertex numbers: the boundaries of bodies, all triangles of cloths.
            thickness: the distance that surfaces keep, in m, positive; or (n,) that of each vertex: two surfaces keep
                the mean of theirs, and of a passive one and another the other's.
            bodies: (n,) whole numbers: vertices of one body have a common rest shape, and features of it that are
                nearer than the thickness at rest keep 0.9 of their rest distance instead. None: connected pieces.
            margin: pairs that come this much nearer than the thickness, in m, are contacts already; None: half of it.
                Where vertices differ this is for the thinnest, and in proportion for others.
            every: also pairs that say the same as another, see `kernels/surface_contacts.py`: for a check.
            passive: (n,) bool: vertices whose triangles do not meet each other; all corners of a triangle, or none.
            alike: (n,) whole numbers, the same for all vertices that are sewn together, and of each no more than its
                own. Features that share one so do not meet. None: all are apart.
        """
        rest = checks.checked_vertices(rest, most=np.inf)
        self.n = len(rest)
        self.triangles = checks.checked_elements(triangles, 3, self.n)
        checks.require_distinct(self.triangles, "remove such triangles")
        self.thicknesses = as_thicknesses(thickness, self.n).copy()
        if margin is not None and (not is_number(margin) or margin < 0):
            raise InputError(f"the margin must be a length in metres, zero or more, not {shown(margin)}")
        self.thickness = float(self.thicknesses.min())
        self.margin = self.passive_margin = 0.5 * self.thickness if margin is None else float(margin)
        self.edges = topology.unique_edges(self.triangles)
        self.vertices = np.unique(self.triangles).astype(np.int32)
        self._rest = np.ascontiguousarray(rest)
        self._bodies = self._checked_bodies(bodies)
        self._owner, self._opposite = _owners(self.triangles, self.n)
        self._pointers, self._neighbours = topology.adjacency(self.n, self.edges)
        self._q, self._s, self._shifted = (np.zeros((self.n, 4), np.float32) for _ in range(3))
        self._motion, self._wanted = np.zeros(self.n, np.float32), np.ones(self.n, np.int32)
        if passive is not None and not (
            isinstance(passive, np.ndarray) and passive.dtype == np.bool_ and passive.shape == (self.n,)
        ):
            raise InputError(f"passive must say of each of the {self.n} vertices, True or False, not {shown(passive)}")
        self._passive = np.zeros(self.n, np.int32) if passive is None else passive.astype(np.int32)
        self._alike = self._checked_alike(alike)
        self._settings, self._scratch = np.zeros(SETTINGS), scratch_array()
        self._settings[REACH], self._settings[THICKNESS] = self.thickness + self.margin, self.thickness
        self._settings[THICKEST] = self.thicknesses.max()
        self._wider = np.zeros(0, np.float32)
        if len(self.thicknesses) > 1:  # half of what pairs reach farther than the thinnest, with room for rounding
            if self._passive.any():
                self.thicknesses[self._passive != 0] = self._settings[THICKEST]
            self._wider = (0.5005 * self._share * (self.thicknesses - self.thickness)).astype(np.float32)
        self._settings[EVERY] = check_flag("every", every)
        self._counts = tuple(np.zeros(8 * CHUNKS, np.int64) for _ in range(2))
        self._capacity = [4 * len(self.vertices) // CHUNKS + 64, 4 * len(self.edges) // CHUNKS + 64]
        self._build, self._vertex_tables, self._edge_tables = self._lay_out()
        self._plans: dict[int, tuple[Plan, ...]] = {}

    def widen(self, margin: float) -> None:
        """Take another margin (m) between passive vertices and others from the next search on, if it is larger."""
        self.passive_margin = max(float(margin), self.margin)
        self._settings[EXTRA] = self.passive_margin - self.margin

    @property
    def _share(self) -> float:
        """Of the thickness of a pair: how near it has to come to count."""
        return float(self._settings[REACH] / self._settings[THICKNESS])

    def reach_of_passive(self, thickness: float | np.ndarray) -> float | np.ndarray:
        """How near passive vertices and others of some thickness (m) have to come to count."""
        if len(self.thicknesses) == 1:
            return self.thickness + self.passive_margin
        return 0.5 * self._share * (thickness + float(self._settings[THICKEST])) + float(self._settings[EXTRA])

    def _checked_bodies(self, bodies: Any) -> np.ndarray:
        if bodies is None:
            return topology.connected_components(self.n, self.edges)[1]
        bodies = whole_array(bodies, "bodies")
        if bodies.shape != (self.n,) or bodies.dtype.kind not in "iu":
            raise InputError(
                f"bodies must be one whole number a vertex, ({self.n},), not {bodies.dtype} of shape {bodies.shape}"
            )
        return np.ascontiguousarray(bodies, np.int32)

    def _checked_alike(self, alike: Any) -> np.ndarray:
        own = np.arange(self.n, dtype=np.int32)
        if alike is None:
            return own
        alike = whole_array(alike, "alike")
        if alike.shape != (self.n,) or alike.dtype.kind not in "iu" or (alike < 0).any() or (alike > own).any():
            raise InputError(
                f"alike must have one number for each of the {self.n} vertices, from 0 to its own, the same for those "
                f"that are sewn together, not {shown(alike)}"
            )
        return np.ascontiguousarray(alike, np.int32)

    # --- phases -----------------------------------------------------------------------------------------------------

    def _lay_out(self) -> tuple[list[Phase], dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The phases that build the grids, and the arrays that the search reads: for vertices, and for edges."""
        moving: dict[str, np.ndarray] = {"q": self._q, "shifted": self._shifted, "settings": self._settings}
        phases = [Phase(follow, {**moving, "s": self._s, "motion": self._motion}, 0, self.n)]
        # Edges first: they are about as many as triangles and vertices together, and sets are sorted one a chunk.
        features = {"edges": self.edges, "triangles": self.triangles, "used": self.vertices.reshape(-1, 1)}
        grids, arranged, arranging = [], {}, list[Phase]()
        for (name, corners), arrange in zip(
            features.items(), (arrange_edges, arrange_triangles, arrange_vertices), strict=True
        ):
            n, grid = len(corners), Grid.of(len(corners))
            grids.append(grid)
            drift, width = np.zeros((n, 4), np.float32), np.array([corners.shape[1]], np.int64)
            boxes = {"low": grid.low, "high": grid.high, "level": grid.level}
            phases.append(
                Phase(
                    bound,
                    {
                        "corners": corners,
                        "width": width,
                        "drift": drift,
                        "passive": self._passive,
                        "wider": self._wider,
                        **boxes,
                        **moving,
                    },
                    0,
                    n,
                )
            )
            made = _arranged(name, n)
            given = {**moving, **made, name: corners, "order": grid.order, "drift": drift}
            given |= {"passive": self._passive, "alike": self._alike, "wider": self._wider}
            sorting = {"low": grid.low, "high": grid.high, "order": grid.order}
            sorting |= {"to_low": grid.sorted_low, "to_high": grid.sorted_high, "blocks": grid.blocks}
            arranging += [Phase(arrange_boxes, sorting, 0, n), Phase(arrange, arrange.select(given), 0, n)]
            arranged[name] = made
        self._grids = grids
        phases.append(Phase(sort_sets, {"sets": addresses_of(grids)}, 0, len(grids), chunks=len(grids)))
        edges, triangles, vertices = grids
        faces = arranged["triangles"]
        search = {**vertices.walked(), **triangles.walked("_t"), "q": self._q, "settings": self._settings}
        search |= {**arranged["used"], "corners": faces["corners"], "planes": faces["planes"]}
        search |= {"drifts_t": faces["drifts"], "alike": self._alike}
        return [*phases, *arranging], search, {**edges.walked(), **arranged["edges"], "settings": self._settings}

    def _make_plans(self, threads: int) -> tuple[Plan, ...]:
        """The grid, the search and the contacts; made again when the lists must be longer."""
        self._results: list[tuple[np.ndarray, ...]] = [
            (
                np.empty((CHUNKS * capacity, 4), np.int32),
                *(np.empty((CHUNKS * capacity, 4), np.float32) for _ in "cp"),
                np.empty(CHUNKS * capacity, np.int64),
            )
            for capacity in self._capacity
        ]
        state: dict[str, np.ndarray] = {
            "q": self._q,
            "s": self._s,
            "settings": self._settings,
            "rest": self._rest,
            "bodies": self._bodies,
        }
        state |= {"motion": self._motion, "wanted": self._wanted, "passive": self._passive}
        state["thicknesses"] = self.thicknesses
        around = {"triangles": self.triangles, "owner": self._owner, "opposite": self._opposite}
        around |= {"pointers": self._pointers, "neighbours": self._neighbours}
        search, touch = [], []
        for which, (pair, tables, touching, own) in enumerate(
            (
                (pair_vertices, self._vertex_tables, touch_triangles, around),
                (pair_edges, self._edge_tables, touch_edges, {"edges": self.edges}),
            )
        ):
            lists = np.empty(2 * CHUNKS * self._capacity[which], np.int32)
            counts = self._counts[which]
            search.append(
                Phase(
                    pair,
                    {**tables, "scratch": self._scratch, "lists": lists, "counts": counts},
                    *(0, CHUNKS),
                    chunks=CHUNKS,
                )
            )
            vertices, coefficients, planes, ids = self._results[which]
            found: dict[str, np.ndarray] = {
                "vertices": vertices,
                "coefficients": coefficients,
                "planes": planes,
                "ids": ids,
            }
            touch.append(
                Phase(touching, {**state, **own, **found, "pairs": lists, "counts": counts}, 0, CHUNKS, chunks=CHUNKS)
            )
        return Plan(self._build, threads), Plan(search, threads), Plan(touch, threads)

    # --- finding ----------------------------------------------------------------------------------------------------

    def find(
        self, q: np.ndarray, s: np.ndarray, threads: int | None = None, *, only: np.ndarray | None = None
    ) -> SurfaceContacts:
        """Find the contacts of a step from q to s, (n, 4) float32 rows in m, fourth column zero.

        The same for every number of threads. `only`: (n,) bool, contacts in which at least one such vertex takes part.
        """
        threads = check_threads(threads)
        self._wanted[:] = 1 if only is None else only
        self._take(q, s)
        clock = [time.perf_counter()]
        if not survey(self._q, self._s, self.vertices, self.edges, self._passive, self._settings):
            raise _not_finite(self._q, self._s)
        for grid in self._grids:
            grid.lengths[BASE] = self._settings[TYPICAL_SIZE]
        if threads not in self._plans:
            self._plans = {threads: self._make_plans(threads)}
        self._plans[threads][0].run()
        clock.append(time.perf_counter())
        self._search(threads)
        clock.append(time.perf_counter())
        self._plans[threads][2].run()
        vertices, coefficients, planes, ids, first = self._gathered(threads)
        clock.append(time.perf_counter())
        parts = dict(zip(("grid", "pairs", "contacts"), (1e3 * np.diff(clock)).tolist(), strict=True))
        pairs, tested = (int(sum(c[k::8].sum() for c in self._counts)) for k in (1, 0))
        friction = np.zeros((len(ids), 2), np.float32)
        return SurfaceContacts(
            vertices, coefficients, planes, friction, ids, vertex_triangle=first, pairs=pairs, tested=tested,
            stages_ms=parts,
        )  # fmt: skip

    def _take(self, q: np.ndarray, s: np.ndarray) -> None:
        for name, given, own in (("q", q, self._q), ("s", s, self._s)):
            given = np.asarray(given)
            if given.shape != (self.n, 4):
                raise InputError(f"{name} must be float32 rows of the shape ({self.n}, 4), not {given.shape}")
            own[:, :3] = given[:, :3]

    def _search(self, threads: int) -> None:
        self._plans[threads][1].run()
        longest = [int(c[0::8].max()) for c in self._counts]
        if any(has >= room for has, room in zip(longest, self._capacity, strict=True)):
            # Twice what was needed, so that what falls together does not do this every step.
            self._capacity = [max(room, 2 * has + 1) for has, room in zip(longest, self._capacity, strict=True)]
            self._plans = {threads: self._make_plans(threads)}
            self._plans[threads][1].run()

    def _gathered(self, threads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
        counts = [c[2::8] for c in self._counts]
        total, first = int(sum(c.sum() for c in counts)), int(counts[0].sum())
        out = np.empty((total, 4), np.int32), np.empty((total, 4), np.float32), np.empty((total, 4), np.float32)
        ids = np.empty(total, np.int64)
        phases, begin = [], 0
        for own, count, results in zip(self._counts, counts, self._results, strict=True):
            offsets = begin + np.cumsum(count) - count
            begin += int(count.sum())
            arrays = {"counts": own, "offsets": offsets, "ids": results[3], "to_ids": ids}
            for name, source, to in zip(("vertices", "coefficients", "planes"), results[:3], out, strict=True):
                arrays |= {name: source.view(np.float32), f"to_{name}": to.view(np.float32)}
            phases.append(Phase(gather, arrays, 0, CHUNKS, chunks=CHUNKS))
        Plan(phases, threads).run()
        return (*out, ids, first)


def _arranged(name: str, n: int) -> dict[str, np.ndarray]:
    """Room for what is kept of n features in the order of their grid."""
    rows = {"edges": ("start", "vector", "drifts"), "triangles": ("drifts",), "used": ("drifts",)}[name]
    out = {row: np.zeros((n, 4), np.float32) for row in rows}
    if name == "edges":
        return {**out, "ends": np.zeros((n, 2), np.int32)}
    if name == "triangles":
        return {**out, "corners": np.zeros((n, 3), np.int32), "planes": np.zeros((5 * n, 4), np.float32)}
    return {**out, "vertices": np.zeros(n, np.int32)}


def _owners(triangles: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(m,) bits: corners (1 to 3) and sides (4 to 6) that no earlier triangle has; (m, 3) vertices across the sides."""
    m = len(triangles)
    owner, opposite = np.zeros(m, np.int32), np.full((m, 3), -1, np.int32)
    corners = triangles.reshape(-1)
    firsts = np.unique(corners, return_index=True)[1]
    np.bitwise_or.at(owner, firsts // 3, (2 << (firsts % 3)).astype(np.int32))
    keys = topology.edge_keys(np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1).reshape(-1, 2))
    firsts = np.unique(keys, return_index=True)[1]
    np.bitwise_or.at(owner, firsts // 3, (16 << (firsts % 3)).astype(np.int32))
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    left, right = order[same], order[same + 1]
    across = np.roll(triangles, -2, axis=1).reshape(-1)  # side k runs from corner k to the next; the third is across
    opposite.reshape(-1)[left] = across[right]
    opposite.reshape(-1)[right] = across[left]
    return owner, opposite


def _not_finite(q: np.ndarray, s: np.ndarray) -> InputError:
    for name, x in (("q", q), ("s", s)):
        bad = np.flatnonzero(~np.isfinite(x).all(axis=1))
        if len(bad):
            value = x[bad[0], :3].tolist()
            return InputError(
                f"vertex {bad[0]} of {name} is at {value}: positions must be finite; take a smaller time step"
            )
    return InputError("positions must be finite; take a smaller time step")
