"""A multigrid hierarchy for Y: coarsened by PyAMG's smoothed aggregation, laid out for our sweeps.

Every level is a symmetric matrix in the order of its own colours, with the prolongation P from the level below it; the
coarsest is small enough for a dense inverse. Coarse matrices are Galerkin's, PᵀYP, so a change ΔY of the fine diagonal
changes level l by QᵀΔQ with Q the product of the prolongations up to l: a few numbers for each changed vertex.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...colouring import colour
from ...energy.kernels.assemble import add_to_level, invert_level, sort_rows

LARGEST_DENSE = 64  # unknowns up to which a dense inverse is cheaper than another level
MOST_LEVELS = 12
SMALLEST_GAIN = 0.8  # a level must have fewer than this share of the unknowns above it

Progress = Callable[[str, int, int], None]

# What PyAMG is asked for, by name.
COARSENINGS: dict[str, dict[str, Any]] = {
    "energy": {"strength": ("symmetric", {"theta": 0.05}), "smooth": ("energy", {"degree": 1})},
    "smoothed": {"strength": ("symmetric", {"theta": 0.0}), "smooth": "jacobi"},
    "evolution": {"strength": ("evolution", {}), "smooth": "jacobi"},
    "plain": {"strength": ("symmetric", {"theta": 0.0}), "smooth": None},
}


COARSE = "coarse levels"  # what their phases are reported under


class Transfer(NamedTuple):
    """A prolongation or restriction by rows: pointers, columns, values."""

    row_at: np.ndarray
    j: np.ndarray
    a: np.ndarray


@dataclass(eq=False)
class Level:
    """One matrix in the order of its colours, and the way to the next: P (rows here, columns there) and R = Pᵀ."""

    n: int
    at: np.ndarray
    middle: np.ndarray
    j: np.ndarray
    a: np.ndarray  # -A_ij, float32
    wide: np.ndarray  # A_ij in float64, to be added to
    diagonal: np.ndarray  # float64
    inverse: np.ndarray  # 1/A_ii, float32
    pointers: np.ndarray  # colours
    prolong: Transfer | None = None  # None on the coarsest level
    restrict: Transfer | None = None
    r: np.ndarray = field(init=False)
    e: np.ndarray = field(init=False)
    left: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.r, self.e, self.left = (np.zeros((self.n, 4), np.float32) for _ in range(3))


@dataclass(eq=False)
class Hierarchy:
    """`levels[0]` is the first coarse level; the fine one belongs to the Layout. `down`: from fine to the first."""

    levels: list[Level]
    down: tuple[Transfer, Transfer] | None  # (P, R) of the fine level, in its order
    from_fine: list[sp.csr_array]  # products of prolongations: fine vertices (mesh order) to each level
    dense: np.ndarray  # inverse of the coarsest level, float32; empty if that level is still too large for one
    fine_diagonal: np.ndarray  # of the matrix that the levels stand for, mesh order
    sizes: list[int]
    operator_complexity: float

    def adapt(self, diagonal: np.ndarray) -> int:
        """Take a new fine diagonal (mesh order) to every level, in place; returns how many vertices changed."""
        changed = np.flatnonzero(diagonal != self.fine_diagonal)
        delta = diagonal[changed] - self.fine_diagonal[changed]
        self.fine_diagonal = diagonal.copy()
        for level, q in zip(self.levels, self.from_fine, strict=True):
            add_to_level(
                *(changed, delta, q.indptr, q.indices, q.data),
                *(level.at, level.j, level.wide, level.a, level.diagonal, level.inverse),
            )
        if len(self.dense):
            level = self.levels[-1]
            invert_level(level.at, level.j, level.wide, level.diagonal, self.dense)
        return len(changed)


def build(
    matrix: sp.csr_matrix,
    order: np.ndarray,
    *,
    coarsening: str = "energy",
    seed: int = 0,
    progress: Progress | None = None,
) -> Hierarchy:
    """Coarsen `matrix` (mesh order) until a dense inverse is cheap; `order` is the fine level's visiting order."""
    import pyamg

    tell = progress or (lambda what, done, total: None)
    options = COARSENINGS[coarsening]
    a, b = sp.csr_array(matrix), None
    sizes, entries = [a.shape[0]], [a.nnz]
    matrices: list[sp.csr_array] = []
    prolongations: list[sp.csr_array] = []
    if a.shape[0] <= LARGEST_DENSE:  # the finest is its own coarsest
        matrices, prolongations = [a], [sp.csr_array(sp.eye_array(a.shape[0], format="csr"))]
    expected = max(1, round(np.log(max(a.shape[0] / LARGEST_DENSE, 1.0)) / np.log(9.0)))
    while a.shape[0] > LARGEST_DENSE and len(matrices) < MOST_LEVELS:
        tell("coarsening", len(matrices), max(expected, len(matrices) + 1))
        with _numpy_seed(seed):  # PyAMG takes some of its start vectors from NumPy's global generator
            pair = pyamg.smoothed_aggregation_solver(a, B=b, max_levels=2, max_coarse=1, keep=False, **options)
        if len(pair.levels) < 2 or not 0 < pair.levels[1].A.shape[0] < SMALLEST_GAIN * a.shape[0]:
            break  # hardly anything is strongly connected: sweeps alone do it
        if not (pair.levels[1].A.diagonal() > 0).all():
            break  # nothing at all is, and PyAMG's one aggregate is empty
        prolongations.append(sp.csr_array(pair.levels[0].P))
        a, b = sp.csr_array(pair.levels[1].A), pair.levels[1].B
        matrices.append(a)
        sizes.append(a.shape[0])
        entries.append(a.nnz)
    tell("coarsening", 1, 1)
    return _laid_out(matrix, order, matrices, prolongations, sizes, sum(entries) / max(entries[0], 1), seed)


