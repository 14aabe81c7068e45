"""Hyperelastic materials: energy densities of the deformation gradient, and bodies made of them."""

from .decomposition import polar_rotation, svd
from .densities import HYPERELASTIC, Density
from .inversion import Conversion
from .term import Hyperelastic
from .uniaxial import uniaxial

__all__ = ["HYPERELASTIC", "Conversion", "Density", "Hyperelastic", "polar_rotation", "svd", "uniaxial"]
