"""What a step minimises is a sum of terms; this is what a term is, and how to write one.

A term is a function of the positions q (n, 3) that tells its energy in joules, adds its gradient to an array and, if it
can, gives its second derivatives. That is all that Newton's method asks for, and each can be held to the one before it
by finite differences. Most are sums over elements of k vertices; these need no more than two functions of the elements'
positions x (m, k, 3):

    class Well(vv.ElementTerm):
        '''Draws vertices to the origin.'''

        def energies(self, x):
            return 0.5 * np.sum(x**2, axis=(1, 2))

        def gradients(self, x):
            return x

    model = model.add(Well(np.arange(model.n)[:, None]))

Solvers of projective dynamics need more (a constant matrix and projections, see `system`), and position based ones
less: both refuse a model with terms of its own, and say which solvers do not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..blocks import BLOCK
from ..errors import InputError
from .curvature import slopes_jacobian
from .pieces import Blocks, Piece


@dataclass(frozen=True, eq=False)
class Frame:
    """One time step's data.

    Attributes:
        s: prediction (n, 3), m.
        start: first guess q⁰ (n, 3), m.
        previous: positions q_n at the end of the last step (n, 3), m.
        targets: where pins hold their vertices (p, 3), m.
        h: length of the step (s); NaN in a frame that was made without it.
        pinned: the vertices that pins hold (p,), if it is known.
        load: external forces (n, 3), N, of a step without inertia; None: they are in the prediction.
    """

    s: np.ndarray
    start: np.ndarray
    previous: np.ndarray
    targets: np.ndarray
    h: float = float("nan")
    pinned: np.ndarray | None = None
    load: np.ndarray | None = None


class Term(ABC):
    """A part of the energy that a step minimises: derive from it, and `model.add(term)`.

    Sums over elements are less work as an `ElementTerm`; examples/own_energy_term.py is one. `energy` and
    `add_gradient` must agree: a step is only as right as its gradient. `newton` minimises terms; other solvers refuse
    them.
    """

    constant: ClassVar[bool] = False  # whether its Hessian is the same wherever the vertices are

    @abstractmethod
    def energy(self, q: np.ndarray, frame: Frame) -> float:
        """At positions q (n, 3), in joules. Infinite where q is outside its domain: no solver goes there."""

    @abstractmethod
    def add_gradient(self, q: np.ndarray, frame: Frame, out: np.ndarray) -> None:
        """Add the derivative of the energy by each position to `out` (n, 3), in newtons."""

    def add(self, q: np.ndarray, frame: Frame, out: np.ndarray) -> float:
        """The energy; its gradient is added to `out`. For terms that have both at once for less."""
        self.add_gradient(q, frame, out)
        return self.energy(q, frame)

    def hessian(self, q: np.ndarray, frame: Frame) -> Piece | Iterable[Piece]:
        """The second derivatives: `Blocks` or a sparse matrix of 3n unknowns, or any number of these.

        Blocks may have negative eigenvalues, which Newton's method sets to zero; a sparse matrix is taken as it is, and
        should be positive semidefinite. No pieces, the default, is right for a linear term. For others it is no
        mistake: Newton's steps still lower the energy, but there are more of them.
        """
        return ()


class ElementTerm(Term):
    """A sum over elements of k vertices: what one stores depends on the positions of its own, and on nothing else.

    Args:
        vertices: (m, k), or (m,) for single ones.
    """

    def __init__(self, vertices: ArrayLike):
        index = np.asarray(vertices)
        index = index[:, None] if index.ndim == 1 else index
        if index.ndim != 2 or not index.shape[1] or not np.issubdtype(index.dtype, np.integer):
            raise InputError(
                f"{type(self).__name__} needs whole-number vertices of shape (m, k), not {index.dtype} of shape "
                f"{np.shape(vertices)}"
            )
        self.vertices = index.astype(np.int32)

    @abstractmethod
    def energies(self, x: np.ndarray) -> np.ndarray:
        """Of elements whose vertices are at x (m, k, 3): (m,), in joules."""

    @abstractmethod
    def gradients(self, x: np.ndarray) -> np.ndarray:
        """Their derivatives by x: (m, k, 3), in newtons."""

    def hessians(self, x: np.ndarray) -> np.ndarray:
        """Their second derivatives, (m, 3k, 3k) in N/m; by central differences of the gradients unless overridden."""
        return slopes_jacobian(self.gradients, x)

    def energy(self, q: np.ndarray, frame: Frame) -> float:
        """The sum of `energies`."""
        return float(np.sum(self.energies(q[self.vertices])))

    def add_gradient(self, q: np.ndarray, frame: Frame, out: np.ndarray) -> None:
        """Add the `gradients` of all elements at their vertices."""
        scatter(self.vertices, self.gradients(q[self.vertices]), out)

    def hessian(self, q: np.ndarray, frame: Frame) -> Blocks:
        """The `hessians` of all elements."""
        return Blocks(self.vertices, self.hessians(q[self.vertices]))


def pieces_of(term: Term, q: np.ndarray, frame: Frame) -> Iterable[Piece]:
    """The pieces of a term's Hessian, one after the other."""
    pieces = term.hessian(q, frame)
    return (pieces,) if sp.issparse(pieces) or not isinstance(pieces, Iterable) else pieces


