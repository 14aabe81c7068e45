"""Rigid bodies, and the problem of their contacts in the proximal-map form.

[thesis2010] is a master's thesis of the University of Copenhagen on parallel Jacobi and Gauss-Seidel solvers for it;
equations are cited by its numbers.
"""
