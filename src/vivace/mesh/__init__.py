"""Meshes: made from numbers, read from files, checked once and frozen."""

from .body import ball, body
from .cutting import Cut, cut, part
from .dragon import dragon
from .embedding import Embedding, embed
from .files import load, save
from .filling import tetrahedralise
from .generate import bar, cloth, cube, noodle, torus
from .helix import double_helix
from .join import join
from .measure import tet_quality
from .mesh import Mesh
from .polygons import Polygons
from .rabbit import rabbit
from .surface import Surface
from .topology import (
    adjacency,
    boundary_of_tets,
    connected_components,
    hinges_of,
    nonmanifold_edges,
    unique_edges,
)

__all__ = [
    "Cut",
    "Embedding",
    "Mesh",
    "Polygons",
    "Surface",
    "adjacency",
    "ball",
    "bar",
    "body",
    "boundary_of_tets",
    "cloth",
    "connected_components",
    "cube",
    "cut",
    "double_helix",
    "dragon",
    "embed",
    "hinges_of",
    "join",
    "load",
    "nonmanifold_edges",
    "noodle",
    "part",
    "rabbit",
    "save",
    "tet_quality",
    "tetrahedralise",
    "torus",
    "unique_edges",
]
