"""The extension inside Blender, without a window; and Blender as a reader of our caches. Needs the extra `blender`."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from vivace.caches.base import CACHES, is_installed

pytestmark = [
    pytest.mark.skipif(find_spec("bpy") is None, reason='bpy is not installed: "vivace[blender]"'),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def bpy():
    import bpy

    from vivace.blender import extension

    extension.register()
    yield bpy
    extension.unregister()


@pytest.fixture
def scene(bpy, tmp_path):
    """A sheet above a ball that moves, on the ground, over ten frames."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    found = bpy.context.scene
    found.frame_start, found.frame_end, found.render.fps = 5, 14, 24
    bpy.ops.mesh.primitive_plane_add(size=4)
    bpy.context.object.modifiers.new("Collision", "COLLISION")
    bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=3, radius=0.3, location=(0, 0, 0.6))
    ball = bpy.context.object
    ball.name = "ball"
    ball.modifiers.new("Collision", "COLLISION")
    ball.keyframe_insert("location", frame=5)
    ball.location.x = 0.2
    ball.keyframe_insert("location", frame=14)
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=12, y_subdivisions=12, size=1, location=(0, 0, 0.95))
    cloth = bpy.context.object
    cloth.vivace.enabled, cloth.vivace.folder, cloth.vivace.distance = True, str(tmp_path), 0.01
    return found


def seen(bpy, thing, frame):
    """(n, 3) in the world."""
    bpy.context.scene.frame_set(frame)
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([evaluated.matrix_world @ vertex.co for vertex in evaluated.data.vertices])


def pin(thing, rows):
    group = thing.vertex_groups.new(name="Pin")
    group.add([int(row) for row in rows], 1.0, "REPLACE")
    thing.vivace.vertex_group = "Pin"


def test_a_bake_plays_in_the_timeline(bpy, scene, tmp_path):
    """From the scene's first frame; on the ball and never inside it; the modifier stands before a Subdivision."""
    cloth = bpy.context.object
    cloth.modifiers.new("Subdivision", "SUBSURF")
    before = seen(bpy, cloth, 5)
    scene.frame_set(9)
    assert bpy.ops.vivace.bake() == {"FINISHED"}
    assert scene.frame_current == 9
    assert [modifier.type for modifier in cloth.modifiers] == ["MESH_CACHE", "SUBSURF"]
    assert cloth.vivace.status == "10 frames baked"
    np.testing.assert_allclose(seen(bpy, cloth, 5), before, atol=1e-5)
    cloth.modifiers["Subdivision"].show_viewport = False
    ball = bpy.data.objects["ball"]
    for frame in range(5, 15):
        points = seen(bpy, cloth, frame)
        middle = np.array(ball.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.translation)
        assert np.linalg.norm(points - middle, axis=1).min() > 0.3
    assert seen(bpy, cloth, 14)[:, 2].min() < 0.85
    assert bpy.ops.vivace.free_bake() == {"FINISHED"}
    assert [modifier.type for modifier in cloth.modifiers] == ["SUBSURF"]
    assert not list(tmp_path.glob("*.pc2"))


def test_pins_follow_shape_keys_and_the_moving_object(bpy, scene):
    """What is pinned is where Blender has it without the cache, in every frame, to the stiffness of pins."""
    cloth = bpy.context.object
    rows = [k for k, vertex in enumerate(cloth.data.vertices) if vertex.co.y > 0.49]
    pin(cloth, rows)
    cloth.shape_key_add(name="Basis")
    raised = cloth.shape_key_add(name="Raised")
    for row in rows:
        raised.data[row].co.z += 0.3
    raised.value = 0.0
    raised.keyframe_insert("value", frame=5)
    raised.value = 1.0
    raised.keyframe_insert("value", frame=14)
    cloth.keyframe_insert("location", frame=5)
    cloth.location.y, cloth.rotation_euler.z = 0.1, 0.3
    cloth.keyframe_insert("location", frame=14)
    cloth.keyframe_insert("rotation_euler", frame=14)
    wanted = {frame: seen(bpy, cloth, frame)[rows] for frame in (5, 10, 14)}
    assert bpy.ops.vivace.bake() == {"FINISHED"}
    for frame, places in wanted.items():
        np.testing.assert_allclose(seen(bpy, cloth, frame)[rows], places, atol=5e-3)


def test_units_and_gravity_of_the_scene(bpy, scene):
    """A unit of a centimetre: the same numbers in Blender are a hundredth of the size."""
    for other in list(scene.objects):
        if other is not bpy.context.object:
            bpy.data.objects.remove(other)
    cloth = bpy.context.object
    cloth.vivace.use_self_collision = False
    scene.unit_settings.scale_length, scene.gravity = 0.01, (0, 0, -981.0)
    cloth.vivace.folder += "/cm"
    assert bpy.ops.vivace.bake() == {"FINISHED"}
    h, steps = 1 / 96, 36  # 9 frames of four substeps
    fall = seen(bpy, cloth, 5)[:, 2].mean() - seen(bpy, cloth, 14)[:, 2].mean()
    assert fall == pytest.approx(981 * h * h * steps * (steps + 1) / 2, rel=0.12)  # air takes some


def test_a_collider_that_deforms_is_touched(bpy, scene):
    """A ball that is not convex, moves and swells by a shape key: no vertex of the cloth is inside its middle."""
    cloth = bpy.context.object
    ball = bpy.data.objects["ball"]
    ball.data.vertices[0].co.z += 0.1
    key = ball.shape_key_add(name="Basis")
    key = ball.shape_key_add(name="Fat")
    for point in key.data:
        point.co *= 1.2
    key.value = 0.0
    key.keyframe_insert("value", frame=5)
    key.value = 1.0
    key.keyframe_insert("value", frame=14)
    assert bpy.ops.vivace.bake() == {"FINISHED"}
    assert np.isfinite(seen(bpy, cloth, 14)).all()


def test_blender_reads_our_caches(tmp_path):
    """Positions to float32 rounding, UVs, names, and centimetres where a format says so, by Blender's own readers."""
    script = Path(__file__).parents[2] / "benchmarks" / "bpy_reads.py"
    wanted = ["pc2", "mdd", "obj", "ply", "glb", "usdc", "usdc:cm", "usda", "abc"]
    formats = [name for name in wanted if is_installed(CACHES["." + name.partition(":")[0]])]
    rows = tmp_path / "rows.json"
    command = [sys.executable, str(script), "--vertices", "100", "--frames", "4", "--json", str(rows)]
    done = subprocess.run([*command, "--formats", ",".join(formats)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(rows.read_text())
    assert [row["format"] for row in found] == formats
    for row in found:
        assert row["position"] < 2.5e-7, row
        assert row["uv"] < 1e-7, row
        assert row["name"] == "sheet" or row["format"] in ("ply", "obj"), row
