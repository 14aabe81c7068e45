"""A bake without Blender: pins that are led, colliders that move, units and order of what is written."""

import numpy as np
import pytest

import vivace as vv
from vivace.blender import Bake, ClothFrames, Settings, Track
from vivace.blender.colliders import as_colliders
from vivace.collisions import AnimatedMesh
from vivace.collisions.convex import ConvexMesh
from vivace.collisions.sampled import Sampled

H = 1 / 24


def grid(n=8, size=1.0, height=1.0):
    """Vertices and triangles of a flat sheet, z up."""
    x, y = np.meshgrid(np.linspace(-0.5, 0.5, n) * size, np.linspace(-0.5, 0.5, n) * size)
    points = np.column_stack([x.ravel(), y.ravel(), np.full(n * n, height)])
    corner = np.arange(n * n).reshape(n, n)[:-1, :-1].ravel()
    return points, np.concatenate([corner[:, None] + [0, 1, n + 1], corner[:, None] + [0, n + 1, n]])


def box(half=0.3, centre=(0, 0, 0)):
    points = half * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float) + centre
    faces = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return points, np.array([[f[0], f[k], f[k + 1]] for f in faces for k in (1, 2)])


def baked(tmp_path, cloth, tracks=(), frames=12, **options):
    path = tmp_path / "cloth.pc2"
    with Bake(cloth, tracks, Settings(iterations=8, substeps=2, **options), path, frames=frames) as bake:
        while bake.advance():
            pass
    return bake, vv.caches.read(path)


@pytest.mark.slow
def test_pins_follow_what_blender_animates_and_the_rest_hangs_on_them(tmp_path):
    """Pinned vertices are where they are led in every frame; a cloth that is held moves with them."""
    points, triangles = grid()
    pins = (points[:, 1] > 0.49).astype(float)
    held = np.flatnonzero(pins)
    led = np.array([points[held] + [0.02 * f, 0, 0] for f in range(12)])
    bake, found = baked(tmp_path, ClothFrames("sheet", triangles, points, pins, led, time_step=H))
    np.testing.assert_allclose(found.positions[:, held], led, atol=2e-3)
    assert found.positions.shape == (12, 64, 3)
    assert found.positions[-1, :, 0].mean() > 0.1
    assert bake.done == bake.frames == 12
    np.testing.assert_allclose(np.diff(found.times), H, rtol=1e-6)


@pytest.mark.slow
def test_what_is_written_is_in_the_object_s_own_axes(tmp_path):
    """A free sheet falls by g t²/2 in metres; the object is turned, moved and in centimetres."""
    points, triangles = grid()
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    local = np.eye(4)[None].repeat(12, axis=0)
    local[:, :3, :3] = 100 * turn
    local[:, :3, 3] = np.arange(12)[:, None] * [1.0, 0, 0]
    cloth = ClothFrames("sheet", triangles, points, to_local=local, time_step=H)
    _, found = baked(tmp_path, cloth, self_contact=False, fabric="CUSTOM", density=0.5)
    world = np.einsum("fij,fnj->fni", np.linalg.inv(local[:, :3, :3]), found.positions - local[:, None, :3, 3])
    steps = 2 * np.arange(12)  # implicit Euler in two substeps, slowed by air of 0.5/s
    fall = 9.81 * (H / 2) ** 2 * steps * (steps + 1) / 2
    np.testing.assert_allclose(1.0 - world[:, :, 2].mean(axis=1), fall, rtol=0.1, atol=1e-4)
    np.testing.assert_allclose(world[:, :, :2], np.broadcast_to(points[:, :2], (12, 64, 2)), atol=1e-4)


@pytest.mark.slow
def test_loose_vertices_and_flat_faces_keep_their_places_in_the_order(tmp_path):
    points, triangles = grid(4)
    points = np.concatenate([[[5.0, 5, 5]], points, [[0, 0, 9.0]]])
    triangles = np.concatenate([triangles + 1, [[1, 1, 2]]])
    _, found = baked(tmp_path, ClothFrames("sheet", triangles, points, time_step=H), frames=3)
    np.testing.assert_allclose(found.positions[:, [0, -1]], np.broadcast_to(points[[0, -1]], (3, 2, 3)), atol=1e-6)
    assert (found.positions[-1, 1:-1, 2] < 1).all()


