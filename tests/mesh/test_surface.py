"""Meshes as people have them: seams, polygons, names, centimetres, z up; what comes out is as the file has it."""

import pickle

import meshio
import numpy as np
import pytest
import trimesh

from vivace.errors import FileError, InputError, UnknownNameError
from vivace.mesh import Mesh, Surface, cloth, cube, join, load, save
from vivace.mesh.silenced import quiet
from vivace.mesh.surface import Numbered
from vivace.mesh.welding import seams
from vivace.storage import pack, unpack

SHIRT = """mtllib shirt.mtl
o Shirt
g body
usemtl Cotton
v 0 0 0
v 100 0 0
v 100 0 100
v 0 0 100
v 100 0 0
v 200 0 0
v 200 0 100
v 100 0 100
vt 0 0
vt 1 0
vt 1 1
vt 0 1
f 1/1 2/2 3/3 4/4
usemtl Silk
g body collar
f 5/1 6/2 7/3 8/4
o Flag
g flag
v 300 0 0
v 400 0 0
v 350 0 20
v 400 0 100
v 300 0 100
f 9/1 10/2 11/2 12/3 13/4
"""


@pytest.fixture
def shirt(tmp_path):
    """Two squares that have their common side twice, and a pentagon of another object, in cm with z up."""
    (tmp_path / "shirt.obj").write_text(SHIRT)
    return tmp_path / "shirt.obj"


def test_unit_and_axis(shirt):
    mesh = load(shirt, unit="cm", up="z")
    np.testing.assert_allclose(mesh.bounds, [[0, 0, 0], [4, 1, 0]])
    assert (mesh.surface.unit, mesh.surface.up) == ("cm", "z")
    with pytest.raises(UnknownNameError, match="did you mean"):
        load(shirt, unit="cn")
    with pytest.raises(UnknownNameError, match="points up"):
        load(shirt, up="w")


def test_seams_are_one_for_physics_and_doubled_for_output(shirt):
    mesh = load(shirt, unit="cm", up="z")
    assert mesh.n_vertices == 11
    assert len(mesh.hinges) == 2 + 1 + 2  # across the two squares, their seam, and the pentagon
    assert mesh.repairs == ("merged 2 vertices that were doubled along seams",)
    shown = mesh.surface
    assert shown.n_vertices == 13
    assert shown.polygons.counts.tolist() == [4, 4, 5]
    file = [[float(x) for x in line.split()[1:]] for line in SHIRT.splitlines() if line.startswith("v ")]
    x, y, z = np.array(file).T / 100
    np.testing.assert_allclose(shown.at(mesh.vertices), np.column_stack([x, z, -y]), atol=1e-15)
    assert load(shirt, weld=False).n_vertices == 13


def test_names_of_objects_groups_and_materials_are_groups(shirt):
    mesh = load(shirt, unit="cm", up="z")
    at = {name: sorted(mesh.vertices[members][:, 0]) for name, members in mesh.groups.items()}
    assert set(at) == {"Shirt", "Flag", "body", "collar", "flag", "Cotton", "Silk"}
    assert at["collar"] == [1, 1, 2, 2]
    assert at["Cotton"] == [0, 0, 1, 1]
    assert len(at["Flag"]) == 5
    assert mesh.select("collar").tolist() == mesh.groups["collar"].tolist()


def numbers(path):
    """Of the vertices in an OBJ."""
    return np.array([line.split()[1:] for line in path.read_text().splitlines() if line.startswith("v ")], float)


def test_an_obj_comes_out_as_it_went_in(shirt, tmp_path):
    mesh = load(shirt, unit="cm", up="z")
    save(mesh, tmp_path / "again.obj")
    np.testing.assert_allclose(numbers(tmp_path / "again.obj"), numbers(shirt), atol=1e-12)
    again = load(tmp_path / "again.obj", unit="cm", up="z")
    for kind in ("objects", "groups", "materials"):
        one, two = (getattr(m.surface.polygons, kind) for m in (mesh, again))
        expected = {name: faces.tolist() for name, faces in one.items()}
        assert {name: faces.tolist() for name, faces in two.items()} == expected
    np.testing.assert_array_equal(again.surface.polygons.corners, mesh.surface.polygons.corners)
    np.testing.assert_array_equal(again.surface.uvs, mesh.surface.uvs)


