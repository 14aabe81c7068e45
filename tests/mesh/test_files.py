"""Round trips through every format, and what happens with files that are missing, foreign or broken."""

import sys
from pathlib import Path

import meshio
import numpy as np
import pytest
import trimesh

from vivace.errors import (
    FileError,
    InputError,
    MissingExtraError,
    UnknownNameError,
    VivaceError,
)
from vivace.mesh import (
    Mesh,
    ball,
    cloth,
    connected_components,
    cube,
    load,
    save,
    tet_quality,
    tetrahedralise,
)
from vivace.mesh.silenced import quiet

SHARED = Path(__file__).parents[3] / "shared/meshes"
ROUNDED = {".stl": 1e-7, ".glb": 1e-7}  # formats of seven digits


def shape(mesh):
    """The corner positions of all triangles, sorted: what a mesh looks like whatever its numbering."""
    corners = np.round(mesh.vertices[mesh.triangles], 5) + 0.0
    start = np.lexsort(corners.transpose(2, 0, 1)[::-1], axis=-1)[:, 0]
    rolled = corners[np.arange(len(corners))[:, None], (start[:, None] + np.arange(3)) % 3].reshape(len(corners), 9)
    return rolled[np.lexsort(rolled.T)]


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".stl", ".glb", ".msh", ".vtk", ".vtu", ".OBJ"])
def test_surface_round_trip(tmp_path, suffix):
    mesh = cloth(7, 5, irregular=True)
    path = tmp_path / f"cloth{suffix}"
    save(mesh, path)
    again = load(path)
    assert again.name == "cloth"
    assert not again.is_volumetric
    np.testing.assert_allclose(shape(again), shape(mesh), atol=2e-5)
    assert len(again.hinges) == len(mesh.hinges)
    if suffix != ".stl":  # STL has no numbering to keep
        np.testing.assert_array_equal(again.triangles, mesh.triangles)
        np.testing.assert_allclose(again.vertices, mesh.vertices, rtol=0, atol=ROUNDED.get(suffix, 0))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".msh", ".vtk", ".vtu", ".node", ".ele"])
def test_body_round_trip(tmp_path, suffix):
    mesh = ball(4)
    save(mesh, tmp_path / f"ball{suffix}")
    again = load(tmp_path / f"ball{suffix}")
    np.testing.assert_array_equal(again.vertices, mesh.vertices)
    np.testing.assert_array_equal(again.tets, mesh.tets)


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".stl", ".glb"])
def test_surface_formats_get_the_boundary_of_a_body(tmp_path, suffix):
    mesh = cube(4)
    save(mesh, tmp_path / f"cube{suffix}")
    again = load(tmp_path / f"cube{suffix}")
    assert again.n_vertices == 4**3 - 2**3
    np.testing.assert_allclose(shape(again), shape(mesh), atol=2e-5)


def test_gltf_scenes_are_put_together_where_they_are_placed(tmp_path):
    scene = trimesh.Scene()
    box = trimesh.creation.box()
    scene.add_geometry(box)
    scene.add_geometry(box, transform=trimesh.transformations.translation_matrix([5, 0, 0]))
    scene.export(tmp_path / "two.gltf")
    mesh = load(tmp_path / "two.gltf")
    assert connected_components(mesh.n_vertices, mesh.edges)[0] == 2
    np.testing.assert_allclose(mesh.bounds, [[-0.5] * 3, [5.5, 0.5, 0.5]])


