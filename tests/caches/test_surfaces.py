"""What a mesh file has comes out in every format that has a place for it, as independent readers see it."""

import json
import struct

import numpy as np
import pytest

import vivace as vv
from vivace.caches import CACHES, is_installed

OBJ = """o Shirt
g body
usemtl Cotton
v 0 0 0
v 100 0 0
v 100 0 100
v 0 0 100
v 150 0 -20
v 200 0 50
v 150 0 120
vt 0 0
vt 0.5 0
vt 0.5 1
vt 0 1
vt 0.625 0
vt 1 0.5
vt 0.6 0.9
vt 0.9 0.9
f 1/1 2/2 3/3 4/4
g body collar
usemtl Silk
f 3/8 2/7 5/5 6/6 7/3
"""
CORNER_UVS = [[0, 0], [0.5, 0], [0.5, 1], [0, 1], [0.9, 0.9], [0.6, 0.9], [0.625, 0], [1, 0.5], [0.5, 1]]


@pytest.fixture
def mesh(tmp_path):
    """A quad and a pentagon in cm with z up, with two UVs at two vertices."""
    (tmp_path / "shirt.obj").write_text(OBJ)
    return vv.mesh.load(tmp_path / "shirt.obj", unit="cm", up="z")


@pytest.fixture
def frames(mesh):
    return [mesh.vertices + np.array([0, 0.1 * k, 0]) for k in range(3)]


def exported(mesh, frames, path):
    kind = CACHES[path.suffix]
    if not is_installed(kind):
        pytest.skip(f"{kind.needs} is not installed")
    vv.export(frames, path, surface=mesh, time_step=1 / 30)
    return vv.caches.read(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.usdc", "a.usda", "a.abc", "a.pc2", "a.mdd", "o/#.obj", "p/#.ply"])
def test_vertices_and_unit_are_those_of_the_file(tmp_path, mesh, frames, name):
    found = exported(mesh, frames, tmp_path / name)
    assert (found.unit, found.up, found.n_vertices) == ("cm", "z", 7)
    np.testing.assert_allclose(found.positions, frames, atol=5e-7)
    areas = vv.mesh.Mesh.from_triangles(found.positions[0], found.triangles).triangle_areas()
    assert areas.sum() == pytest.approx(mesh.triangle_areas().sum(), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.glb", "a.xdmf"])
def test_formats_with_one_uv_a_vertex_have_some_vertices_twice(tmp_path, mesh, frames, name):
    found = exported(mesh, frames, tmp_path / name)
    assert found.n_vertices == 9
    rows = np.column_stack([found.positions[1], found.uvs])
    shown = np.column_stack([mesh.surface.at(frames[1])[mesh.surface.polygons.corners], CORNER_UVS])
    distance = np.abs(rows[:, None] - shown).max(axis=2)
    assert distance.min(axis=0).max() < 1e-6
    assert distance.min(axis=1).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".usdc", ".usda"])
def test_usd_has_polygons_uvs_of_corners_and_named_faces(tmp_path, mesh, frames, suffix):
    pytest.importorskip("pxr")
    exported(mesh, frames, tmp_path / f"a{suffix}")
    from pxr import Usd, UsdGeom, UsdShade

    stage = Usd.Stage.Open(str(tmp_path / f"a{suffix}"))
    found = UsdGeom.Mesh(stage.GetDefaultPrim())
    assert found.GetPrim().GetName() == "Shirt"
    assert list(found.GetFaceVertexCountsAttr().Get()) == [4, 5]
    st = UsdGeom.PrimvarsAPI(found).GetPrimvar("st")
    assert st.GetInterpolation() == "faceVarying"
    np.testing.assert_array_equal(st.Get(), np.float32(CORNER_UVS))
    sets = {
        s.GetPrim().GetDisplayName(): list(s.GetIndicesAttr().Get()) for s in UsdGeom.Subset.GetAllGeomSubsets(found)
    }
    assert sets == {"Shirt": [0, 1], "body": [0, 1], "collar": [1], "Cotton": [0], "Silk": [1]}
    (silk,) = [s for s in UsdGeom.Subset.GetAllGeomSubsets(found) if s.GetPrim().GetDisplayName() == "Silk"]
    bound = UsdShade.MaterialBindingAPI(silk.GetPrim()).GetDirectBinding().GetMaterial()
    assert bound.GetPrim().GetDisplayName() == "Silk"


