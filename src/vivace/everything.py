"""All that `import vivace` offers; loaded when the first of its names is asked for."""

from typing import Any

from . import caches, collisions, hyperelastic, mesh
from .caches import export
from .collisions import AnimatedMesh
from .constraints import CONSTRAINTS, Prepared, Role, constraint
from .energy import Blocks, ElementTerm, Frame, System, Term
from .errors import (
    FileError,
    InputError,
    MissingExtraError,
    UnknownNameError,
    VivaceError,
)
from .mesh import Mesh, embed
from .model import (
    FABRICS,
    MATERIALS,
    Cloth,
    Fabric,
    Jelly,
    Material,
    Model,
    Sheet,
    Solid,
    Wire,
    corotated,
    fabric,
    fung,
    hyperelastic_material,
    made_of,
    mooney_rivlin,
    neo_hookean,
    stable_neo_hookean,
    stvk,
)
from .pictures.inline import film
from .rigid.bodies import Body
from .rigid.paths import Keyframes
from .scenes import SCENES, RigidScene, Scene, load_scene, make_scene
from .simulation import Report, RigidReport, RigidSimulation, RigidState, Simulation, State, load
from .solvers import SOLVERS, Budget, Deadline, Outcome, Solver
from .storage import storable

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


def sweep(target: Any, vary: Any, **options: Any) -> Any:
    """Make many runs of a scene, and return a `pandas.DataFrame` of them; see `vivace.sweeps.sweep`."""
    from .sweeps import sweep

    return sweep(target, vary, **options)


def _view(simulation: Simulation, **options: Any) -> Any:
    """Show a simulation in the browser: the viewer is above everything else, and loaded when somebody looks."""
    from .viewer import view_simulation

    return view_simulation(simulation, **options)


Simulation.viewer = _view
