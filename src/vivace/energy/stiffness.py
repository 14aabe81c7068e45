"""K = Σ w AᵀA of constraints, the part of Y that neither masses nor the time step change."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..blocks import in_blocks
from ..constraints import ConstraintGroup
from .kernels.assemble import add_stiffness, count_pairs, fill_columns, merge_columns


class Stiffness:
    """K of some constraint groups, made when first needed; systems that differ in their pins share one."""

    def __init__(self, n: int, groups: list[ConstraintGroup]):
        self._n, self._groups = n, groups
        self._scaled: tuple[float, sp.csr_matrix] | None = None

    @cached_property
    def parts(self) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
        """K without its diagonal, the diagonal, row sums."""
        return assembled(self._n, self._groups)

    def times(self, x: np.ndarray) -> np.ndarray:
        """K x for x (n, 3)."""
        off, diagonal, _ = self.parts
        product: np.ndarray = off @ x + diagonal[:, None] * x
        return product

    def scaled(self, factor: float) -> sp.csr_matrix:
        """The off-diagonal part times a factor, the last of which is kept: it changes with the time step only."""
        if factor == 1.0:
            return self.parts[0]
        if self._scaled is None or self._scaled[0] != factor:
            self._scaled = factor, self.parts[0] * factor
        return self._scaled[1]


def assembled(n: int, groups: list[ConstraintGroup]) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    """Σ w AᵀA as (CSR without the diagonal, diagonal, row sums). Entries that cancel stay: they are edges of the graph.

    Row sums come from those of A, which are exactly zero for all that does not mind being moved as a whole; adding up
    the entries would leave rounding noise as large as the inertia.
    """
    diagonal, sums = np.zeros(n), np.zeros(n)
    counts = np.zeros(n, np.int64)
    for group in groups:
        count_pairs(counts, group.vertices)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    columns, cursor = np.empty(indptr[-1], np.int32), indptr[:-1].copy()
    for group in groups:
        fill_columns(cursor, columns, group.vertices)
    indptr = merge_columns(indptr, columns)
    columns = columns[: indptr[-1]].copy()
    values = np.zeros(len(columns))
    for group in groups:
        add_stiffness(indptr, columns, values, diagonal, group.vertices, group.operator, group.weights)
        total = row_sums(group.operator)
        if total.any():
            shares = np.einsum("m,mrk,mr->mk", group.weights, group.operator, total)
            sums += np.bincount(group.vertices.ravel(), shares.ravel(), minlength=n)
    return sp.csr_matrix((values, columns, indptr), shape=(n, n)), diagonal, sums


def row_sums(operator: np.ndarray) -> np.ndarray:
    """Σ_k A_rk for every row (m, r), with what is rounding noise set to zero."""

    def of(block: np.ndarray) -> np.ndarray:
        total = block.sum(axis=2)
        return np.where(np.abs(total) <= 1e-12 * np.abs(block).sum(axis=2), 0.0, total)

    return in_blocks(of, operator)
