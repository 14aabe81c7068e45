"""The Hessian of a step's energy ε for Newton's method: a sparse matrix that is positive definite whatever the state.

Coordinate c of vertex i is unknown 3 i + c. Inertia, viscosity, pins and quadratic constraints have a constant one.
Negative curvature is set to zero: of constraints with a projection in their own few measures (see `curvature`), of what
is known by blocks (constraints by value, terms of a user's own) in each block. A sparse matrix is taken as it is.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..terms.curvature import clamped
from ..terms.kernels.curvature import add_curvature
from ..terms.pieces import Alike, Blocks, Congruent, as_matrix, summed
from ..terms.term import Frame, pieces_of
from .kernels.assemble import add_stiffness
from .stored import Projected, Valued
from .system import System


class Hessian:
    """The matrix for any q; the pattern and the constant part of what projective dynamics knows are made once."""

    def __init__(self, system: System):
        n, off, objective = system.n, system.stiffness_off, system.objective
        self.system, self._n = system, n
        # Ones, because SciPy drops entries that cancel, and they may not be zero elsewhere.
        pattern = sp.csr_matrix((np.ones(off.nnz), off.indices, off.indptr), (n, n)) + sp.identity(n, format="csr")
        pattern.sort_indices()
        self._indptr, self._columns = pattern.indptr, pattern.indices
        values, diagonal, held = np.zeros(off.nnz), np.zeros(n), np.zeros(n)
        nowhere = np.zeros((n, 3))
        for term in (*objective.motion, *objective.stored):
            for piece in pieces_of(term, nowhere, None) if term.constant else ():  # type: ignore[arg-type]
                if isinstance(piece, Congruent):
                    rows = off.indptr, off.indices, values, diagonal
                    add_stiffness(*rows, piece.vertices, piece.operator, piece.weights)
                elif isinstance(piece, Alike) and piece.off is not None:
                    values += piece.off.data
                    diagonal += piece.diagonal
                elif isinstance(piece, Alike):
                    held += piece.diagonal
        diagonal += held
        row = np.repeat(np.arange(n), np.diff(self._indptr))
        self._constant = np.empty(len(row))
        self._constant[row != self._columns] = values
        self._constant[row == self._columns] = diagonal
        self._projected = [t for t in objective.stored if isinstance(t, Projected) and not t.constant]
        self._others = [*(t for t in objective.stored if isinstance(t, Valued)), *objective.own]
        for term in objective.stored:  # compiled now, not inside the first step's budget
            if isinstance(term, Projected) and not term.constant:
                self._add(term.piece(nowhere, slice(0)), np.zeros((0, 3, 3)))
            elif isinstance(term, Valued):
                summed(n, [_definite(term.piece(nowhere, slice(0)))])

    def __call__(self, q: np.ndarray, frame: Frame | None = None) -> sp.csr_matrix:
        """At positions q (n, 3), in float64. `frame`: for the model's own terms."""
        blocks = np.zeros((len(self._columns), 3, 3))
        blocks[:, range(3), range(3)] = self._constant[:, None]
        for term in self._projected:
            for piece in term.hessian(q, frame):
                self._add(piece, blocks)
        size = 3 * self._n
        matrix = sp.bsr_matrix((blocks, self._columns, self._indptr), (size, size)).tocsr()
        return matrix + self.others(q, frame) if self._others else matrix

    def others(self, q: np.ndarray, frame: Frame | None = None) -> sp.csr_matrix:
        """The part of it that projective dynamics has no matrix for: constraints by value, the model's own terms."""
        blocks, total = list[Blocks](), sp.csr_matrix((3 * self._n, 3 * self._n))
        for term in self._others:
            for piece in pieces_of(term, q, frame):  # type: ignore[arg-type]
                if isinstance(piece, Blocks):
                    blocks.append(_definite(piece))
                else:
                    total = total + as_matrix(piece, self._n)
        return total + summed(self._n, blocks) if blocks else total

    def _add(self, piece: Congruent, blocks: np.ndarray) -> None:
        pattern = self._indptr, self._columns, blocks
        add_curvature(*pattern, piece.vertices, piece.operator, piece.weights, piece.curvature)


def _definite(piece: Blocks) -> Blocks:
    """Without negative eigenvalues, and without blocks that are not finite."""
    finite = np.isfinite(piece.blocks).all(axis=(1, 2))
    if piece.definite and finite.all():
        return piece
    return Blocks(piece.vertices, clamped(np.where(finite[:, None, None], piece.blocks, 0.0)))
