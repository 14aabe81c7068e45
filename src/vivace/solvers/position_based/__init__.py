"""Solvers of position based dynamics."""
