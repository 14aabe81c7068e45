"""Blender: what the extension does that needs no Blender, and how it is packed.

`extension/` is what Blender installs: operators and panels that read a scene and draw; it imports bpy, and nothing here
imports it. `bake` simulates what it has read, and `packing` puts both into a zip with their wheels.
"""

from .bake import Bake, ClothFrames, Settings
from .colliders import Track
from .packing import build_extension

__all__ = ["Bake", "ClothFrames", "Settings", "Track", "build_extension"]
