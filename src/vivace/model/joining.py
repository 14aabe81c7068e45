"""Several bodies in one model: each with its own mesh and material, under its own name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import as_list, shown
from ..constraints import ConstraintGroup
from ..errors import InputError
from ..mesh import Mesh, join
from ..terms.term import Term


def as_names(names: Any, count: int, meshes: Sequence[Mesh]) -> list[str]:
    """A name for each of so many parts: those given, or "body-0" and so on; all different, and none with a colon."""
    if names is None:
        return [f"body-{k}" for k in range(count)]
    found: list[str] = as_list("names of parts", names)
    if len(found) != count:
        raise InputError(f"there are {count} parts and {len(found)} names; give as many")
    for k, name in enumerate(found):
        if not isinstance(name, str) or not name or ":" in name:
            raise InputError(f"part {k}, {meshes[k].name!r}, needs a name without a colon, not {shown(name)}")
        if name in found[:k] or (name.startswith("body-") and name != f"body-{k}"):
            raise InputError(f"the name {name!r} of part {k} stands for another part already")
    return found


def joined_mesh(meshes: Sequence[Mesh], names: Sequence[str], name: str) -> Mesh:
    """One mesh of all, of one kind or several. Part "cloth" is the group "cloth", its group "top" is "cloth:top"."""
    offsets = np.concatenate([[0], np.cumsum([mesh.n_vertices for mesh in meshes])])
    groups: dict[str, np.ndarray] = {}
    for k, (mesh, own) in enumerate(zip(meshes, names, strict=True)):
        groups |= {f"{own}:{group}": members + offsets[k] for group, members in mesh.groups.items()}
        groups[own] = groups[f"body-{k}"] = np.arange(offsets[k], offsets[k + 1])  # the second for pictures
    kinds = {(mesh.is_volumetric, bool(len(mesh.triangles))) for mesh in meshes}
    if len(kinds) == 1:
        whole = join(meshes, name=name)
        made = Mesh(whole.vertices, whole.triangles, whole.tets, name, groups, whole.lines, whole.repairs)
        made.__dict__.update({key: whole.__dict__[key] for key in ("edges", "hinges")})
        return made

    def shifted(of: str) -> np.ndarray:
        parts = [getattr(mesh, of) + offset for mesh, offset in zip(meshes, offsets[:-1], strict=True)]
        out = np.concatenate(parts).astype(np.int32)
        out.setflags(write=False)
        return out

    repairs = tuple(f"{own}: {repair}" for own, mesh in zip(names, meshes, strict=True) for repair in mesh.repairs)
    places = np.concatenate([mesh.vertices for mesh in meshes])
    made = Mesh(places, shifted("triangles"), shifted("tets"), name, groups, shifted("lines"), repairs)
    made.__dict__.update({key: shifted(key) for key in ("edges", "hinges")})
    return made


def joined_groups(models: Sequence[Any]) -> tuple[ConstraintGroup, ...]:
    """Their constraints, one group for each type, in the order of their first."""
    offset, by_kind = 0, dict[str, list[tuple[ConstraintGroup, int]]]()
    for model in models:
        for group in model.groups:
            by_kind.setdefault(group.kind.name, []).append((group, offset))
        offset += model.mesh.n_vertices
    made = []
    for parts in by_kind.values():
        arrays = [
            np.concatenate([group.vertices + np.int32(first) for group, first in parts]),
            *(
                np.concatenate([getattr(group, key) for group, _ in parts])
                for key in ("operator", "weights", "parameters")
            ),
        ]
        for array in arrays:
            array.setflags(write=False)
        made.append(ConstraintGroup(parts[0][0].kind, *arrays))
    return tuple(made)


def joined_terms(models: Sequence[Any], mesh: Mesh) -> tuple[Term, ...]:
    """Their energy terms on the vertices of the whole; those of a user's own have to say how (`placed`)."""
    made, offset = list[Any](), 0
    for model in models:
        for term in model.terms:
            placed = getattr(term, "placed", None)
            if not callable(placed):
                raise InputError(
                    f"the term {type(term).__name__} has no method placed(mesh, first) that moves it to vertices of a "
                    "joined mesh; join the models first, and add it then"
                )
            made.append(placed(mesh, offset))
        offset += model.mesh.n_vertices
    return tuple(made)


def joined(
    models: Sequence[Any], names: Any, name: str
) -> tuple[Mesh, np.ndarray, tuple[ConstraintGroup, ...], tuple[Term, ...]]:
    """Mesh, masses, constraints and terms of `Model.join`."""
    meshes = [model.mesh for model in models]
    mesh = joined_mesh(meshes, as_names(names, len(models), meshes), name)
    return mesh, np.concatenate([model.masses for model in models]), joined_groups(models), joined_terms(models, mesh)


def models_of(cls: Any, pairs: Sequence[Any], **same: Any) -> list[Any]:
    """A model for each mesh with its material, (mesh, material), or for a mesh alone."""
    each = [pair if isinstance(pair, (list, tuple)) and len(pair) == 2 else (pair, None) for pair in pairs]
    for k, (body, _) in enumerate(each):
        if not isinstance(body, Mesh):
            raise InputError(f"a part is a Mesh, or (mesh, material); part {k} is {shown(body)}")
    return [cls.of(body, stuff, **same) for body, stuff in each]


def check_parts(models: Sequence[Any], cls: Any) -> None:
    """Refuse what is of the whole and not of its parts."""
    if not models:
        raise InputError("there is nothing to join: give at least one model")
    for k, model in enumerate(models):
        if not isinstance(model, cls):
            raise InputError(f"only models can be joined; part {k} is {shown(model)}")
        if model.collisions is not None or model.attachments:
            raise InputError(f"part {k} has collisions of its own; join the models first, then call collide and attach")
        for name in ("air", "viscosity"):
            one, other = getattr(model, name), getattr(models[0], name)
            if one != other:
                raise InputError(f"part {k} has the {name} {one}, and part 0 has {other}: a model has one for all")
        if not np.array_equal(model.gravity, models[0].gravity):
            raise InputError(f"part {k} has another gravity than part 0: a model has one for all")