def test_uvs_of_corners_where_a_vertex_has_two(tmp_path):
    (tmp_path / "a.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0.5 0.25\nf 1/1 2/2 3/3\nf 1/4 3/3 4/1\n"
    )
    mesh = load(tmp_path / "a.obj")
    assert mesh.n_vertices == mesh.surface.n_vertices == 4
    assert mesh.surface.uvs is None
    assert mesh.surface.polygons.uvs.tolist() == [[0, 0], [1, 0], [1, 1], [0.5, 0.25], [1, 1], [0, 0]]
    save(mesh, tmp_path / "b.obj")
    again = load(tmp_path / "b.obj").surface.polygons
    np.testing.assert_array_equal(again.uvs, mesh.surface.polygons.uvs)


def test_sheets_that_lie_on_each_other_stay_apart():
    """A seam is two edges in opposite directions; a second layer has its rim in the same direction."""
    one = cloth(4, 4)
    two = np.concatenate([one.vertices, one.vertices])
    layers = np.concatenate([one.triangles, one.triangles + one.n_vertices])
    assert (seams(two, layers) == np.arange(2 * one.n_vertices)).all()
    pillow = np.concatenate([one.triangles, one.triangles[:, ::-1] + one.n_vertices])
    rim = 12
    assert (seams(two, pillow) != np.arange(2 * one.n_vertices)).sum() == rim
    labels = np.repeat([0, 1], len(one.triangles))
    assert (seams(two, pillow, labels) == np.arange(2 * one.n_vertices)).all()


def test_three_sheets_at_an_edge_are_left_as_they_are():
    points = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0]] * 3, float)
    points[5], points[8] = (-1, 0, 0), (0, 0, 1)
    assert (seams(points, np.arange(9).reshape(3, 3)) == np.arange(9)).all()


def test_every_face_on_its_own_is_sewn_up_whole():
    """A cube of 12 triangles that share no vertex becomes one of eight."""
    box = trimesh.creation.box()
    corners = box.vertices[box.faces].reshape(-1, 3)
    assert len(np.unique(seams(corners, np.arange(36).reshape(12, 3)))) == 8


def test_a_glb_keeps_uvs_names_and_doubled_vertices(tmp_path):
    grid = cloth(4, 3)
    uvs = grid.vertices[:, :2] + 0.25
    scene = trimesh.Scene()
    for k, name in enumerate(("left", "right")):
        material = trimesh.visual.material.PBRMaterial(name=f"stuff {name}")
        visual = trimesh.visual.TextureVisuals(uv=uvs, material=material)
        width = np.ptp(grid.vertices[:, 0])
        part = trimesh.Trimesh(
            grid.vertices + np.array([k * width, 0, 0]), grid.triangles, visual=visual, process=False
        )
        scene.add_geometry(part, node_name=name, geom_name=name)
    scene.export(tmp_path / "a.glb")
    mesh = load(tmp_path / "a.glb")
    assert mesh.n_vertices == 2 * 12 - 3
    assert {"left", "right", "stuff left", "stuff right"} <= set(mesh.groups)
    assert mesh.surface.n_vertices == 24
    np.testing.assert_allclose(mesh.surface.uvs, np.tile(uvs, (2, 1)), atol=1e-6)


def test_a_ply_keeps_uvs_and_polygons(tmp_path):
    head = "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n"
    head += "property float s\nproperty float t\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n"
    rows = "0 0 0 0 0\n1 0 0 1 0\n1 1 0 1 1\n0 1 0 0 1\n2 0.5 0 0.5 0.5\n4 0 1 2 3\n3 1 4 2\n"
    (tmp_path / "a.ply").write_text(head + rows)
    mesh = load(tmp_path / "a.ply")
    assert mesh.surface.polygons.counts.tolist() == [4, 3]
    assert mesh.surface.uvs.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]]
    np.testing.assert_array_equal(mesh.vertices[4], [2, 0.5, 0])


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_binary_ply_of_mixed_polygons(tmp_path, order):
    """As modelling programs write it: normals beside positions, faces of four and three corners, flags behind them."""
    form = {"<": "little", ">": "big"}[order]
    head = f"ply\nformat binary_{form}_endian 1.0\ncomment a\nelement vertex 5\n"
    head += "".join(f"property float {name}\n" for name in ("x", "y", "z", "nx", "ny", "nz", "u", "v"))
    head += "element face 2\nproperty list uchar uint vertex_indices\nproperty uchar flag\nend_header\n"
    rows = np.arange(40, dtype=float).reshape(5, 8)
    rows[:, 2] = [0, 7, 1, 3, 2]
    data = rows.astype(order + "f4").tobytes()
    for face in ([0, 1, 2, 3], [1, 4, 2]):
        data += bytes([len(face)]) + np.array(face, order + "u4").tobytes() + b"\7"
    (tmp_path / "a.ply").write_bytes(head.encode() + data)
    mesh = load(tmp_path / "a.ply")
    np.testing.assert_array_equal(mesh.vertices, rows[:, :3])
    assert mesh.surface.polygons.counts.tolist() == [4, 3]
    assert mesh.surface.polygons.corners.tolist() == [0, 1, 2, 3, 1, 4, 2]
    np.testing.assert_array_equal(mesh.surface.uvs, rows[:, 6:])
    (tmp_path / "a.ply").write_bytes(head.encode() + data[:-3])
    with pytest.raises(FileError, match="ends in number 1"):
        load(tmp_path / "a.ply")


