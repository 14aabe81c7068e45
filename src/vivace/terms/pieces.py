"""Pieces of a Hessian, in the forms that terms have them: unknown 3 i + c is coordinate c of vertex i."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from .kernels.curvature import add_blocks


@dataclass(frozen=True, eq=False)
class Blocks:
    """Second derivatives of elements: vertices (m, k), blocks (m, 3k, 3k), coordinate c of corner a at 3 a + c.

    `definite`: whether none has a negative eigenvalue, so that nobody need look.
    """

    vertices: np.ndarray
    blocks: np.ndarray
    definite: bool = False

    def matrix(self, n: int) -> sp.csr_matrix:
        """The sum over elements, 3n x 3n."""
        return summed(n, [self])


@dataclass(frozen=True, eq=False)
class Alike:
    """The same for x, y and z: a diagonal (n,) and, where vertices are coupled, what is off it (n x n)."""

    diagonal: np.ndarray
    off: sp.csr_matrix | None = None

    def matrix(self, n: int) -> sp.csr_matrix:
        """The same entry for x, y and z, 3n x 3n."""
        single = sp.diags(self.diagonal) if self.off is None else self.off + sp.diags(self.diagonal)
        return sp.kron(single, sp.identity(3), format="csr")


@dataclass(frozen=True, eq=False)
class Congruent:
    """w Aᵀ C A: vertices (m, k), operator (m, r, k), weights (m,), curvature C (m, r, 3, r, 3), None for C = I."""

    vertices: np.ndarray
    operator: np.ndarray
    weights: np.ndarray
    curvature: np.ndarray | None = None

    def matrix(self, n: int) -> sp.csr_matrix:
        """The sum over elements, 3n x 3n."""
        m, r, k = self.operator.shape
        c = np.eye(3 * r).reshape(1, r, 3, r, 3) if self.curvature is None else self.curvature
        c = np.broadcast_to(c, (m, r, 3, r, 3))
        blocks = np.einsum("m,mrk,msl,mrcsd->mkcld", self.weights, self.operator, self.operator, c, optimize=True)
        return Blocks(self.vertices, blocks.reshape(m, 3 * k, 3 * k)).matrix(n)


Piece: TypeAlias = "Blocks | Alike | Congruent | sp.spmatrix | sp.sparray"


def as_matrix(piece: Piece, n: int) -> sp.csr_matrix:
    """Any piece as a sparse matrix of 3n unknowns."""
    return piece.matrix(n) if isinstance(piece, (Blocks, Alike, Congruent)) else sp.csr_matrix(piece)


def summed(n: int, pieces: list[Blocks]) -> sp.csr_matrix:
    """The sum of all elements' blocks, 3n x 3n."""
    rows = [np.repeat(piece.vertices, piece.vertices.shape[1], axis=1).ravel() for piece in pieces]
    columns = [np.tile(piece.vertices, (1, piece.vertices.shape[1])).ravel() for piece in pieces]
    row, column = np.concatenate(rows), np.concatenate(columns)
    pattern = sp.coo_matrix((np.ones(len(row)), (row, column)), (n, n)).tocsr()
    pattern.sort_indices()
    out = np.zeros((pattern.nnz, 3, 3))
    for piece in pieces:
        vertices, blocks = np.ascontiguousarray(piece.vertices, np.int32), np.ascontiguousarray(piece.blocks)
        add_blocks(pattern.indptr, pattern.indices, out, vertices, blocks)
    return sp.bsr_matrix((out, pattern.indices, pattern.indptr), (3 * n, 3 * n)).tocsr()