def test_obj_keeps_the_files_numbering_and_joins_normals_and_textures(tmp_path):
    path = tmp_path / "box.obj"
    path.write_text(
        "# a square pyramid\nvn 0 0 1\nvn 1 0 0\nvt 0 0\n"
        "v 0 0 0\nv 1 0 0 1.0\nv 1 1 0\n\tv 0 1 0\nv 0.5 0.5 1\no part\ns off\n"
        "f 4//1 3//1 2//1 1//1\nf 1/1/2 2/1/2 5/1/2\nf 2/1 3/1 5/1\nf 3 4 \\\n 5\nf -2 -5 -1\n"
    )
    mesh = load(path)
    assert mesh.triangles.tolist() == [[3, 2, 1], [3, 1, 0], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
    np.testing.assert_array_equal(mesh.vertices[4], [0.5, 0.5, 1])


def test_quads_are_cut_in_two(tmp_path):
    points = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [2, 0.5]], float)
    cells = [("quad", np.array([[0, 1, 2, 3]])), ("triangle", np.array([[1, 4, 2]])), ("line", np.array([[0, 1]]))]
    with quiet():
        meshio.write(tmp_path / "a.vtu", meshio.Mesh(points, cells))
    mesh = load(tmp_path / "a.vtu")
    assert len(mesh.triangles) == 3
    np.testing.assert_allclose(mesh.triangle_areas().sum(), 1.5)
    (tmp_path / "a.ply").write_text(
        "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
        "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n"
    )
    assert len(load(tmp_path / "a.ply").triangles) == 2


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("given", [".node", ".ele"])
def test_tetgen_files_number_from_zero_or_one(tmp_path, first, given):
    mesh = cube(2)
    rows = [f"{i + first} {x} {y} {z} 7 1" for i, (x, y, z) in enumerate(mesh.vertices.tolist())]
    (tmp_path / "a.node").write_text("\n".join(["# made by hand", "8 3 1 1", *rows, "# the end"]))
    rows = [f"{i + first}\t{' '.join(map(str, tet))} 3" for i, tet in enumerate((mesh.tets + first).tolist())]
    (tmp_path / "a.ele").write_text("\n".join(["", "6 4 1", *rows]))
    again = load(tmp_path / f"a{given}")
    np.testing.assert_array_equal(again.vertices, mesh.vertices)
    np.testing.assert_array_equal(again.tets, mesh.tets)


def test_tetgen_needs_both_files(tmp_path):
    save(cube(2), tmp_path / "a.node")
    (tmp_path / "a.ele").unlink()
    with pytest.raises(FileError, match=r"a\.node needs its other half .*a\.ele"):
        load(tmp_path / "a.node")
    (tmp_path / "a.ele").write_text("")
    with pytest.raises(FileError, match=r"cannot read .*a\.ele"):
        load(tmp_path / "a.node")


def test_one_orientation_for_all_tetrahedra_is_a_convention_a_mixture_is_a_fault(tmp_path):
    mesh = cube(3)
    tets = mesh.tets[:, [1, 0, 2, 3]]
    meshio.write(tmp_path / "a.vtu", meshio.Mesh(mesh.vertices, [("tetra", tets)]))
    again = load(tmp_path / "a.vtu")
    assert again.repairs == ()
    np.testing.assert_allclose(again.tet_volumes(), mesh.tet_volumes())
    tets = np.concatenate([tets[:3], mesh.tets[3:]])
    meshio.write(tmp_path / "b.vtu", meshio.Mesh(mesh.vertices, [("tetra", tets)]))
    with pytest.raises(InputError, match=r"b\.vtu: 3 of 48 tetrahedra are inside out.*repair=True"):
        load(tmp_path / "b.vtu")
    assert load(tmp_path / "b.vtu", repair=True).repairs == ("turned 3 tetrahedra that were inside out",)


def test_stl_reports_what_it_joined(tmp_path):
    save(cloth(3, 3), tmp_path / "a.stl")
    assert load(tmp_path / "a.stl").repairs == ("merged 15 vertices at the same positions as others",)


