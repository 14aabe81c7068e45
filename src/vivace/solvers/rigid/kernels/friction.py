"""Kernels that visit contacts with friction sets of one's own."""

from __future__ import annotations

from functools import cache

from ....backends.cpu.arguments import phase_kernel
from ....backends.cpu.templates import specialised
from ....rigid.proximal import FrictionMap
from . import factorised, matrix

# What in each module calls `project_friction`, and is called by its kernels.
VISITS = {factorised.__name__: factorised.solve_contact, matrix.__name__: matrix.project}


@cache
def with_friction(kernel: phase_kernel, own: FrictionMap | None) -> phase_kernel:
    """A kernel of `factorised` or `matrix` that knows the sets of a map, too; compiled when it is first needed."""
    if own is None:
        return kernel
    visit = VISITS[kernel.function.__module__].py_func
    inner = specialised(visit, own.project, "project_friction")
    whole = specialised(kernel.function, inner, visit.__name__)
    return phase_kernel(whole, items=kernel.items, cache=own.keep, label=kernel.label)
