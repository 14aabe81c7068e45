"""Meshes as people have them, with all put right that can be."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError
from .files import load
from .mesh import Mesh


def load_leniently(path: Path) -> Mesh:
    """A mesh, repaired; sheets that meet at one edge are parted, where there are any."""
    try:
        return load(path, repair=True)
    except InputError:
        return load(path, repair=True, split=True)
