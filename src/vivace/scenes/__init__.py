"""Named, parameterised scenes, shared by tests, benchmarks and the command line."""

from . import cloths, heaps, papers, solids
from .files import from_mesh, load_scene
from .scene import SCENES, Scene, make_scene, parameters_of, summary_of

__all__ = [
    "SCENES",
    "Scene",
    "cloths",
    "from_mesh",
    "heaps",
    "load_scene",
    "make_scene",
    "papers",
    "parameters_of",
    "solids",
    "summary_of",
]