@pytest.mark.slow
def test_alembic_has_polygons_uvs_of_corners_and_named_faces(tmp_path, mesh, frames):
    pytest.importorskip("alembic3d")
    exported(mesh, frames, tmp_path / "a.abc")
    from alembic3d import Abc, AbcGeom

    archive = Abc.IArchive(str(tmp_path / "a.abc"))
    schema = AbcGeom.IPolyMesh(archive.getTop(), "Shirt").getSchema()
    assert list(schema.getFaceCountsProperty().getValue()) == [4, 5]
    assert list(schema.getFaceIndicesProperty().getValue()) == [3, 2, 1, 0, 6, 5, 4, 1, 2]  # clockwise
    uvs = schema.getUVsParam()
    assert uvs.getScope() == AbcGeom.GeometryScope.kFacevaryingScope
    turned = np.array(CORNER_UVS)[[3, 2, 1, 0, 8, 7, 6, 5, 4]]
    np.testing.assert_array_equal(np.array(uvs.getExpandedValue().getVals()), np.float32(turned))
    assert {"collar", "Silk"} <= set(schema.getFaceSetNames())
    assert list(schema.getFaceSet("Silk").getSchema().getValue().getFaces()) == [1]


@pytest.mark.slow
def test_gltf_has_materials_by_name(tmp_path, mesh, frames):
    exported(mesh, frames, tmp_path / "a.glb")
    data = (tmp_path / "a.glb").read_bytes()
    document = json.loads(data[20 : 20 + struct.unpack_from("<I", data, 12)[0]])
    (made,) = document["meshes"]
    names = [document["materials"][part["material"]]["name"] for part in made["primitives"]]
    assert names == ["Cotton", "Silk"]
    assert [document["accessors"][part["indices"]]["count"] for part in made["primitives"]] == [6, 9]
    assert all(len(part["targets"]) == 2 for part in made["primitives"])
    import trimesh

    parts = trimesh.load(tmp_path / "a.glb", process=False).geometry.values()
    assert [len(part.faces) for part in parts] == [2, 3]


def test_an_obj_sequence_and_the_mesh_of_a_point_cache_are_as_the_file(tmp_path, mesh, frames):
    exported(mesh, frames, tmp_path / "o" / "#.obj")
    exported(mesh, frames, tmp_path / "a.pc2")
    for path in (tmp_path / "o" / "0.obj", tmp_path / "a.obj"):
        again = vv.mesh.load(path, unit="cm", up="z")
        np.testing.assert_allclose(again.vertices, mesh.vertices, atol=1e-6)
        np.testing.assert_array_equal(again.surface.polygons.uvs, np.float32(CORNER_UVS))
        assert again.surface.polygons.counts.tolist() == [4, 5]
        assert {name: faces.tolist() for name, faces in again.surface.polygons.groups.items()} == {
            "body": [0, 1],
            "collar": [1],
        }
        assert again.groups.keys() == mesh.groups.keys()


def test_a_ply_has_polygons_and_uvs_of_corners(tmp_path, mesh, frames):
    """As lists of each face, which is how MeshLab has them; trimesh reads them where all faces have as many corners."""
    import trimesh

    exported(mesh, frames, tmp_path / "p" / "#.ply")
    again = vv.mesh.load(tmp_path / "p" / "0.ply", unit="cm", up="z")
    assert again.surface.polygons.counts.tolist() == [4, 5]
    np.testing.assert_array_equal(again.surface.polygons.uvs, np.float32(CORNER_UVS))
    cut = vv.mesh.Polygons.of(mesh.triangles)
    uvs = np.random.default_rng(1).random((cut.triangles.size, 2)).astype(np.float32)
    shown = vv.mesh.Surface(mesh.surface.carrier, vv.mesh.Polygons(cut.counts, cut.corners, uvs))
    exported(mesh.showing(shown), frames, tmp_path / "q" / "#.ply")
    raw = trimesh.load(tmp_path / "q" / "0.ply", process=False, fix_texture=False).metadata["_ply_raw"]
    np.testing.assert_array_equal(raw["face"]["data"]["texcoord"]["f1"].reshape(-1, 2), uvs)


def test_npz_has_polygons_too(tmp_path, mesh, frames):
    exported(mesh, frames, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as found:
        assert found["polygon_counts"].tolist() == [4, 5]
        assert found["polygon_corners"].tolist() == [0, 1, 2, 3, 2, 1, 4, 5, 6]
        np.testing.assert_array_equal(found["corner_uvs"], np.float32(CORNER_UVS))


def test_the_unit_can_be_another(tmp_path, mesh, frames):
    vv.export(frames, tmp_path / "a.pc2", surface=mesh, time_step=1 / 30, unit="m", up="y")
    found = vv.caches.read(tmp_path / "a.pc2")
    assert (found.unit, found.up) == ("m", "y")
    np.testing.assert_array_equal(found.positions, np.float32(frames))


def test_a_cloth_of_our_own_is_written_in_metres(tmp_path):
    cloth = vv.mesh.cloth(3, 3)
    vv.export([cloth.vertices], tmp_path / "a.npz", surface=cloth, time_step=1)
    assert vv.caches.read(tmp_path / "a.npz").unit == "m"
