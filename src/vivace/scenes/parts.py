"""Several bodies in a scene file, each with its mesh and its material.

[[parts]]
name = "shirt"                       # its groups are "shirt", "shirt:top" and so on: for pins and friction
mesh = { generator = "cloth", nx = 40, ny = 40 }
material = { kind = "sheet", stretch = 2e3 }
[[parts]]
name = "belt"
mesh = { file = "belt.obj", translate = [0, 1, 0] }
thickness = 0.002                    # of its contacts (m), or a fabric's name; of others, that of [collisions]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..checks import check_name
from ..errors import InputError
from ..mesh import Mesh
from ..model.materials import MATERIALS, Material, default_material
from ..model.model import Model
from .tables import check_known, table_of


def material_of(path: Path, table: dict[str, Any], body: Mesh, where: str = "[material]") -> Material:
    """What a body is made of, from its table."""
    options = dict(table)
    kind = options.pop("kind", None)
    if kind is None and options:
        raise InputError(f"{path}: {where} needs a kind: {', '.join(MATERIALS)}")
    if kind is None:
        return default_material(body)
    cls = MATERIALS[check_name("material", kind, MATERIALS)]
    check_known(path, where, options, {item.name for item in fields(cls)})
    made: Material = cls(**options)
    return made


def model_of_parts(
    path: Path, data: dict[str, Any], same: dict[str, Any], mesh_of: Callable[[Path, dict[str, Any]], Mesh]
) -> Model:
    """The model of [[parts]]; `mesh_of` makes a mesh of its table."""
    rows = data["parts"]
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: parts must be tables, each written [[parts]]")
    if "mesh" in data or "material" in data:
        raise InputError(f"{path}: have either [[parts]], each with its mesh and material, or [mesh] and [material]")
    models, names = [], []
    for k, row in enumerate(rows):
        check_known(path, f"part {k + 1}", row, {"name", "mesh", "material", "thickness"})
        body = mesh_of(path, table_of(path, row, "mesh"))
        stuff = material_of(path, table_of(path, row, "material"), body, f"the material of part {k + 1}")
        models.append(Model.of(body, stuff, **same))
        names.append(row.get("name", f"body-{k}"))
    try:
        return Model.join(models, names=names)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def thickness_of_parts(data: dict[str, Any]) -> dict[str, Any]:
    """The thickness that [[parts]] have of their own, by their names."""
    rows = data.get("parts", [])
    return {row.get("name", f"body-{k}"): row["thickness"] for k, row in enumerate(rows) if "thickness" in row}
