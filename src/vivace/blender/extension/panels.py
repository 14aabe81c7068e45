"""The panel in the physics tab, and the button beside Cloth and Collision that opens it."""

import bpy

from .reading import MODIFIER


class VIVACE_PT_cloth(bpy.types.Panel):
    """All settings of a cloth."""

    bl_label = "Vivace Cloth"
    bl_idname = "VIVACE_PT_cloth"
    bl_space_type, bl_region_type, bl_context = "PROPERTIES", "WINDOW", "physics"

    @classmethod
    def poll(cls, context):
        """A mesh that was made a cloth."""
        thing = context.object
        return bool(thing and thing.type == "MESH" and thing.vivace.enabled)

    def draw(self, context):
        """Fabric, quality, shape, collisions, cache."""
        layout, thing, own = self.layout, context.object, context.object.vivace
        layout.use_property_split = True
        column = layout.column()
        column.prop(own, "fabric")
        if own.fabric == "CUSTOM":
            for name in ("density", "stretch", "bend", "damping"):
                column.prop(own, name)
        column = layout.column(heading="Quality")
        column.prop(own, "limit")
        column.prop(own, "iterations" if own.limit == "ITERATIONS" else "milliseconds")
        column.prop(own, "substeps")
        layout.prop_search(own, "vertex_group", thing, "vertex_groups", text="Pin Group")
        column = layout.column(heading="Collisions")
        column.prop(own, "use_self_collision")
        column.prop(own, "distance")
        column.prop(own, "friction")
        column.prop(own, "collection")
        column = layout.column(heading="Cache")
        column.prop(own, "use_own_range")
        if own.use_own_range:
            column.prop(own, "frame_start")
            column.prop(own, "frame_end")
        column.prop(own, "folder")
        row = layout.row(align=True)
        row.operator("vivace.bake", icon="PHYSICS")
        if thing.modifiers.get(MODIFIER):
            row.operator("vivace.free_bake", icon="X")
        if own.status:
            layout.label(text=own.status)


def _button(self, context):
    if context.object and context.object.type == "MESH":
        self.layout.prop(context.object.vivace, "enabled", toggle=True, icon="MOD_CLOTH")


def register():
    """Add panel and button."""
    bpy.utils.register_class(VIVACE_PT_cloth)
    adder = getattr(bpy.types, "PHYSICS_PT_add", None)
    if adder is not None:
        adder.append(_button)


def unregister():
    """Take them away."""
    adder = getattr(bpy.types, "PHYSICS_PT_add", None)
    if adder is not None:
        adder.remove(_button)
    bpy.utils.unregister_class(VIVACE_PT_cloth)
