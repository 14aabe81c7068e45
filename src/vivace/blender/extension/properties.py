"""What an object knows of its cloth: `object.vivace`, saved with the file."""

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty

import vivace


def _fabrics():
    rows = [(name, name.title(), (vivace.FABRICS[name].__doc__ or "").strip()) for name in vivace.FABRICS]
    return [*rows, ("CUSTOM", "Custom", "Density, stretch and bend of one's own")]


LIMITS = [
    ("ITERATIONS", "Iterations", "The same result every time, on every machine"),
    ("TIME", "Time", "As good as a frame can be in so many milliseconds"),
]
PROPERTIES = {
    "enabled": BoolProperty(name="Vivace Cloth", description="Simulate this mesh with Vivace"),
    "fabric": EnumProperty(name="Fabric", items=_fabrics(), default="cotton"),
    "density": FloatProperty(name="Density", description="kg/m²", default=0.2, min=1e-3, max=100, precision=3),
    "stretch": FloatProperty(name="Stretch", description="Stiffness of each edge (N/m)", default=1e3, min=1, max=1e6),
    "bend": FloatProperty(name="Bend", description="Bending stiffness (N·m)", default=1e-5, min=0, max=1, precision=6),
    "damping": FloatProperty(name="Air Damping", description="Motion that is lost (1/s)", default=0.5, min=0, max=50),
    "limit": EnumProperty(name="Limit", items=LIMITS, default="ITERATIONS"),
    "iterations": IntProperty(name="Iterations", description="Of each frame", default=16, min=1, max=1000),
    "milliseconds": FloatProperty(name="Time (ms)", description="Of each frame", default=33, min=1, max=10000),
    "substeps": IntProperty(
        name="Substeps", description="Steps of each frame; 0 leaves them to the solver", default=4, min=0, max=100
    ),
    "vertex_group": StringProperty(name="Pin Group", description="Vertices that follow the animated mesh"),
    "use_self_collision": BoolProperty(name="Self Collisions", default=True),
    "distance": FloatProperty(
        name="Distance", description="That contacts keep", default=0.004, min=1e-5, max=1, unit="LENGTH", precision=4
    ),
    "friction": FloatProperty(name="Friction", description="Of the cloth on itself", default=0.4, min=0, max=10),
    "collection": PointerProperty(
        name="Collision Collection", type=bpy.types.Collection, description="Only these objects collide"
    ),
    "use_own_range": BoolProperty(name="Custom Range", description="Other frames than the scene's"),
    "frame_start": IntProperty(name="Start", default=1, min=0),
    "frame_end": IntProperty(name="End", default=250, min=0),
    "folder": StringProperty(name="Cache Folder", subtype="DIR_PATH", default="//vivace_cache"),
    "status": StringProperty(name="Status", options={"SKIP_SAVE"}),
}
Settings = type("VIVACE_PG_cloth", (bpy.types.PropertyGroup,), {"__annotations__": PROPERTIES, "__doc__": "Its cloth."})


def register():
    """Give every object its settings."""
    bpy.utils.register_class(Settings)
    bpy.types.Object.vivace = PointerProperty(type=Settings)


def unregister():
    """Take them away."""
    del bpy.types.Object.vivace
    bpy.utils.unregister_class(Settings)
