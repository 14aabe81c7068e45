"""Tangles: what is inside out is held to one rotation until it is not.

Energies of single elements, each with its own nearest rotation, have minima in which a body stays tangled: elements
pressed flat that cannot pass through each other, and stars of them wound twice around a vertex. So a step that begins
in a tangle minimises another energy of the elements that are inverted and of those around them,

    κ/2 volume ‖F - R‖²,     κ = λ + 2 μ at rest,

with one rotation R for each part of the body that hangs together. For a given R it is convex, and its only minimum is
the rest shape, turned. κ is the stiffness that Y has of an element: the Hessian is constant, and known.

A part is a tangle if a fifth of its volume is inverted; where vertices are anywhere it is about half. Less is what
folds and dents have under load. There the material's own energy has a place to stay and another one has not: held
and let go in turn, a fold that should lie still does not.

R is that of the prediction, so that what turns while it is tangled goes on turning. Pins, and vertices that have
elements outside the part, tell it if there are any: else a pinned body might be held to the wrong side.

All of it is a function of where a step begins, of its prediction and of its pins. So a step has one energy from
beginning to end, whoever evaluates it; nothing is remembered; and where nothing is inverted, nothing is different.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .kernels.svd import polar_all
from .kernels.tangles import inverted, means, parts_of, widen

RINGS = 1  # of elements around those that are inverted
ENOUGH = 0.2  # of the volume of a part of the body must be inverted for it to be held
ABSURD = 1e6  # times κ volume: an element that stores more is not stretched but lost


@dataclass(frozen=True, eq=False)
class Tangle:
    """What is held in a step.

    Attributes:
        elements: (k,) int32.
        turns: (k, 9) R of each, row by row.
    """

    elements: np.ndarray
    turns: np.ndarray


def inverted_elements(q: np.ndarray, vertices: np.ndarray) -> np.ndarray | None:
    """Which tetrahedra of flat `vertices` have no positive volume (m,); None, if all have."""
    flags = np.zeros(len(vertices) // 4, np.bool_)
    return flags if inverted(q, vertices, flags) else None


def tangled_elements(lost: np.ndarray, vertices: np.ndarray, volumes: np.ndarray, n: int) -> np.ndarray | None:
    """Lost tetrahedra and those around them, where enough is lost (m,); None, if that is nowhere so."""
    flags = lost.copy()
    for _ in range(RINGS):
        widen(vertices, flags, n)
    part = parts_of(vertices, flags, n)[vertices[::4]]
    whole = np.bincount(part[flags], volumes[flags], minlength=n)
    flags &= np.bincount(part[lost], volumes[lost], minlength=n)[part] >= ENOUGH * whole[part]
    return flags if flags.any() else None


def tangle_of(
    flags: np.ndarray,
    q: np.ndarray,
    rest: np.ndarray,
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray],
    pinned: np.ndarray | None,
) -> Tangle:
    """Flagged tetrahedra, and the rotations of the parts that they hang together in.

    `arrays`: vertices, inverses of rest edges and volumes, flat.
    """
    fixed = np.zeros(len(q), np.bool_)
    if pinned is not None:
        fixed[pinned] = True
    elements = np.flatnonzero(flags).astype(np.int32)
    name = parts_of(arrays[0], flags, len(q))
    parts = name[arrays[0][4 * elements]]
    turned = np.tile(np.eye(3).ravel(), (len(q), 1))
    found = means(q, rest, *arrays, flags, name, fixed)
    known = np.unique(parts)
    known = known[np.isfinite(found[known]).all(axis=1)]
    nearest = np.empty((len(known), 9))
    polar_all(found[known], nearest)
    turned[known] = nearest
    return Tangle(elements, turned[parts])