def _laid_out(
    matrix: sp.csr_matrix,
    order: np.ndarray,
    matrices: list[sp.csr_array],
    prolongations: list[sp.csr_array],
    sizes: list[int],
    complexity: float,
    seed: int,
) -> Hierarchy:
    fine_order, levels, transfers, from_fine = order, list[Level](), list[tuple[Transfer, Transfer]](), []
    product: sp.csr_array | None = None
    for a, p in zip(matrices, prolongations, strict=True):
        level, level_order = _level(a, seed)
        there = p[fine_order][:, level_order]
        transfers.append((transfer_of(there), transfer_of(sp.csr_array(there.T))))
        levels.append(level)
        product = p if product is None else product @ p
        composed = sp.csr_array(product[:, level_order])
        composed.sort_indices()
        composed.indptr, composed.indices = (x.astype(np.int32) for x in (composed.indptr, composed.indices))
        from_fine.append(composed)
        fine_order = level_order
    for level, transfer in zip(levels[:-1], transfers[1:], strict=True):
        level.prolong, level.restrict = transfer
    size = levels[-1].n if levels and levels[-1].n <= LARGEST_DENSE else 0
    result = Hierarchy(
        *(levels, transfers[0] if transfers else None, from_fine, np.zeros((size, size), np.float32)),
        *(matrix.diagonal().copy(), sizes, complexity),
    )
    result.adapt(result.fine_diagonal)
    return result


def _level(a: sp.csr_array, seed: int) -> tuple[Level, np.ndarray]:
    """A coarse matrix in the order of its colours, and that order."""
    n = a.shape[0]
    symmetric = sp.csr_array(0.5 * (a + a.T))
    diagonal = symmetric.diagonal()
    off = sp.csr_array(symmetric - sp.diags_array(diagonal))
    off.eliminate_zeros()
    off.sort_indices()
    indptr, indices = off.indptr.astype(np.int32), off.indices.astype(np.int32)
    order, pointers = colour(indptr, indices, "greedy", seed=seed, check=False).order()
    off = sp.csr_array(off[order][:, order])
    off.sort_indices()
    at, j, wide = off.indptr.astype(np.int32), off.indices.astype(np.int32), off.data.astype(np.float64)
    single = (-wide).astype(np.float32)
    middle = sort_rows(at, j, single)
    ordered = diagonal[order]
    return Level(n, at, middle, j, single, wide, ordered, (1.0 / ordered).astype(np.float32), pointers), order


def transfer_of(p: sp.csr_array) -> Transfer:
    """A sparse matrix as compiled kernels read it."""
    p.sort_indices()
    return Transfer(p.indptr.astype(np.int32), p.indices.astype(np.int32), p.data.astype(np.float32))


class _numpy_seed:
    """NumPy's global generator at a known place, and back where it was afterwards."""

    def __init__(self, seed: int):
        self.seed = seed

    def __enter__(self) -> None:
        self.state = np.random.get_state()  # noqa: NPY002
        np.random.seed(self.seed % 2**32)  # noqa: NPY002

    def __exit__(self, *error: object) -> None:
        np.random.set_state(self.state)  # noqa: NPY002
