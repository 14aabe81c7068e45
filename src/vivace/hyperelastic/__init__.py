"""Hyperelastic materials: energy densities of the deformation gradient, and bodies made of them."""

from .decomposition import polar_rotation, svd

__all__ = ["polar_rotation", "svd"]
