"""Bodies in SI units: a mesh and a material make masses and constraints."""

from .materials import MATERIALS, Cloth, Jelly, Material, Solid, Wire, default_material
from .model import Model

__all__ = ["MATERIALS", "Cloth", "Jelly", "Material", "Model", "Solid", "Wire", "default_material"]