def test_missing_and_unknown_files(tmp_path):
    with pytest.raises(FileError, match=r"cannot read .*none\.obj: there is no such file"):
        load(tmp_path / "none.obj")
    (tmp_path / "folder.obj").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        load(tmp_path / "folder.obj")
    (tmp_path / "empty.obj").touch()
    with pytest.raises(FileError, match=r"empty\.obj: the file is empty"):
        load(tmp_path / "empty.obj")
    with pytest.raises(UnknownNameError, match=r"a\.objj: '\.objj'; did you mean '\.obj'"):
        load(tmp_path / "a.objj")
    with pytest.raises(UnknownNameError, match=r"'\.usdz'; known: \.ele, \.glb"):
        load(tmp_path / "a.usdz")
    with pytest.raises(UnknownNameError, match=r"a\.gltff"):
        save(cloth(3, 3), tmp_path / "a.gltff")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("suffix", [".obj", ".ply", ".stl", ".glb", ".msh", ".vtk", ".vtu"])
def test_truncated_files_are_refused(tmp_path, suffix, part, capfd):
    path = tmp_path / f"cut{suffix}"
    save(cloth(9, 9), path)
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    with pytest.raises(VivaceError, match=r"cut\."):
        load(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("part", [0.01, 0.5, 0.9])
@pytest.mark.parametrize("suffix", [".node", ".ele"])
def test_truncated_tetgen_files_are_refused(tmp_path, suffix, part):
    save(cube(3), tmp_path / "cut.node")
    path = tmp_path / f"cut{suffix}"
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    with pytest.raises(FileError, match=rf"cut\{suffix}"):
        load(tmp_path / "cut.node")


@pytest.mark.parametrize("suffix", [".stl", ".ply"])
def test_truncated_text_files_are_refused(tmp_path, suffix):
    mesh = cloth(9, 9)
    surface = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)
    options = {"file_type": "stl_ascii"} if suffix == ".stl" else {"encoding": "ascii"}
    path = tmp_path / f"cut{suffix}"
    surface.export(path, **options)
    data = path.read_bytes()
    assert len(load(path).triangles) == len(mesh.triangles)
    path.write_bytes(data[: int(0.9 * len(data))])
    with pytest.raises(FileError, match="truncated"):
        load(path, repair=True)


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".stl", ".glb", ".gltf", ".msh", ".vtk", ".vtu", ".node"])
@pytest.mark.parametrize("content", [b"hello, world\n" * 5, bytes(range(256)) * 4, b"\n\n"])
def test_foreign_files_are_refused(tmp_path, suffix, content):
    path = tmp_path / f"foreign{suffix}"
    path.write_bytes(content)
    (tmp_path / "foreign.ele").write_bytes(content)
    with pytest.raises(VivaceError, match=r"foreign\."):
        load(path)


