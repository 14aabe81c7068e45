"""Named, parameterised scenes, shared by tests, benchmarks and the command line."""

from . import cloths, dress, garment, heaps, hyperelastic, papers, rigid, solids, together
from .files import from_mesh, load_scene
from .rigid_scene import RigidScene
from .scene import SCENES, Scene, is_rigid, make_scene, parameters_of, soft, summary_of

__all__ = [
    "SCENES",
    "RigidScene",
    "Scene",
    "cloths",
    "dress",
    "from_mesh",
    "garment",
    "heaps",
    "hyperelastic",
    "is_rigid",
    "load_scene",
    "make_scene",
    "papers",
    "parameters_of",
    "rigid",
    "soft",
    "solids",
    "summary_of",
    "together",
]