def test_physical_groups_of_gmsh(tmp_path):
    body = cube(3)
    held = np.flatnonzero(body.vertices[:, 1] == body.vertices[:, 1].max())
    mesh = meshio.Mesh(body.vertices, [("tetra", body.tets), ("vertex", held[:, None])])
    marks = [np.full(len(body.tets), 1), np.full(len(held), 2)]
    mesh.cell_data = {"gmsh:physical": marks, "gmsh:geometrical": marks}
    mesh.field_data = {"bulk": np.array([1, 3]), "held": np.array([2, 0])}
    with quiet():
        meshio.write(tmp_path / "a.msh", mesh, file_format="gmsh22")
    again = load(tmp_path / "a.msh")
    np.testing.assert_array_equal(again.groups["held"], held)
    assert len(again.groups["bulk"]) == body.n_vertices


def test_what_no_face_uses_is_still_counted_in_the_output(tmp_path):
    """Point caches rely on the number of vertices: loose ones go with their neighbours."""
    (tmp_path / "a.obj").write_text("v 9 9 9\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 0.1 0\nf 2 3 4\n")
    mesh = load(tmp_path / "a.obj", repair=True)
    assert mesh.n_vertices == 3
    np.testing.assert_array_equal(mesh.surface.at(mesh.vertices)[1:4], mesh.vertices)
    assert mesh.surface.at(mesh.vertices)[4].tolist() == [1, 0, 0]


def test_surfaces_survive_moving_joining_storing_and_pickling(shirt):
    mesh = load(shirt, unit="cm", up="z")
    moved = mesh.transformed(scale=2, translate=(1, 2, 3))
    np.testing.assert_allclose(moved.surface.at(moved.vertices), 2 * mesh.surface.at(mesh.vertices) + [1, 2, 3])
    both = join([mesh, cloth(3, 3), moved])
    assert both.surface.n_vertices == 13 + 9 + 13
    parts = [mesh.surface.at(mesh.vertices), cloth(3, 3).vertices, moved.surface.at(moved.vertices)]
    np.testing.assert_array_equal(both.surface.at(both.vertices), np.concatenate(parts))
    assert both.surface.polygons.materials["2:Silk"].tolist() == [3 + 8 + 1, 3 + 8 + 2]
    again = pickle.loads(pickle.dumps(both))
    text, arrays = pack(mesh)
    for other, known in ((again, both), (unpack(text, arrays), mesh)):
        np.testing.assert_array_equal(other.surface.at(known.vertices), known.surface.at(known.vertices))
        assert other.surface.polygons.materials.keys() == known.surface.polygons.materials.keys()


def test_a_surface_of_another_mesh_is_refused():
    mesh = cloth(3, 3)
    with pytest.raises(InputError, match=r"follows vertex 9, and the mesh has 9"):
        mesh.showing(Surface(Numbered([0, 1, 9]), mesh_faces()))
    with pytest.raises(InputError, match=r"name vertex 2, and there are 2"):
        Surface(Numbered([0, 1]), mesh_faces())
    with pytest.raises(InputError, match="Surface"):
        mesh.showing("fine.obj")
    assert mesh.surface is None


def mesh_faces():
    from vivace.mesh import Polygons

    return Polygons([3], [0, 1, 2])


@pytest.mark.slow
def test_a_filled_body_keeps_the_surface_of_its_file(tmp_path):
    pytest.importorskip("tetgen")
    box = trimesh.creation.box()
    lines = (
        [f"v {x} {y} {z}" for x, y, z in box.vertices]
        + ["o Box"]
        + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in box.faces]
    )
    (tmp_path / "box.obj").write_text("\n".join(lines))
    body = load(tmp_path / "box.obj", tetrahedralise=True)
    assert body.is_volumetric
    assert body.surface.name == "Box"
    np.testing.assert_array_equal(body.surface.at(body.vertices), box.vertices)
    assert isinstance(body, Mesh)
