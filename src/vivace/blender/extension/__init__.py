"""Vivace for Blender: cloth under a time budget, baked to a cache that the timeline plays."""

from . import operators, panels, properties


def register():
    """Add all of it."""
    properties.register()
    operators.register()
    panels.register()


def unregister():
    """Take it away, in the other order."""
    panels.unregister()
    operators.unregister()
    properties.unregister()
