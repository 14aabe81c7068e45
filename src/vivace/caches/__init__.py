"""Vertices over time in files: caches that other programs play, and their motion read back.

import vivace as vv

vv.export(sim, "cloth.usdc", frames=120)
vv.caches.read("cloth.usdc").positions  # (121, n, 3)
"""

from . import alembic, gltf, mdd, npz, obj, pc2, ply, usd, usda, xdmf  # noqa: F401  they register themselves
from .animation import Animation
from .base import CACHES, About, CacheFormat, Content, cache_format, is_installed
from .export import export
from .npz import Npz
from .reading import read
from .writing import Cache, check_cache

__all__ = [
    "CACHES",
    "About",
    "Animation",
    "Cache",
    "CacheFormat",
    "Content",
    "Npz",
    "cache_format",
    "check_cache",
    "export",
    "is_installed",
    "read",
]
