"""What a step minimises: its energy, gradient and Hessian in float64, and the matrix of projective dynamics."""

from .system import Frame, System

__all__ = ["Frame", "System"]
