"""Compiled functions of the solvers for rigid contact."""
