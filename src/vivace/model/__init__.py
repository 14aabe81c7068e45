"""Bodies in SI units: a mesh and a material make masses and constraints."""

from .cutting import CutModel, cut_model, part_model
from .fabrics import FABRICS, Fabric, fabric, made_of
from .hyperelastic import (
    corotated,
    fung,
    hyperelastic_material,
    mooney_rivlin,
    neo_hookean,
    stable_neo_hookean,
    stvk,
)
from .materials import MATERIALS, Cloth, Jelly, Material, Solid, Wire, default_material
from .model import Model
from .sheets import Sheet

__all__ = [
    "FABRICS",
    "MATERIALS",
    "Cloth",
    "CutModel",
    "Fabric",
    "Jelly",
    "Material",
    "Model",
    "Sheet",
    "Solid",
    "Wire",
    "corotated",
    "cut_model",
    "default_material",
    "fabric",
    "fung",
    "hyperelastic_material",
    "made_of",
    "mooney_rivlin",
    "neo_hookean",
    "part_model",
    "stable_neo_hookean",
    "stvk",
]
