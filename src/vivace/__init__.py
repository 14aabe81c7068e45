"""Vivace: soft bodies under a millisecond budget.

import vivace as vv

cloth = vv.mesh.cloth(100, 100, width=1.0, height=1.0)
model = vv.Model.of(cloth, vv.Cloth(density=0.2, stretch=1e4)).pin("top-corners")
sim = vv.Simulation(model, solver="vivace", budget=vv.Budget(ms=8), time_step=1 / 30)
report = sim.step()
sim.positions, report.sweeps, report.residual
"""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import deprecation
from ._version import __version__

if _TYPE_CHECKING:
    from .everything import (
        CONSTRAINTS,
        FABRICS,
        MATERIALS,
        SCENES,
        SOLVERS,
        AnimatedMesh,
        Blocks,
        Body,
        Budget,
        Cloth,
        Deadline,
        ElementTerm,
        Fabric,
        FileError,
        Frame,
        InputError,
        Jelly,
        Keyframes,
        Material,
        Mesh,
        MissingExtraError,
        Model,
        Outcome,
        Prepared,
        Report,
        RigidReport,
        RigidScene,
        RigidSimulation,
        RigidState,
        Role,
        Scene,
        Sheet,
        Simulation,
        Solid,
        Solver,
        State,
        System,
        Term,
        UnknownNameError,
        VivaceError,
        Wire,
        caches,
        collisions,
        constraint,
        corotated,
        embed,
        export,
        fabric,
        film,
        fung,
        hyperelastic,
        hyperelastic_material,
        load,
        load_scene,
        made_of,
        make_scene,
        mesh,
        mooney_rivlin,
        neo_hookean,
        stable_neo_hookean,
        storable,
        stvk,
        sweep,
    )

__all__ = [
    "CONSTRAINTS",
    "FABRICS",
    "MATERIALS",
    "SCENES",
    "SOLVERS",
    "AnimatedMesh",
    "Blocks",
    "Body",
    "Budget",
    "Cloth",
    "Deadline",
    "ElementTerm",
    "Fabric",
    "FileError",
    "Frame",
    "InputError",
    "Jelly",
    "Keyframes",
    "Material",
    "Mesh",
    "MissingExtraError",
    "Model",
    "Outcome",
    "Prepared",
    "Report",
    "RigidReport",
    "RigidScene",
    "RigidSimulation",
    "RigidState",
    "Role",
    "Scene",
    "Sheet",
    "Simulation",
    "Solid",
    "Solver",
    "State",
    "System",
    "Term",
    "UnknownNameError",
    "VivaceError",
    "Wire",
    "__version__",
    "caches",
    "collisions",
    "constraint",
    "corotated",
    "embed",
    "export",
    "fabric",
    "film",
    "fung",
    "hyperelastic",
    "hyperelastic_material",
    "load",
    "load_scene",
    "made_of",
    "make_scene",
    "mesh",
    "mooney_rivlin",
    "neo_hookean",
    "stable_neo_hookean",
    "storable",
    "stvk",
    "sweep",
]


def __getattr__(name: str) -> object:
    """A name of the package. Solvers and kernels take a second to load: `vivace view` shows a page before."""
    if not name.startswith("_") and _find_spec(f"{__name__}.{name}") is not None:
        return _import_module(f"{__name__}.{name}")
    if name not in __all__:
        from sys import modules  # which says what is meant, where something is near

        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=modules[__name__])
    globals()[name] = found = getattr(_import_module(f"{__name__}.everything"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


deprecation.install()