@pytest.mark.slow
def test_a_box_that_rises_lifts_the_cloth(tmp_path):
    """Above its top in every frame once it lies there, and as fast as the box at the end."""
    points, triangles = grid(6, 0.4, 0.32)
    corners, faces = box()
    track = Track("lift", faces, corners + np.array([0, 0, 0.5 * H]) * np.arange(24)[:, None, None])
    _, found = baked(tmp_path, ClothFrames("sheet", triangles, points, time_step=H), [track], 24, thickness=0.01)
    tops = 0.3 + 0.5 * H * np.arange(24)
    assert (found.positions[1:, :, 2].min(axis=1) > tops[1:] + 0.005).all()
    assert found.positions[-1, :, 2].max() < tops[-1] + 0.03


@pytest.mark.slow
def test_a_box_that_swells_and_shears_carries_the_cloth(tmp_path):
    """What deforms is touched as it is in every frame: its top rises while it gets wider, and the cloth with it."""
    points, triangles = grid(6, 0.4, 0.32)
    corners, faces = box()
    swelling = np.linspace(0, 1, 24)[:, None, None] * [0.2, 0.2, 0.8]
    positions = corners * (1 + swelling) + np.linspace(0, 0.05, 24)[:, None, None] * corners[:, 2:] * [1, 0, 0]
    track = Track("dough", faces, positions)
    ((found,), notes) = as_colliders([track], H)
    assert isinstance(found, AnimatedMesh)
    assert notes == []
    _, seen = baked(tmp_path, ClothFrames("sheet", triangles, points, time_step=H), [track], 24, thickness=0.01)
    tops = positions[:, :, 2].max(axis=1)
    assert (seen.positions[1:, :, 2].min(axis=1) > tops[1:]).all()
    assert seen.positions[-1, :, 2].max() < tops[-1] + 0.05


def test_what_stands_moves_or_deforms_is_found_out_from_positions():
    corners, faces = box()
    sheet, triangles = grid()
    (still, ground), notes = as_colliders([Track("a", faces, corners[None]), Track("b", triangles, sheet[None])], H)
    assert isinstance(still, ConvexMesh)
    assert isinstance(ground, ConvexMesh)
    np.testing.assert_allclose(ground.distance([[0, 0, 1.1], [0, 0, 0.9]]), [0.1, -0.1], atol=0.02)
    assert notes == []
    turns = np.linspace(0, 3 * np.pi, 20)
    mats = [np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]]) for a in turns]
    positions = np.array([corners @ mat.T + [a, 0, 0] for a, mat in zip(turns, mats, strict=True)])
    ((spinning,), _) = as_colliders([Track("c", faces, positions)], H)
    for frame in (0, 7, 19):
        shift, turn = spinning.path(frame * H)
        np.testing.assert_allclose(shift, [turns[frame], 0, 0], atol=1e-9)
        np.testing.assert_allclose(turn, [0, 0, turns[frame]], atol=1e-6)


@pytest.mark.slow
def test_closed_ones_keep_their_hollows_where_nothing_moves():
    mesh = vv.mesh.torus()
    positions = np.asarray(mesh.vertices)[None]
    ((found,), _) = as_colliders([Track("torus", mesh.triangles, positions)], H)
    assert isinstance(found, Sampled)


def test_bad_input_is_said_before_anything_is_written(tmp_path):
    points, triangles = grid(4)
    bent = points * [1, 1, 0] + [0, 0, 1] + np.abs(points[:, :1]) * [0, 0, 1]
    with pytest.raises(vv.InputError, match="holes"):
        as_colliders([Track("tent", triangles, bent[None])], H)
    with pytest.raises(vv.InputError, match="no faces"):
        Bake(ClothFrames("sheet", triangles[:0], points), [], Settings(), tmp_path / "a.pc2", frames=2)
    with pytest.raises(vv.InputError, match="weight for each"):
        ClothFrames("sheet", triangles, points, pins=np.ones(3))
    with pytest.raises(vv.InputError, match="substeps"):
        Settings(substeps=-1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_bake_that_fails_leaves_what_was_there(tmp_path):
    points, triangles = grid(4)
    cloth = ClothFrames("sheet", triangles, points, time_step=H)
    baked(tmp_path, cloth, frames=3)
    before = (tmp_path / "cloth.pc2").read_bytes()
    bake = Bake(cloth, [], Settings(), tmp_path / "cloth.pc2", frames=9)
    bake.advance()
    bake.__exit__(RuntimeError, RuntimeError(), None)
    assert (tmp_path / "cloth.pc2").read_bytes() == before
    with Bake(cloth, [], Settings(), tmp_path / "cloth.pc2", frames=9) as bake:  # stopped: what is done is kept
        bake.advance()
        bake.advance()
    assert len(vv.caches.read(tmp_path / "cloth.pc2")) == 2
