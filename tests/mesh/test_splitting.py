"""Edges of three triangles and more: refused by default, parted into sheets when asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivace import Budget, InputError, Model, Simulation, mesh
from vivace.mesh import Mesh, cloth, connected_components, nonmanifold_edges
from vivace.mesh.topology import duplicates
from vivace.scenes import load_scene
from vivace.scenes.writing import scene_text


def coat():
    """A sheet of 9 x 9 vertices that hangs, with a pocket sewn to five of them in its middle."""
    sheet = cloth(9, 9, plane="vertical")
    seam = [4 * 9 + i for i in range(2, 7)]
    n = sheet.n_vertices
    vertices = np.vstack([sheet.vertices, sheet.vertices[seam] + [0, -0.02, 0.1]])
    pocket = [[[a, n + k, a + 1], [a + 1, n + k, n + k + 1]] for k, a in enumerate(seam[:-1])]
    return sheet, seam, vertices, np.vstack([sheet.triangles, np.reshape(pocket, (-1, 3))])


@pytest.fixture
def coat_file(tmp_path):
    *_, vertices, triangles = coat()
    lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [f"f {a} {b} {c}" for a, b, c in triangles + 1]
    path = tmp_path / "coat.obj"
    path.write_text("\n".join(lines))
    return path


def test_the_message_says_how():
    *_, vertices, triangles = coat()
    with pytest.raises(
        InputError, match=r"4 edges have more than two triangles \(first: edge \[38, 39\]\); pass split=True"
    ):
        Mesh.from_triangles(vertices, triangles)
    with pytest.raises(InputError, match="split = true in a scene file, --set split=true on the command line"):
        Mesh.from_triangles(vertices, triangles, repair=True)


def test_the_coat_stays_whole_and_the_pocket_gets_vertices_of_its_own():
    sheet, seam, vertices, triangles = coat()
    parted = Mesh.from_triangles(vertices, triangles, split=True, groups={"row": seam, "hem": [80, 72]})
    copies = np.arange(len(vertices), len(vertices) + 5)
    np.testing.assert_array_equal(parted.triangles[: len(sheet.triangles)], sheet.triangles)
    np.testing.assert_array_equal(parted.vertices[copies], vertices[seam])
    assert not np.isin(parted.triangles[len(sheet.triangles) :], seam).any()
    assert parted.repairs == ("parted 4 edges of more than two triangles, which doubled 5 vertices",)
    assert parted.groups["seams"].tolist() == parted.groups["row"].tolist() == [*seam, *copies]
    assert parted.groups["hem"].tolist() == [72, 80]
    assert connected_components(parted.n_vertices, parted.edges)[0] == 2


def test_a_mesh_without_such_edges_is_left_as_it_is():
    sheet = cloth(4, 4)
    same = Mesh.from_triangles(sheet.vertices, sheet.triangles, split=True)
    np.testing.assert_array_equal(same.triangles, sheet.triangles)
    assert same.repairs == ()
    assert "seams" not in same.groups


def test_sheets_that_cross_stay_two_sheets():
    """Four half-planes at one edge: those opposite each other continue each other."""
    vertices = [[0, 0, 0], [0, 0, 1], [1, 0, 0.5], [-1, 0, 0.5], [0, 1, 0.5], [0, -1, 0.5]]
    parted = Mesh.from_triangles(vertices, [[0, 1, 2], [0, 1, 4], [1, 0, 3], [1, 0, 5]], split=True)
    pieces, piece = connected_components(parted.n_vertices, parted.edges)
    assert pieces == 2
    assert piece[2] == piece[3] != piece[4] == piece[5]
    assert len(parted.hinges) == 2


def test_a_fan_that_closes_around_the_edge_is_kept_together():
    """A disc around a vertex with a fin on one of its spokes: whatever pairs look flat, the disc stays a disc."""
    rim = [[np.cos(a), 0, np.sin(a)] for a in np.arange(6) * np.pi / 3]
    vertices = [[0, 0, 0], *rim, [-1, 0.01, 0]]
    disc = [[0, 1 + k, 1 + (k + 1) % 6] for k in range(6)]
    parted = Mesh.from_triangles(vertices, [*disc, [0, 1, 7]], split=True)
    assert len(nonmanifold_edges(parted.triangles)) == 0
    assert np.unique(parted.triangles[:6]).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert parted.n_vertices == 10


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 9), st.integers(1, 40))
def test_any_heap_of_triangles_becomes_a_surface(seed, n, m):
    """No edge of more than two triangles is left, every corner is where it was, and nothing else is doubled."""
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(n, 3))
    triangles = np.array([rng.permutation(n)[:3] for _ in range(m)])
    triangles = np.delete(triangles, duplicates(triangles), axis=0)
    used = np.unique(triangles)
    triangles = np.searchsorted(used, triangles)
    parted = Mesh.from_triangles(vertices[used], triangles, split=True)
    assert len(nonmanifold_edges(parted.triangles)) == 0
    np.testing.assert_array_equal(parted.vertices[parted.triangles], vertices[used][triangles])
    tangled = np.unique(nonmanifold_edges(triangles))
    changed = np.unique(triangles[parted.triangles != triangles])
    assert np.isin(changed, tangled).all()
    np.testing.assert_array_equal(parted.vertices[: len(used)], vertices[used])


@pytest.mark.parametrize("solver", ["auto", "vivace", "pbd-coloured"])
def test_sewn_sheets_hang_together(solver):
    """Ten frames after the coat is let go: a gap of 1 mm at most; without a seam the pocket has fallen half a metre."""
    _, seam, vertices, triangles = coat()
    parted = Mesh.from_triangles(vertices, triangles, split=True)
    model = Model.of(parted).pin(lambda x: x[:, 1] > -1e-9)
    gaps = []
    for each in (model.sew(), model):
        sim = Simulation(each, solver=solver, budget=Budget(iterations=30), time_step=1 / 30, threads=1)
        for _ in range(10):
            sim.step()
        gaps.append(np.linalg.norm(sim.positions[-5:] - sim.positions[seam], axis=1).max())
    assert gaps[0] < 0.001
    assert gaps[1] > 0.4


def test_seams_are_sewn_by_the_stiffness_of_the_model_or_ones_own():
    *_, vertices, triangles = coat()
    model = Model.of(Mesh.from_triangles(vertices, triangles, split=True))
    assert model.sew().groups[-1].weights.tolist() == [max(g.stiffest for g in model.groups)] * 5
    assert model.sew(stiffness=7.0).groups[-1].weights.tolist() == [7.0] * 5
    with pytest.raises(InputError, match="stiffness of a seam must be positive, not -1"):
        model.sew(stiffness=-1)
    with pytest.raises(InputError, match="nothing to sew: no two of the vertices are at the same place"):
        model.sew([0, 1, 2])
    with pytest.raises(InputError, match="seams"):
        Model.of(cloth(3, 3)).sew()


def test_three_sheets_at_one_place_are_sewn_in_a_chain():
    sheet = cloth(2, 2)
    model = Model.of(mesh.join([sheet, sheet, sheet])).sew(range(12))
    assert sorted(map(tuple, model.groups[-1].vertices.tolist())) == [
        *((k, k + 4) for k in range(4)),
        *((k, k + 4) for k in range(4, 8)),
    ]


def test_files(coat_file):
    with pytest.raises(InputError, match=r"coat.obj: 4 edges .* pass split=True"):
        mesh.load(coat_file)
    parted = mesh.load(coat_file, split=True)
    assert parted.n_vertices == 91
    assert "parted 4 edges" in parted.repairs[-1]


@pytest.mark.parametrize("sew", [False, True])
def test_scenes_of_mesh_files(coat_file, tmp_path, sew):
    scene = load_scene(coat_file, split=True, sew=sew)
    assert [group.kind.name for group in scene.model.groups].count("weld") == sew
    (tmp_path / "again.toml").write_text(scene_text(scene))
    again = load_scene(tmp_path / "again.toml").model
    assert [group.kind.name for group in again.groups] == [group.kind.name for group in scene.model.groups]
    assert again.n == 91


def test_scene_files_split_and_sew_what_they_load(coat_file, tmp_path):
    (tmp_path / "scene.toml").write_text(
        '[mesh]\nfile = "coat.obj"\nsplit = true\nsew = true\n[pins]\nwhere = "seams"\n'
    )
    model = load_scene(tmp_path / "scene.toml").model
    assert [group.kind.name for group in model.groups] == ["spring", "hinge", "weld", "pin"]
    (tmp_path / "scene.toml").write_text('[mesh]\nfile = "coat.obj"\nsplit = "yes"\n')
    with pytest.raises(InputError, match="split must be true or false, not 'yes'"):
        load_scene(tmp_path / "scene.toml")


def test_other_parameters_are_for_named_scenes(coat_file):
    with pytest.raises(
        InputError,
        match=r"named scenes only; .* \(a mesh file takes repair, sew, split, surface, tet.*, unit, up, weld\)",
    ):
        load_scene(coat_file, resolution=3)
