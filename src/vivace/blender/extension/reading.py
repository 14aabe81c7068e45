"""What Blender knows, as arrays: evaluated meshes in every frame, in metres and in the world's axes."""

from pathlib import Path

import bpy
import numpy as np

from vivace.blender import ClothFrames, Settings, Track

MODIFIER = "Vivace"
GENERATIVE = {  # modifiers after which there are other vertices than before
    "ARRAY", "BEVEL", "BOOLEAN", "BUILD", "DECIMATE", "EDGE_SPLIT", "MASK", "MIRROR", "MULTIRES", "NODES", "REMESH",
    "SCREW", "SKIN", "SOLIDIFY", "SUBSURF", "TRIANGULATE", "WELD", "WIREFRAME", "EXPLODE", "PARTICLE_INSTANCE",
    "VOLUME_TO_MESH", "MESH_SEQUENCE_CACHE", "FLUID", "OCEAN",
}  # fmt: skip


def settings_of(scene, thing) -> Settings:
    """The panel's values in SI units."""
    own = thing.vivace
    gravity = tuple(scene.gravity) if scene.use_gravity else (0.0, 0.0, 0.0)
    unit = scene.unit_settings.scale_length
    return Settings(
        fabric=own.fabric,
        density=own.density,
        stretch=own.stretch,
        bend=own.bend,
        damping=own.damping if own.fabric == "CUSTOM" else None,
        limit=own.limit,
        iterations=own.iterations,
        milliseconds=own.milliseconds,
        substeps=own.substeps,
        self_contact=own.use_self_collision,
        thickness=own.distance * unit,
        friction=own.friction,
        gravity=tuple(value * unit for value in gravity),
    )


def frame_range(scene, thing) -> tuple[int, int]:
    """First and last frame of a bake."""
    own = thing.vivace
    return (own.frame_start, own.frame_end) if own.use_own_range else (scene.frame_start, scene.frame_end)


def place_of(modifiers) -> int:
    """Where in a stack the cache belongs: after all that moves vertices, before all that makes others."""
    for number, modifier in enumerate(modifiers):
        if modifier.name == MODIFIER or modifier.type in GENERATIVE:
            return number
    return len(modifiers)


def positions_of(mesh) -> np.ndarray:
    """(n, 3) vertices of a mesh, in its own axes and unit."""
    found = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", found)
    return found.reshape(-1, 3).astype(np.float64)


def triangles_of(mesh) -> np.ndarray:
    """(m, 3) its faces, cut into triangles."""
    mesh.calc_loop_triangles()
    found = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", found)
    return found.reshape(-1, 3)


def weights_of(thing, name: str) -> np.ndarray | None:
    """(n,) weights of a vertex group; None where there is none of that name."""
    group = thing.vertex_groups.get(name) if name else None
    if group is None:
        return None
    weights = np.zeros(len(thing.data.vertices))
    for vertex in thing.data.vertices:
        for member in vertex.groups:
            if member.group == group.index:
                weights[vertex.index] = member.weight
    return weights


class Reader:
    """A scene, frame by frame: what is pinned of a cloth, and its collision objects.

    Modifiers of the cloth from the cache on are off while it reads.
    """

    def __init__(self, context, thing):
        self.scene, self.thing = context.scene, thing
        self.first, self.last = frame_range(self.scene, thing)
        self.frames = self.last - self.first + 1
        self._at = self.scene.frame_current
        self._off: list[tuple[object, bool]] = []
        self._pins = weights_of(thing, thing.vivace.vertex_group)
        self._cloth = None
        self._led, self._local = [], []
        self._colliders = list(self._collision_objects())
        self._tracks = {other.name: [] for other in self._colliders}
        self._faces = {}
        self.read = 0

    def _collision_objects(self):
        chosen = self.thing.vivace.collection
        for other in chosen.all_objects if chosen else self.scene.objects:
            if other is not self.thing and other.type == "MESH" and any(m.type == "COLLISION" for m in other.modifiers):
                yield other

    def __enter__(self):
        modifiers = self.thing.modifiers
        for modifier in list(modifiers)[place_of(modifiers) :]:
            self._off.append((modifier, modifier.show_viewport))
            modifier.show_viewport = False
        return self

    def __exit__(self, *_):
        for modifier, shown in self._off:
            modifier.show_viewport = shown
        self._off.clear()
        self.scene.frame_set(self._at)

    def advance(self) -> bool:
        """Read the next frame; whether there was one."""
        if self.read >= self.frames:
            return False
        self.scene.frame_set(self.first + self.read)
        graph = bpy.context.evaluated_depsgraph_get()
        unit = self.scene.unit_settings.scale_length
        world, mesh = self._seen(graph, self.thing, unit)
        own = positions_of(mesh)
        if len(own) != len(self.thing.data.vertices):
            raise ValueError(f"{self.thing.name}: modifiers above the cache make other vertices; move them below it")
        places = own @ world[:3, :3].T + world[:3, 3]
        if self._cloth is None:
            self._cloth = ClothFrames(self.thing.name, triangles_of(mesh), places, self._pins)
        self._led.append(places[self._cloth.held])
        self._local.append(np.linalg.inv(world))
        for other in self._colliders:
            at, body = self._seen(graph, other, unit)
            self._tracks[other.name].append(positions_of(body) @ at[:3, :3].T + at[:3, 3])
            self._faces.setdefault(other.name, triangles_of(body))
        self.read += 1
        return self.read < self.frames

    @staticmethod
    def _seen(graph, thing, unit: float):
        evaluated = thing.evaluated_get(graph)
        world = np.array(evaluated.matrix_world, np.float64)
        world[:3] *= unit
        return world, evaluated.data

    def cloth(self) -> ClothFrames:
        """All that was read of the cloth."""
        render, seen = self.scene.render, self._cloth
        step = render.fps_base / render.fps
        return ClothFrames(
            seen.name, seen.triangles, seen.first, seen.pins, np.array(self._led), np.array(self._local), step
        )

    def tracks(self) -> list[Track]:
        """All that was read of collision objects."""
        found = []
        for other in self._colliders:
            frames = self._tracks[other.name]
            if len({len(frame) for frame in frames}) > 1:
                raise ValueError(f"{other.name}: the number of its vertices changes during the bake")
            friction = other.collision.cloth_friction / 10 if other.collision else 0.5  # Blender's 5 is a usual one
            found.append(Track(other.name, self._faces[other.name], np.array(frames), friction))
        return found


def cache_path(thing) -> Path:
    """Where the cache of an object goes: beside the file, or among temporary files before there is one."""
    folder = thing.vivace.folder or "//vivace_cache"
    if folder.startswith("//") and not bpy.data.filepath:
        folder = str(Path(bpy.app.tempdir or ".") / folder[2:])
    return Path(bpy.path.abspath(folder)) / f"{bpy.path.clean_name(thing.name)}.pc2"
