"""Edits of a running scene's model: which vertices are pinned, and cuts. No threads here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..mesh import Mesh
from ..mesh.topology import boundary_edges
from ..model import Model, cut_model
from ..model.attachments import attached_to
from ..model.paths import following
from ..scenes.edits import MOST_CUTS, MOST_GROWTH
from .messages import PinRule

LEAST = 0.02  # of a body's height: what is so near to its top is its top edge
SHARP = 0.3  # the cosine of the angle at which a border has a corner, at most


@dataclass(frozen=True, eq=False)
class ModelEdit:
    """A change of a model that can be taken back.

    Attributes:
        label: what it was, in a word or two.
        before: the model, as stiff as the scene has it.
        after: likewise.
        parents: of a cut: (n',) the vertex before that each vertex after is, or is a copy of.
        parted: of a cut: (p, 2) pairs of elements that have parted.
        edit: edits of one key are one.
    """

    label: str
    before: Model
    after: Model
    parents: np.ndarray | None = None
    edit: tuple[str, int] | None = None
    parted: np.ndarray | None = None

    @property
    def bytes(self) -> int:
        """Of memory that only this edit has, about: a cut makes all arrays new, a pin few."""
        return 0 if self.parents is None else sum(g.operator.nbytes + g.vertices.nbytes for g in self.after.groups)


def pinned(model: Model, vertices: Sequence[int] | np.ndarray, positions: np.ndarray) -> Model:
    """The model with these vertices pinned where they are; those that are pinned already stay as they are."""
    new = np.setdiff1d(_checked(model, vertices), model.pinned)
    return model if not len(new) else model.pin(new, target=positions[new].astype(np.float64))


def unpinned(model: Model, vertices: Sequence[int] | np.ndarray) -> Model:
    """The model without the pins of these vertices."""
    chosen = np.intersect1d(_checked(model, vertices), model.pinned)
    held = attached_to(model.attachments)
    if len(chosen) and all(int(vertex) in held for vertex in chosen):
        raise InputError(f"vertex {chosen[0]} is attached to {held[int(chosen[0])]} and cannot be let go")
    return model if not len(chosen) else model.unpin(chosen)


def pinned_by(rule: PinRule, model: Model, scene: Model, positions: np.ndarray) -> Model:
    """The model with those pins only that a rule names; `scene`: the model that the scene began with.

    What the scene itself pins is held where the scene holds it, and follows its path; everything else where it is.
    """
    free = model.unpin(model.pinned) if len(model.pinned) else model
    if rule == "none":
        return free
    if rule == "scene":
        homes = dict(zip(scene.pinned.tolist(), scene.targets, strict=True))
        own = np.setdiff1d(scene.pinned, free.pinned)
        if not len(own):
            return free
        held = free.pin(own, target=np.array([homes[v] for v in own.tolist()]))
        return replace(held, paths=(*held.paths, *following(scene.paths, own)))
    chosen = np.setdiff1d(top_edge(model.mesh) if rule == "top" else corners(model.mesh), free.pinned)
    return free if not len(chosen) else free.pin(chosen, target=positions[chosen].astype(np.float64))


def top_edge(mesh: Mesh) -> np.ndarray:
    """The vertices at the top of the body at rest: the group "top" of one that has it."""
    if "top" in mesh.groups:
        return mesh.groups["top"]
    height = mesh.vertices[:, 1]
    return np.flatnonzero(height >= height.max() - LEAST * max(float(np.ptp(height)), 1e-9))


def corners(mesh: Mesh) -> np.ndarray:
    """The corners of a body at rest: the group "corners", sharp bends of a border, or what is outermost of a body."""
    if "corners" in mesh.groups:
        return mesh.groups["corners"]
    border = boundary_edges(mesh.triangles) if len(mesh.triangles) else mesh.lines
    if len(border):
        sharp = _bends(mesh.vertices, border)
        if len(sharp):
            return sharp
    low, high = mesh.bounds
    ends = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    away = np.linalg.norm(mesh.vertices[:, None] - ends, axis=2) if mesh.n_vertices < 1e6 else np.zeros((1, 8))
    return np.unique(away.argmin(axis=0))


def _bends(vertices: np.ndarray, border: np.ndarray) -> np.ndarray:
    """Vertices at which a line of edges turns sharply, and its ends."""
    both = np.concatenate([border, border[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    at, starts, counts = np.unique(both[:, 0], return_index=True, return_counts=True)
    two = counts == 2
    a, b = both[starts[two], 1], both[starts[two] + 1, 1]
    u, v = vertices[a] - vertices[at[two]], vertices[b] - vertices[at[two]]
    lengths = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
    straight = -np.einsum("ij,ij->i", u, v) / np.maximum(lengths, 1e-300)
    return np.union1d(at[two][straight < SHARP], at[counts == 1])


def cut_along(model: Model, start: int, cuts: int, eye: Sequence[float], stroke: object, now: np.ndarray) -> ModelEdit:
    """An edit that cuts a model whose vertices are at `now`. `start`: vertices of the scene; `cuts`: so far."""
    if cuts >= MOST_CUTS:
        raise InputError(f"this body has been cut {cuts} times, and {MOST_CUTS} are the most; undo some, or reload it")
    made = cut_model(model, eye, stroke, now)
    if made.model.n > MOST_GROWTH * start:
        raise InputError(f"cuts may double the {start:,} vertices of a scene and no more; undo some")
    return ModelEdit("cut", model, made.model, made.parents, parted=made.parted)


def joined(values: np.ndarray, parents: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Where vertices (n, 3) are whose copies are at `values` (n', 3): in the middle of their masses."""
    whole = np.bincount(parents, masses)
    sums = [np.bincount(parents, masses * values[:, axis]) / whole for axis in range(3)]
    return np.stack(sums, axis=1)


def _checked(model: Model, vertices: Sequence[int] | np.ndarray) -> np.ndarray:
    chosen = np.unique(np.asarray(vertices, np.int64))
    if len(chosen) and chosen[-1] >= model.n:
        raise InputError(f"there is no vertex {chosen[-1]} to pin: the scene has {model.n}")
    return chosen
