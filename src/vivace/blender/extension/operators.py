"""Bake and Free Bake. A bake reads the scene frame by frame, then simulates it; Esc keeps the frames that are done."""

import time
from contextlib import ExitStack

import bpy

from vivace.blender import Bake
from vivace.errors import VivaceError

from .reading import MODIFIER, Reader, cache_path, place_of, settings_of

SHARE = 0.1  # s that a bake works before Blender may draw


class VIVACE_OT_bake(bpy.types.Operator):
    """Simulate the cloth over the frame range, and play it from a cache."""

    bl_idname = "vivace.bake"
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012  Blender wants it so

    @classmethod
    def poll(cls, context):
        """There is a mesh that is a cloth, outside of edit mode."""
        thing = context.object
        return bool(thing and thing.type == "MESH" and thing.vivace.enabled and context.mode == "OBJECT")

    def execute(self, context):
        """All at once: in scripts, and without a window."""
        try:
            for _ in self._work(context):
                pass
        except (VivaceError, ValueError, OSError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}

    def invoke(self, context, event):
        """With progress, and a way to stop."""
        self._steps = self._work(context)
        manager = context.window_manager
        manager.progress_begin(0, 1000)
        self._timer = manager.event_timer_add(0.01, window=context.window)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        """Work for a moment; look whether somebody presses Esc."""
        if event.type == "ESC":
            self._steps.close()  # writes the frames that are done
            return self._end(context, "stopped", {"FINISHED"})
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        until = time.perf_counter() + SHARE
        try:
            while time.perf_counter() < until:
                share = next(self._steps)
                context.window_manager.progress_update(int(1000 * share))
        except StopIteration:
            return self._end(context, "", {"FINISHED"})
        except (VivaceError, ValueError, OSError) as error:
            self.report({"ERROR"}, str(error))
            return self._end(context, "failed", {"CANCELLED"})
        context.workspace.status_text_set(f"Vivace: {context.object.vivace.status}. Esc: stop and keep what is done")
        return {"RUNNING_MODAL"}

    def _end(self, context, how, result):
        context.window_manager.progress_end()
        context.window_manager.event_timer_remove(self._timer)
        context.workspace.status_text_set(None)
        if how:
            context.object.vivace.status = f"{how}; {context.object.vivace.status}"
        return result

    def _work(self, context):
        """Yields how much is done, 0 to 1: a fifth for reading, the rest for simulating."""
        thing, own = context.object, context.object.vivace
        with ExitStack() as stack:
            reader = stack.enter_context(Reader(context, thing))
            more = True
            while more:
                more = reader.advance()
                own.status = f"reading frame {reader.first + reader.read - 1}"
                yield 0.2 * reader.read / reader.frames
        path = cache_path(thing)
        path.parent.mkdir(parents=True, exist_ok=True)
        made = settings_of(context.scene, thing)
        with Bake(reader.cloth(), reader.tracks(), made, path, frames=reader.frames) as bake:
            for note in bake.notes:
                self.report({"WARNING"}, note)
            try:
                more = True
                while more:
                    more = bake.advance()
                    own.status = f"frame {reader.first + bake.done - 1} of {reader.last}"
                    yield 0.2 + 0.8 * bake.done / reader.frames
            except GeneratorExit:  # stopped: the block ends as if it were done
                pass
        play(thing, path, reader.first)
        own.status = f"{bake.done} frames baked"


class VIVACE_OT_free_bake(bpy.types.Operator):
    """Delete the cache, and let the mesh be as it was."""

    bl_idname = "vivace.free_bake"
    bl_label = "Free Bake"
    bl_options = {"REGISTER", "UNDO"}  # noqa: RUF012

    @classmethod
    def poll(cls, context):
        """There is one."""
        return bool(context.object and context.object.modifiers.get(MODIFIER))

    def execute(self, context):
        """Both the modifier and its files."""
        thing = context.object
        thing.modifiers.remove(thing.modifiers[MODIFIER])
        for suffix in (".pc2", ".obj"):
            cache_path(thing).with_suffix(suffix).unlink(missing_ok=True)
        thing.vivace.status = ""
        return {"FINISHED"}


def play(thing, path, first):
    """Let the Mesh Cache modifier play a cache from its first frame on."""
    modifiers = thing.modifiers
    modifier = modifiers.get(MODIFIER)
    if modifier is None:
        place = place_of(modifiers)
        modifier = modifiers.new(MODIFIER, "MESH_CACHE")
        modifiers.move(len(modifiers) - 1, place)
    modifier.cache_format = "PC2"
    modifier.filepath = bpy.path.relpath(str(path)) if bpy.data.filepath else str(path)
    modifier.frame_start = first
    modifier.deform_mode, modifier.play_mode, modifier.interpolation = "OVERWRITE", "SCENE", "LINEAR"
    thing.data.update_tag()


CLASSES = (VIVACE_OT_bake, VIVACE_OT_free_bake)


def register():
    """Add the operators."""
    for one in CLASSES:
        bpy.utils.register_class(one)


def unregister():
    """Take them away."""
    for one in reversed(CLASSES):
        bpy.utils.unregister_class(one)