def test_faults_of_the_mesh_name_the_file(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n")
    with pytest.raises(InputError, match=r"a\.obj: triangle 0 is \[0, 1, 8\]"):
        load(tmp_path / "a.obj")
    (tmp_path / "b.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 one 0\n")
    with pytest.raises(FileError, match=r"b\.obj, line 3, 'v 0 one 0'"):
        load(tmp_path / "b.obj")
    (tmp_path / "c.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    with pytest.raises(InputError, match=r"c\.obj holds neither triangles nor tetrahedra"):
        load(tmp_path / "c.obj")
    points = cube(2).vertices[[0, 4, 6, 2, 1, 5, 7, 3]]
    meshio.write(tmp_path / "d.vtu", meshio.Mesh(points, [("hexahedron", np.arange(8)[None])]))
    with pytest.raises(InputError, match=r"d\.vtu holds cells of the kind hexahedron"):
        load(tmp_path / "d.vtu")


def test_what_cannot_be_written_leaves_the_old_file(tmp_path):
    wire = Mesh.from_edges([[0, 0, 0], [1, 0, 0]], [[0, 1]])
    (tmp_path / "a.obj").write_text("old")
    with pytest.raises(InputError, match=r"a\.obj: 'wire' is a wire"):
        save(wire, tmp_path / "a.obj")
    with pytest.raises(InputError, match="surface; TetGen files hold tetrahedra"):
        save(cloth(3, 3), tmp_path / "a.node")
    (tmp_path / "block").write_text("")
    with pytest.raises(FileError, match="cannot write"):
        save(cloth(3, 3), tmp_path / "block" / "a.obj")
    assert (tmp_path / "a.obj").read_text() == "old"


@pytest.mark.slow
def test_tetrahedralise_fills_a_closed_surface(tmp_path):
    pytest.importorskip("tetgen")
    save(ball(8), tmp_path / "ball.obj")
    surface = load(tmp_path / "ball.obj")
    body = load(tmp_path / "ball.obj", tetrahedralise=True)
    assert body.is_volumetric
    np.testing.assert_array_equal(body.vertices[: surface.n_vertices], surface.vertices)
    np.testing.assert_allclose(body.tet_volumes().sum(), ball(8).tet_volumes().sum(), rtol=1e-9)
    fine = tetrahedralise(surface, max_volume=2e-4)
    assert np.percentile(fine.tet_volumes(), 95) <= 2e-4
    assert len(fine.tets) > len(body.tets)
    marked = Mesh.from_triangles(surface.vertices, surface.triangles, groups={"first": [0]})
    assert tetrahedralise(marked).select("first").tolist() == [0]


def test_tetrahedralise_refuses_what_it_cannot_fill(monkeypatch):
    with pytest.raises(InputError, match=r"'cloth' is not closed: 8 edges have one triangle only \(first: edge \[0, 1"):
        tetrahedralise(cloth(3, 3))
    with pytest.raises(InputError, match="tetrahedra already"):
        tetrahedralise(cube(2))
    with pytest.raises(InputError, match="has no triangles"):
        tetrahedralise(Mesh.from_edges([[0, 0, 0], [1, 0, 0]], [[0, 1]]))
    with pytest.raises(InputError, match="quality must be above 1"):
        tetrahedralise(cube(2), quality=0.5)
    with pytest.raises(InputError, match="max_volume"):
        tetrahedralise(cube(2), max_volume=-1)
    box = cube(2)
    closed = Mesh.from_triangles(box.vertices, box.triangles)
    monkeypatch.setitem(sys.modules, "tetgen", None)
    with pytest.raises(MissingExtraError, match=r"vivace\[tets\]"):
        tetrahedralise(closed)


@pytest.mark.slow
def test_tetrahedralise_refuses_a_surface_that_crosses_itself_and_leaves_no_files(tmp_path, monkeypatch):
    pytest.importorskip("tetgen")
    monkeypatch.chdir(tmp_path)
    box = cube(2)
    vertices = np.concatenate([box.vertices, box.vertices + np.array([0.3, 0.2, 0.1])])
    crossing = Mesh.from_triangles(vertices, np.concatenate([box.triangles, box.triangles + 8]))
    with pytest.raises(InputError, match="crosses itself"):
        tetrahedralise(crossing)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the research meshes are not here")
class TestSharedMeshes:
    @pytest.mark.parametrize(
        ("name", "vertices", "tets"),
        [
            ("armadillo_4k.node", 1180, 3717),
            ("armadillo_4k.ele", 1180, 3717),
            ("armadillo_55k.msh", 12459, 57528),
        ],
    )
    def test_armadillo(self, name, vertices, tets):
        mesh = load(SHARED / name)
        assert (mesh.n_vertices, len(mesh.tets)) == (vertices, tets)
        assert connected_components(mesh.n_vertices, mesh.edges)[0] == 1
        assert mesh.repairs == ()
        assert tet_quality(mesh.vertices, mesh.tets).min() > 0.05

    def test_bunny(self):
        mesh = load(SHARED / "bunny_10k.obj")
        assert len(mesh.triangles) == 10_000
        assert mesh.n_vertices == 5_002
        assert len(mesh.hinges) == len(mesh.edges) == 15_000  # closed: every edge is a hinge
