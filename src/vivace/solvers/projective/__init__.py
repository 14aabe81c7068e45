"""Solvers of projective dynamics, and Newton's method on the same energy."""
