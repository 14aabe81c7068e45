"""The smooth space of `lattice`: multilinear hats over the rest shape of every connected part of a body.

Smooth, because coarse functions with kinks (aggregates) cannot turn cloth without stretching it. A part gets as many
cells as its vertices and the cost of elimination allow; nodes are numbered slab by slab along its longest axis. See
`kernels.lattice` for what is made of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ...backends.cpu.arguments import Phase, phase_kernel
from ...constraints import ConstraintGroup
from ...constraints.kernels.membrane import local_membranes
from ...constraints.kernels.rotation import local_rotations
from ...constraints.kernels.volume import local_volumes
from ...energy.system import System, assembled
from .hierarchy import transfer_of
from .kernels import lattice as kernel
from .kernels import lattice_cells
from .kernels.linear import restrict_rows
from .kernels.membrane_blocks import membrane_cells
from .lattice_parts import Part, axes_of, cells_for, edge_lengths, features, part_of
from .layout import Layout

WORK_PER_VERTEX = 300.0  # multiplications of one elimination that a vertex pays for
LEAST_WORK = 1.5e6  # that any body may cost
SMALLEST_PART = 12  # vertices: less has no lattice
FAR = 1e-4  # of two nodes' own stiffness: coupling across three cells that makes a part dense
MOST_DENSE = 48  # nodes of a dense part
SAMPLED = 64  # tetrahedra of a cell that stand for all, a multiple of four


class LatticeSpace:
    """Parts of the same number of dimensions, with the arrays of their matrices. Vertices in the order of the mesh."""

    def __init__(self, system: System, parts: list[Part], dims: int):
        self.n, self.dims, self.parts = system.n, dims, parts
        self._number_nodes()
        self.prolongation = self._hats()
        self._sort_constraints(system)
        self._galerkin = self._constant_matrix(system)

    # --- making it ------------------------------------------------------------------------------------------------

    def _number_nodes(self) -> None:
        slabs: list[tuple[int, ...]] = []
        parts, cells = list[tuple[int, int, int]](), list[np.ndarray]()
        node = matrix = constant = cell_count = 0
        corners = 2**self.dims
        for number, part in enumerate(self.parts):
            size = part.slab
            count = part.nodes // size
            middle = len(slabs) + count // 2
            parts.append((len(slabs), len(slabs) + count, middle))
            for s in range(len(slabs), len(slabs) + count):
                follower = -1 if s == middle else s + 1 if s < middle else s - 1
                slabs.append((number, follower, size, matrix, constant, node + (s - parts[-1][0]) * size))
                matrix += 18 * size * size
                constant += 2 * size * size
            shape = tuple(part.cells + 1)
            grid = np.arange(part.nodes).reshape(shape)
            lowest = grid[tuple(slice(0, c) for c in part.cells)].ravel()
            steps = np.zeros(corners, int)
            for axis in range(self.dims):
                steps += ((np.arange(corners) >> axis) & 1) * int(np.prod(shape[axis + 1 :]))
            cells.append(node + lowest[:, None] + steps)
            part.first_node, part.first_cell = node, cell_count  # type: ignore[attr-defined]
            node += part.nodes
            cell_count += len(lowest)
        self.nodes, self.cells = node, cell_count
        self.slabs = np.array(slabs, np.int32)
        self.part_list = np.array(parts, np.int32)
        self.cell_nodes = np.concatenate(cells).astype(np.int32)
        self.slab_of = np.repeat(np.arange(len(slabs)), self.slabs[:, kernel.SIZE]).astype(np.int32)
        self.place_of = (np.arange(node) - self.slabs[self.slab_of, kernel.FIRST_NODE]).astype(np.int32)
        self._room = matrix, constant
        # which cells touch a slab
        touched = np.sort(self.slab_of[self.cell_nodes], axis=1)
        fresh = np.ones(touched.shape, bool)
        fresh[:, 1:] = touched[:, 1:] != touched[:, :-1]
        cell, column = np.nonzero(fresh)
        by_slab = np.argsort(touched[cell, column], kind="stable")
        counts = np.bincount(touched[cell, column], minlength=len(slabs))
        self.cell_at = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        self.cell_list = cell[by_slab].astype(np.int32)

    def _place(self, part: Part, xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cell of each point and its place inside, in [0, 1]."""
        low = np.clip(np.floor(xi), 0, part.cells - 1).astype(int)
        cell = np.ravel_multi_index(tuple(low.T), tuple(part.cells))
        return part.first_cell + cell, xi - low  # type: ignore[attr-defined]

    def _hats(self) -> sp.csr_array:
        rows, columns, values = [], [], []
        corners = 2**self.dims
        for part in self.parts:
            cell, inside = self._place(part, part.xi)
            weights = np.ones((len(cell), corners))
            for axis in range(self.dims):
                high = ((np.arange(corners) >> axis) & 1).astype(bool)
                weights *= np.where(high, inside[:, axis, None], 1.0 - inside[:, axis, None])
            rows.append(np.repeat(part.vertices, corners))
            columns.append(self.cell_nodes[cell].ravel())
            values.append(weights.ravel())
        shape = (self.n, self.nodes)
        p = sp.csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape)
        p.eliminate_zeros()
        p.sort_indices()
        return p

    def _cell_of(self, xi: np.ndarray, part_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cell of each point (m, dims), in lattice coordinates of its part, and that cell's lowest corner."""
        cell, low = np.empty(len(xi), int), np.empty((len(xi), self.dims))
        for number, part in enumerate(self.parts):
            own = part_of == number
            cell[own], inside = self._place(part, xi[own])
            low[own] = xi[own] - inside
        return cell, low

    def _sort_constraints(self, system: System) -> None:
        """Springs and tetrahedra by cell; whatever else there is stays in the constant matrix."""
        part_of, xi = np.full(self.n, -1), np.zeros((self.n, self.dims))
        for number, part in enumerate(self.parts):
            part_of[part.vertices], xi[part.vertices] = number, part.xi
        self._constant_groups: list[ConstraintGroup] = list(system.quadratic)
        springs: list[tuple[np.ndarray, ...]] = []
        for group in system.springs:
            own = part_of[group.vertices[:, 0]] >= 0
            reach = np.abs(xi[group.vertices[:, 0]] - xi[group.vertices[:, 1]]).max(axis=1, initial=0.0)
            near = own & (reach <= 1.0) & (group.parameters[:, 0] > 0)
            if (own & ~near).any():
                self._constant_groups.append(group.subset(own & ~near))
            springs.append(self._pieces(group.subset(near), xi, part_of))
        self.springs = self._by_cell(springs)
        tets: dict[phase_kernel, list[tuple[np.ndarray, ...]]] = {
            local_rotations: [],
            local_volumes: [],
            local_membranes: [],
        }
        for group in system.projected:
            if group.kind.kernel not in tets or self.dims < (2 if group.kind.kernel is local_membranes else 3):
                self._constant_groups.append(group)
                continue
            own = part_of[group.vertices[:, 0]] >= 0
            if group.kind.kernel is local_membranes:  # meshes of users have triangles larger than a cell
                near = own & (np.ptp(xi[group.vertices], axis=1).max(axis=1, initial=0.0) <= 1.0)
                if (own & ~near).any():
                    self._constant_groups.append(group.subset(own & ~near))
                own = near
            own = group.subset(own)
            cell, low = self._cell_of(xi[own.vertices].mean(axis=1), part_of[own.vertices[:, 0]])
            slopes = np.einsum("mrk,mkf->mfr", own.operator, features(xi[own.vertices] - low[:, None]))
            tets[group.kind.kernel].append((own.vertices, own.weights, own.operator, slopes, cell, own.parameters))
        self.tets, self.volumes, self.membranes = (_sampled(found, self.cells) for found in tets.values())

    def _pieces(self, group: ConstraintGroup, xi: np.ndarray, part_of: np.ndarray) -> tuple[np.ndarray, ...]:
        """Vertices, stiffness, rest length, differences of the features, and the cell, of springs cut at cell borders.

        A piece that is the share f of its spring has the stiffness w/f: springs in a row. The sum of the pieces'
        energies is the spring's for a smooth motion, and never less: (a + b)² <= a²/f + b²/(1 - f).
        """
        start, end = xi[group.vertices[:, 0]], xi[group.vertices[:, 1]]
        low, high = np.minimum(start, end), np.maximum(start, end)
        border = np.floor(high)
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = np.where((border > low) & (border < high), (border - start) / (end - start), 0.0)
        cuts = np.sort(np.concatenate([np.zeros((len(cut), 1)), cut, np.ones((len(cut), 1))], axis=1), axis=1)
        share = np.diff(cuts, axis=1)
        which, piece = np.nonzero(share > 1e-6)
        a, b = (start[which] + cuts[which, piece + k, None] * (end - start)[which] for k in (0, 1))
        cell, corner = self._cell_of(0.5 * (a + b), part_of[group.vertices[which, 0]])
        phi = features(a - corner) - features(b - corner)
        stiffness = group.weights[which] / share[which, piece]
        return group.vertices[which], stiffness, group.parameters[which, 0], phi, cell

    def _by_cell(self, springs: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
        """Starts of the cells, then vertices, stiffness, rest length and features of the springs, cell by cell."""
        if not springs:
            nothing = np.zeros((0, 2), np.int32), np.zeros(0), np.zeros(0), np.zeros((0, 2**self.dims - 1)), np.zeros(0)
            springs = [nothing]
        vertices, stiffness, length, phi, cell = (np.concatenate(column) for column in zip(*springs, strict=True))
        counts = np.bincount(cell.astype(int), minlength=self.cells)
        starts = np.concatenate([[0], np.cumsum(-(-counts // 4) * 4)])  # fours, filled up with springs of no stiffness
        order = np.argsort(cell, kind="stable")
        first = np.concatenate([[0], np.cumsum(counts)])[:-1]
        places = np.arange(len(order)) + np.repeat(starts[:-1] - first, counts)
        width = 4 if self.dims == 2 else phi.shape[1]
        out = np.zeros((int(starts[-1]), 2), np.int32), *(np.zeros(int(starts[-1]), np.float32) for _ in range(2))
        wide = np.zeros((int(starts[-1]), width), np.float32)
        for array, value in zip(out, (vertices, stiffness, length), strict=True):
            array[places] = value[order]
        wide[places, : phi.shape[1]] = phi[order]
        return starts.astype(np.int32), *out, wide

    def _constant_matrix(self, system: System) -> np.ndarray:
        """PᵀKP of all that does not change but pins and contacts, slab by slab."""
        off, diagonal, _ = assembled(self.n, self._constant_groups)
        k = off + sp.diags_array(diagonal + system.inertia)
        if system.viscous:
            k = k + system.viscous * (system.stiffness_off + sp.diags_array(system.stiffness_diagonal))
        galerkin = (self.prolongation.T @ sp.csr_array(k) @ self.prolongation).tocoo()
        row, column, value = galerkin.row, galerkin.col, galerkin.data
        here, there = self.slab_of[row], self.slab_of[column]
        size, place = self.slabs[here, kernel.SIZE], self.place_of[row] * 2 * self.slabs[here, kernel.SIZE]
        at = self.slabs[here, kernel.CONSTANT] + place + self.place_of[column]
        next_to = self.slabs[here, kernel.NEXT] == there
        kept = next_to | (here == there)
        out = np.zeros(self._room[1])
        np.add.at(out, at[kept] + np.where(next_to, size, 0)[kept], value[kept])
        # nodes that no vertex is near have no equation: they stay
        diagonal = np.zeros(self.nodes)
        np.add.at(diagonal, row[row == column], value[row == column])
        lone = np.flatnonzero(diagonal <= 0)
        slab = self.slabs[self.slab_of[lone]]
        out[slab[:, kernel.CONSTANT] + self.place_of[lone] * (2 * slab[:, kernel.SIZE] + 1)] = 1.0
        # A constraint across the border of two cells couples slabs that are not neighbours, weakly: each of the two
        # nodes takes the size of what is left out instead, which keeps the matrix above the true one.
        far = ~kept & (self.slabs[there, kernel.NEXT] != here)
        np.add.at(out, (at - self.place_of[column] + self.place_of[row])[far], np.abs(value[far]))
        beyond = far & (np.abs(here - there) > 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.abs(value[beyond]) / np.sqrt(diagonal[row[beyond]] * diagonal[column[beyond]])
        self.far_parts = np.unique(self.slabs[here[beyond][share > FAR], kernel.PART])
        return out

    @property
    def sampled(self) -> bool:
        """Whether some constraints stand for others."""
        return bool(len(self.tets[1]) or len(self.volumes[1]) or len(self.membranes[1]))

    # --- using it -------------------------------------------------------------------------------------------------

    def bind(self, layout: Layout, r: np.ndarray, x: np.ndarray) -> list[Phase]:
        """Steps that make x (nodes, 4) of the residual r at layout.q."""
        p = sp.csr_array(self.prolongation[layout.order])
        restrict = transfer_of(sp.csr_array(p.T))
        f = np.zeros((self.nodes, 4), np.float32)
        u, y = np.zeros(self._room[0]), np.zeros(3 * self.nodes)
        self.constant = np.zeros(self._room[1])
        phases = [restrict_rows.over(0, self.nodes, source=r, to=f, grain=1, **restrict._asdict())]
        corners = np.array([2**self.dims], np.int64)
        h = np.zeros((self.cells * 3 * 4**self.dims, 4), np.float32)
        starts, vertices, stiffness, length, phi = self.springs
        cells = {"starts": starts, "ends": layout.rank[vertices], "stiffness": stiffness, "length": length, "phi": phi}
        cells |= {"q": layout.q, "coefficients": coefficients(self.dims).astype(np.float32).ravel(), "h": h}
        if self.dims == 2:
            phases.append(lattice_cells.planar_cells.over(0, self.cells, grain=1, **cells))
        else:
            starts, vertices, operator, weights, slopes, _ = self.tets
            cells |= {"tet_starts": starts, "corners4": layout.rank[vertices], "operator": operator}
            cells |= {"weights": weights, "slopes": slopes, "corners": corners}
            starts, vertices, operator, weights, slopes, _ = self.volumes
            cells |= {"volume_starts": starts, "volume_corners": layout.rank[vertices], "volume_operator": operator}
            cells |= {"volume_weights": weights, "volume_slopes": slopes}
            phases.append(lattice_cells.general_cells.over(0, self.cells, grain=1, **cells))
        if len(self.membranes[1]):
            starts, vertices, operator, weights, slopes, parameters = self.membranes
            sampled = {"starts": starts, "vertices": layout.rank[vertices], "operator": operator, "weights": weights}
            sampled |= {"slopes": slopes, "parameters": parameters, "corners": corners}
            sampled |= {name: cells[name] for name in ("q", "coefficients", "h")}
            phases.append(membrane_cells.over(0, self.cells, grain=1, **sampled))
        slabs = {"slabs": self.slabs, "u": u}
        lists: dict[str, np.ndarray] = {
            "cell_at": self.cell_at,
            "cell_list": self.cell_list,
            "cell_nodes": self.cell_nodes,
        }
        lists |= {"slab_of": self.slab_of, "place_of": self.place_of, "constant": self.constant}
        phases.append(kernel.assemble_slabs.over(0, len(self.slabs), h=h, corners=corners, grain=1, **slabs, **lists))
        parts = len(self.parts)
        sizes = np.repeat(3 * self.slabs[self.part_list[:, kernel.FIRST], kernel.SIZE], 2)
        ends = np.cumsum(np.stack([sizes.astype(np.int64) ** 2, sizes], axis=1), axis=0)
        meeting_at = np.concatenate([np.zeros((1, 2), np.int64), ends[:-1]]).astype(np.int32)
        solved = {"parts": self.part_list, "y": y, "failed": np.zeros(2 * parts, np.int32), **slabs}
        meeting: dict[str, np.ndarray] = {
            "meeting": np.zeros(int(ends[-1, 0])),
            "meeting_y": np.zeros(int(ends[-1, 1])),
        }
        meeting |= {"meeting_at": meeting_at, "f": f}
        phases += [
            kernel.eliminate.over(0, 2 * parts, chunks=min(2 * parts, 64), **solved, **meeting),
            kernel.solve_middle.over(0, parts, chunks=min(parts, 64), **solved, **meeting),
            kernel.substitute.over(0, 2 * parts, x=x, chunks=min(2 * parts, 64), **solved),
        ]
        self.adapt(layout.system)
        return phases

    def adapt(self, system: System) -> None:
        """Pins and contacts have changed: what holds each vertex goes to the nodes around it."""
        self.constant[:] = self._galerkin
        held = system.pin_weight + system.contact_weight
        p = self.prolongation
        kernel.add_diagonal(
            *(np.flatnonzero(held), held, p.indptr, p.indices, p.data),
            *(self.slab_of, self.place_of, self.slabs, self.constant),
        )


def lattice_spaces(system: System, most: int) -> list[LatticeSpace]:
    """The lattices of a body, one for each number of dimensions that its parts have."""
    labels = connected_components(system.off, directed=False)[1]
    order = np.argsort(labels, kind="stable")
    pieces = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    pieces = [piece for piece in pieces if len(piece) >= SMALLEST_PART]
    rest, edge = system.model.mesh.vertices, edge_lengths(system)
    spaces: dict[int, list[Part]] = {}
    limit = max(LEAST_WORK, WORK_PER_VERTEX * system.n)
    for piece in pieces:
        axes, extents = axes_of(rest[piece])
        cells = cells_for(extents, float(np.median(edge[piece])), most, limit * len(piece) / system.n)
        spaces.setdefault(len(axes), []).append(part_of(rest, piece, axes, extents, cells))
    made = []
    for dims, parts in spaces.items():
        space = LatticeSpace(system, parts, dims)
        if len(space.far_parts):  # constraints reach across the lattice: few nodes, and one matrix for all of them
            for number in space.far_parts:
                parts[number] = _dense(rest, parts[number])
            space = LatticeSpace(system, parts, dims)
        made.append(space)
    return made


def coefficients(dims: int) -> np.ndarray:
    """Of the features in the hats of a cell's corners: (2^dims, 2^dims - 1)."""
    corners = np.arange(2**dims)
    inside = (corners[:, None] >> np.arange(dims)) & 1
    basis = np.concatenate([np.ones((len(corners), 1)), features(inside.astype(float))], axis=1)
    return np.linalg.inv(basis).T[:, 1:]  # hats are 1 at their own corner and 0 at the others


def _dense(rest: np.ndarray, part: Part) -> Part:
    cells = part.cells
    while np.prod(cells + 1) > MOST_DENSE:
        cells = np.maximum(1, cells - (cells == cells.max()))
    axes, extents = axes_of(rest[part.vertices])
    smaller = part_of(rest, part.vertices, axes, extents, cells)
    smaller.dense = True
    return smaller


def _sampled(found: Sequence[tuple[np.ndarray, ...]], cells: int) -> tuple[np.ndarray, ...]:
    """Starts of the cells; vertices, operators, weights, slopes and parameters of the elements that stand for theirs.

    A few, evenly spaced in each cell's list, carry the weight of the others; where there are fewer, some stand twice.
    """
    if not found:
        none, rows = np.zeros(0, np.float32), np.zeros((0, 4), np.float32)
        return np.zeros(cells + 1, np.int32), np.zeros((0, 4), np.int32), none, none, rows, none
    vertices, weights, operator, slopes, cell, parameters = (
        np.concatenate(column) for column in zip(*found, strict=True)
    )
    order = np.argsort(cell, kind="stable")
    counts = np.bincount(cell, minlength=cells)
    begin = np.concatenate([[0], np.cumsum(counts)])[:-1]
    used = np.flatnonzero(counts)
    spread = (np.arange(SAMPLED) * counts[used, None]) // SAMPLED
    chosen = order[begin[used, None] + spread]
    share = weights[chosen]
    share *= (np.bincount(cell, weights, minlength=cells)[used] / share.sum(axis=1))[:, None]
    starts = np.concatenate([[0], np.cumsum(np.where(counts > 0, SAMPLED, 0))]).astype(np.int32)
    flat = chosen.ravel()
    _, features, measures = slopes.shape
    rows = np.zeros((len(flat) * features, 4), np.float32)
    rows[:, :measures] = slopes[flat].reshape(-1, measures)
    single = [array.astype(np.float32) for array in (operator[flat], share.ravel(), rows, parameters[flat])]
    return starts, vertices[flat], *single
