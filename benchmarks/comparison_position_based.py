"""Position based dynamics in a few lines of NumPy, for one figure of docs/comparison.md."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from vivace.scenes import Scene


class PositionBased:
    """Position based dynamics by Jacobi iterations [fratarcangeli2018, Eq. 27] over distances along a mesh's edges.

    All vertices weigh the same. A study and no solver of the package: there are no other constraints.
    """

    def __init__(self, scene: Scene):
        mesh, model = scene.model.mesh, scene.model
        edges, count = mesh.edges, len(mesh.edges)
        signs, rows = np.tile([1.0, -1.0], count), np.repeat(np.arange(count), 2)
        self.ends = sp.csr_matrix((signs, (rows, edges.ravel())), (count, model.n))
        self.rest = self.lengths(mesh.vertices)
        self.inverse_mass = np.ones(model.n)
        self.inverse_mass[model.pinned] = 0.0
        both = self.inverse_mass[edges].sum(axis=1)
        self.share = np.divide(1.0, both, out=np.zeros(count), where=both > 0)
        self._gather = (sp.diags(self.inverse_mass) @ self.ends.T).tocsr()

    def lengths(self, q: np.ndarray) -> np.ndarray:
        return np.linalg.norm(self.ends @ q, axis=1)

    def moved(self, q: np.ndarray) -> np.ndarray:
        """Σ_c Δq_(i,c): what the constraints of each vertex suggest, added up."""
        along = self.ends @ q
        length = np.linalg.norm(along, axis=1)
        pull = self.share * (self.rest / np.maximum(length, 1e-12) - 1.0)
        return self._gather @ (pull[:, None] * along)

    def violation(self, q: np.ndarray) -> float:
        """Root mean square of what the edges are longer or shorter than at rest (m)."""
        return float(np.sqrt(np.mean((self.lengths(q) - self.rest) ** 2)))

    def violations(
        self, q: np.ndarray, alpha: float, iterations: int, rho: float = 0.0, delay: int = 10
    ) -> Iterator[float]:
        """The violation after each iteration; ρ > 0 accelerates as in Alg. 1, γ = 1."""
        before = q
        for omega in chebyshev_weights(iterations, rho, delay):
            q, before = omega * (q + alpha * self.moved(q) - before) + before, q
            yield self.violation(q)


def chebyshev_weights(iterations: int, rho: float, delay: int = 10) -> Iterator[float]:
    """ω of [fratarcangeli2018, Alg. 1]."""
    omega = 1.0
    for k in range(iterations):
        omega = 1.0 if k < delay else 2 / (2 - rho**2) if k == delay else 4 / (4 - rho**2 * omega)
        yield omega
