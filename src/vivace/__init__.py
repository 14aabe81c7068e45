"""Vivace: soft bodies under a millisecond budget.

import vivace as vv

cloth = vv.mesh.cloth(100, 100, width=1.0, height=1.0)
model = vv.Model.of(cloth, vv.Cloth(density=0.2, stretch=1e4)).pin("top-corners")
sim = vv.Simulation(model, solver="vivace", budget=vv.Budget(ms=8), time_step=1 / 30)
report = sim.step()
sim.positions, report.sweeps, report.residual
"""

__version__ = "0.1.0"

from . import collisions, mesh
from .constraints import CONSTRAINTS, Prepared, Role, constraint
from .energy import Blocks, ElementTerm, Frame, System, Term
from .errors import (
    FileError,
    InputError,
    MissingExtraError,
    UnknownNameError,
    VivaceError,
)
from .model.materials import Cloth, Jelly, Solid, Wire
from .model.model import Model
from .simulation.report import Report
from .simulation.simulation import Simulation
from .solvers import SOLVERS, Budget, Solver

__all__ = [
    "CONSTRAINTS",
    "SOLVERS",
    "Blocks",
    "Budget",
    "Cloth",
    "ElementTerm",
    "FileError",
    "Frame",
    "InputError",
    "Jelly",
    "MissingExtraError",
    "Model",
    "Prepared",
    "Report",
    "Role",
    "Simulation",
    "Solid",
    "Solver",
    "System",
    "Term",
    "UnknownNameError",
    "VivaceError",
    "Wire",
    "__version__",
    "collisions",
    "constraint",
    "mesh",
]
