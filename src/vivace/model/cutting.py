"""Models whose mesh is cut: every constraint finds the vertices it holds now, and none that ran across the cut stays.

What a vertex had is shared by its copies, which are as thick as it was: mass by the area or volume around each, and
where an edge comes twice after the cut, each of the two has half of the stiffness. Pins hold every copy of what they
held.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from ..constraints import ConstraintGroup, Role
from ..errors import InputError
from ..mesh import Cut, Mesh, cut, part
from ..terms.term import Term
from .attachments import Attachment
from .model import Model
from .paths import PinPath


@dataclass(frozen=True, eq=False)
class CutModel:
    """A model after a cut.

    Attributes:
        parents: (n',) the vertex of the old model that each vertex is, or is a copy of.
        parted: (p, 2) pairs of elements that have parted, for `part_model`.
    """

    model: Model
    parents: np.ndarray
    parted: np.ndarray


def cut_model(model: Model, eye: object, stroke: object, positions: object = None) -> CutModel:
    """Cut the body along a stroke; see `vivace.mesh.cut`, which has the same arguments.

    Raises:
        InputError: where nothing would part, and for terms that say nothing of how they are cut.
    """
    _check_terms(model)
    return _cut(model, cut(model.mesh, eye, stroke, positions))


def part_model(model: Model, pairs: object) -> CutModel:
    """Make a cut again that is known by the pairs of elements that it has parted; see `vivace.mesh.part`."""
    _check_terms(model)
    return _cut(model, part(model.mesh, pairs))


def _check_terms(model: Model) -> None:
    for term in model.terms:
        if not callable(getattr(term, "renumbered", None)):
            raise InputError(f"this body cannot be cut: {type(term).__name__} has no method renumbered(mesh)")


def _cut(model: Model, made: Cut) -> CutModel:
    rows = _Rows(model.mesh, made)
    groups = tuple(_group(group, rows) for group in model.groups)
    attachments = tuple(_attachment(one, made.parents) for one in model.attachments)
    masses = _masses(model, made)
    terms: tuple[Term, ...] = tuple(term.renumbered(made.mesh) for term in model.terms)  # type: ignore[attr-defined]
    led, touching = tuple(_path(one, made.parents) for one in model.paths), model.collisions
    if touching is not None and touching.thicknesses is not None:
        touching = replace(touching, thicknesses=touching.thicknesses[made.parents])
    new = replace(
        model,
        mesh=made.mesh,
        masses=masses,
        groups=groups,
        terms=terms,
        attachments=attachments,
        paths=led,
        collisions=touching,
    )
    return CutModel(new, made.parents, made.parted)


def _masses(model: Model, made: Cut) -> np.ndarray:
    """Each copy's part of its vertex' mass is its part of what the elements around it measure."""
    mesh = made.mesh
    if mesh.is_volumetric:
        elements, sizes = mesh.tets, mesh.tet_volumes()
    elif len(mesh.triangles):
        elements, sizes = mesh.triangles, mesh.triangle_areas()
    else:
        ends = mesh.vertices[mesh.lines]
        elements, sizes = mesh.lines, np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    own = np.bincount(elements.ravel(), np.repeat(sizes, elements.shape[1]), minlength=mesh.n_vertices)
    whole = np.bincount(made.parents, own)[made.parents]
    masses: np.ndarray = model.masses[made.parents] * np.where(whole > 0, own / np.where(whole > 0, whole, 1.0), 1.0)
    return masses


class _Rows:
    """What becomes of the vertices of a constraint."""

    def __init__(self, mesh: Mesh, made: Cut):
        self.doubled = made.doubled
        self._old = _simplices(mesh, self.doubled)
        self._new = _simplices(made.mesh, np.flatnonzero(np.isin(made.parents, self.doubled)))
        self._copies: dict[int, list[int]] = {}
        for vertex in np.flatnonzero(np.isin(made.parents, self.doubled)).tolist():
            self._copies.setdefault(int(made.parents[vertex]), []).append(vertex)

    def of(self, row: list[int], everywhere: bool) -> list[tuple[int, ...]]:
        """The rows in place of one: those whose edges, triangles and tetrahedra are such still.

        `everywhere`: all copies, as for a pin. Otherwise, a row without any edge keeps the first copies.
        """
        choices = [self._copies.get(vertex, [vertex]) for vertex in row]
        if everywhere:
            return list(product(*choices))
        sets = [s for k in (2, 3, 4) for s in combinations(range(len(row)), k)]
        whole = [s for s in sets if tuple(sorted(row[i] for i in s)) in self._old]
        if not whole:
            return [tuple(row)]
        return [one for one in product(*choices) if all(tuple(sorted(one[i] for i in s)) in self._new for s in whole)]


def _simplices(mesh: Mesh, vertices: np.ndarray) -> set[tuple[int, ...]]:
    """Edges, triangles and tetrahedra at some vertices, the corners of each in rising order."""
    found: set[tuple[int, ...]] = set()
    for elements in (mesh.edges, mesh.triangles, mesh.tets):
        near = elements[np.isin(elements, vertices).any(axis=1)]
        found.update(map(tuple, np.sort(near, axis=1).tolist()))
    return found


def _group(group: ConstraintGroup, rows: _Rows) -> ConstraintGroup:
    touched = np.isin(group.vertices, rows.doubled).any(axis=1)
    if not touched.any():
        return group
    held = group.kind.role is Role.TARGET
    vertices, source, share = [], [], []
    for k in np.flatnonzero(touched).tolist():
        new = rows.of(group.vertices[k].tolist(), held)
        vertices += new
        source += [k] * len(new)
        share += [1.0 if held else 1 / max(len(new), 1)] * len(new)
    stay = np.flatnonzero(~touched)
    order = np.concatenate([stay, np.array(source, np.int64)])
    # In the order of the old group, which keeps neighbours near in memory; pins in that of their targets.
    place = np.argsort(order, kind="stable")
    order = order[place]
    numbers = np.concatenate([group.vertices[stay], np.array(vertices, np.int32).reshape(-1, group.vertices.shape[1])])
    shares = np.concatenate([np.ones(len(stay)), np.array(share)])
    parts = numbers[place].astype(np.int32), group.operator[order], (shares[place] * group.weights[order])
    arrays = (*parts, group.parameters[order])
    for array in arrays:
        array.setflags(write=False)
    return ConstraintGroup(group.kind, *arrays)


def _attachment(one: Attachment, parents: np.ndarray) -> Attachment:
    vertices = np.flatnonzero(np.isin(parents, one.vertices)).astype(one.vertices.dtype)
    return replace(one, vertices=vertices)


def _path(one: PinPath, parents: np.ndarray) -> PinPath:
    vertices = np.flatnonzero(np.isin(parents, one.vertices))
    return one.among(vertices, parents[vertices])