def scatter(vertices: np.ndarray, shares: np.ndarray, out: np.ndarray) -> None:
    """Add what elements (m, k) give each of their vertices (m, k, 3) to `out` (n, 3)."""
    for axis in range(3):
        out[:, axis] += np.bincount(vertices.ravel(), shares[:, :, axis].ravel(), minlength=len(out))


def parts_of(count: int) -> Iterable[slice]:
    """Slices of so many elements, each short enough for temporaries to stay small."""
    return (slice(begin, begin + BLOCK) for begin in range(0, count, BLOCK))


def try_out(term: Term, rest: np.ndarray, targets: np.ndarray) -> None:
    """Call everything a term has once, at rest, so that its mistakes come with a message."""
    name, n = type(term).__name__, len(rest)
    if isinstance(term, ElementTerm):
        _check_range(name, getattr(term, "vertices", None), n)
    q, frame = np.array(rest, np.float64), Frame(rest, rest, rest, targets, 1 / 60)
    gradient = np.zeros((n, 3))
    doing = "energy(q, frame)"
    try:
        energy = term.energy(q, frame)
        doing = "add_gradient(q, frame, out)"
        term.add_gradient(q, frame, gradient)
        doing = "hessian(q, frame)"
        pieces = list(pieces_of(term, q, frame))
    except Exception as error:
        raise InputError(f"term {name}: {doing} fails at rest: {error!r}") from error
    if not isinstance(energy, (int, float, np.number)) or not np.isfinite(energy):
        raise InputError(f"term {name}: energy(q, frame) must return a finite number at rest, not {energy!r}")
    if not np.isfinite(gradient).all():
        raise InputError(f"term {name}: the gradient at rest is not finite; add_gradient adds numbers to `out`")
    if not np.array_equal(q, rest):
        raise InputError(f"term {name} changes the positions it is given; work on a copy")
    for piece in pieces:
        _check_piece(name, piece, n)


def _check_range(name: str, vertices: object, n: int) -> None:
    if not isinstance(vertices, np.ndarray):
        raise InputError(f"term {name} has no vertices; call super().__init__(vertices)")
    bad = np.flatnonzero(((vertices < 0) | (vertices >= n)).any(axis=1))
    if len(bad):
        raise InputError(
            f"term {name}: element {bad[0]} refers to vertices {vertices[bad[0]].tolist()}, but there are vertices 0 "
            f"to {n - 1} only"
        )


def _check_piece(name: str, piece: Piece, n: int) -> None:
    if isinstance(piece, Blocks):
        _check_range(name, piece.vertices, n)
        m, k = piece.vertices.shape
        found, wanted = np.shape(piece.blocks), (m, 3 * k, 3 * k)
        if found != wanted:
            raise InputError(f"term {name}: blocks of {m} elements of {k} vertices have shape {wanted}, not {found}")
    elif not sp.issparse(piece):
        raise InputError(f"term {name}: hessian(q, frame) gives Blocks or sparse matrices, not {type(piece).__name__}")
    elif (shape := tuple(piece.shape)) != (3 * n, 3 * n):  # type: ignore[union-attr]
        raise InputError(f"term {name}: a sparse Hessian must have shape {(3 * n, 3 * n)}, not {shape}")
