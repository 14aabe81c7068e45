"""Hyperelastic materials: energy densities of the deformation gradient, and bodies made of them."""

from .decomposition import polar_rotation, svd
from .densities import HYPERELASTIC, Density
from .inversion import Conversion

__all__ = ["HYPERELASTIC", "Conversion", "Density", "polar_rotation", "svd"]
