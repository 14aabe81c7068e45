"""Meshes joined, and the meshes that the scenes of the papers are joined from."""

import numpy as np
import pytest

from vivace.errors import InputError
from vivace.mesh import (
    Mesh,
    boundary_of_tets,
    cloth,
    connected_components,
    cube,
    hinges_of,
    join,
    rabbit,
    tet_quality,
    torus,
    unique_edges,
)
from vivace.mesh.topology import boundary_edges, nonmanifold_edges


def test_vertices_and_elements_follow_one_another():
    parts = [cloth(3, 4), cloth(5, 2).transformed(translate=(0, 1, 0)), cloth(2, 2)]
    mesh = join(parts, name="sheets")
    assert mesh.name == "sheets"
    assert mesh.n_vertices == 12 + 10 + 4
    offset = 0
    for k, part in enumerate(parts):
        here = mesh.select(f"body-{k}")
        assert here.tolist() == list(range(offset, offset + part.n_vertices))
        np.testing.assert_array_equal(mesh.vertices[here], part.vertices)
        mine = mesh.triangles[(mesh.triangles >= offset).all(axis=1) & (mesh.triangles < here[-1] + 1).all(axis=1)]
        np.testing.assert_array_equal(mine - offset, part.triangles)
        for name, members in part.groups.items():
            np.testing.assert_array_equal(mesh.select(f"{k}:{name}"), members + offset)
        offset += part.n_vertices
    assert len(mesh.triangles) == sum(len(part.triangles) for part in parts)
    assert connected_components(mesh.n_vertices, mesh.edges)[0] == 3


@pytest.mark.parametrize("one", [cloth(4, 3), cube(3), Mesh.from_edges(np.eye(3), [[0, 1], [1, 2]])])
def test_topology_is_that_of_the_joined_elements(one):
    other = one.transformed(translate=(3, 0, 0))
    mesh = join([one, other, one.transformed(scale=2.0, translate=(9, 0, 0))])
    elements = next(x for x in (mesh.tets, mesh.triangles, mesh.lines) if len(x))
    np.testing.assert_array_equal(mesh.edges, unique_edges(elements))
    np.testing.assert_array_equal(mesh.hinges, hinges_of(mesh.triangles))
    if mesh.is_volumetric:
        np.testing.assert_array_equal(mesh.triangles, boundary_of_tets(mesh.tets))
    assert (mesh.edges.dtype, mesh.hinges.dtype) == (np.int32, np.int32)
    assert not mesh.edges.flags.writeable
    assert not mesh.hinges.flags.writeable


def test_topology_of_copies_is_found_once(monkeypatch):
    """A hundred copies cost one sort of one copy's edges, and moving the whole costs none."""
    from vivace.mesh import topology

    asked = []
    find = topology.unique_edges
    monkeypatch.setattr(topology, "unique_edges", lambda elements: asked.append(len(elements)) or find(elements))
    one = torus(segments=5, rings=1)
    mesh = join(one.transformed(translate=(k, 0, 0)) for k in range(100))
    assert len(mesh.transformed(translate=(0, 1, 0)).edges) == 100 * len(one.edges)
    assert asked == [len(one.tets)] * 2  # once for the copies, once for the original above


def test_repairs_are_kept_with_the_number_of_their_part():
    square = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.0]])
    mended = Mesh.from_triangles(square, [[0, 1, 2], [1, 3, 2], [2, 0, 1]], repair=True)
    assert join([cloth(2, 2), mended]).repairs == ("1: removed 1 duplicate triangles",)


def test_what_cannot_be_joined():
    with pytest.raises(InputError, match="nothing to join: give at least one mesh"):
        join([])
    with pytest.raises(InputError, match=r"only meshes can be joined; part 1 is 'cube'"):
        join([cube(2), "cube"])
    with pytest.raises(InputError, match=r"part 1, 'cube', is made of tetrahedra, and part 0, 'cloth', of triangles"):
        join([cloth(2, 2), cube(2)])


def test_torus_by_section():
    """V = S (k + m), T = 3 S (k + 2 m - 2), and E = V + S k + T by Euler, with rings of m and k in S segments."""
    mesh = torus(0.25, 0.1, segments=44, section=(5, 16))
    assert (mesh.n_vertices, len(mesh.tets), len(mesh.edges)) == (924, 3168, 924 + 704 + 3168)
    assert (len(mesh.select("surface")), len(mesh.select("core"))) == (44 * 16, 44 * 5)
    np.testing.assert_array_equal(np.unique(mesh.triangles), mesh.select("surface"))
    # [fratarcangeli2013, Tab. 1, s2]: 91K particles, 493K stretch and 313K tetrahedral constraints for 100 tori.
    for count, paper in ((mesh.n_vertices, 910), (len(mesh.edges), 4930), (len(mesh.tets), 3130)):
        assert abs(count / paper - 1) < 0.03
    assert tet_quality(mesh.vertices, mesh.tets).min() > 0.4
    by_rings, by_section = torus(rings=2), torus(section=(1, 6, 12))
    np.testing.assert_array_equal(by_section.vertices, by_rings.vertices)
    np.testing.assert_array_equal(by_section.tets, by_rings.tets)


@pytest.mark.parametrize("section", [(), (2, 6), (1,), (6, 5), (0, 5), (3.5, 6)])
def test_sections_that_are_none(section):
    with pytest.raises(InputError, match="section"):
        torus(section=section)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("surface", [100, 300, 1400])
def test_rabbit_is_a_body_with_few_vertices_inside(surface, seed):
    mesh = rabbit(surface, height=0.5, seed=seed)
    assert (np.unique(mesh.triangles) == mesh.select("surface")).all()
    assert len(mesh.select("surface")) == surface
    assert surface / 10 <= mesh.n_vertices - surface <= surface / 7 + 10
    # One closed surface without a hole: V - E + F = 2, so F = 2 V - 4.
    assert len(mesh.triangles) == 2 * surface - 4
    assert len(boundary_edges(mesh.triangles)) == len(nonmanifold_edges(mesh.triangles)) == 0
    assert connected_components(mesh.n_vertices, mesh.edges)[0] == 1
    assert tet_quality(mesh.vertices, mesh.tets).min() > 0.01
    np.testing.assert_allclose(mesh.bounds[:, 1], [0.0, 0.5], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("surface", "tolerance"), [(1402, 0.03), pytest.param(14_002, 0.02, marks=pytest.mark.slow)])
def test_rabbit_has_the_proportions_of_the_paper(surface, tolerance):
    """[fratarcangeli2013, Tab. 1, s1]: 16K particles, 80K stretch, 42K bend and 50K tetrahedral constraints."""
    mesh = rabbit(surface)
    counts = mesh.n_vertices, len(mesh.edges), len(mesh.hinges), len(mesh.tets)
    for count, paper in zip(counts, (16e3, 80e3, 42e3, 50e3), strict=True):
        assert abs(count / (paper * surface / 14_002) - 1) <= tolerance
    if surface == 14_002:
        # The paper needs 64 colours for the springs and 124 for the tetrahedra: those of an inner vertex with 64
        # neighbours, which is in 2·64 - 4 = 124 tetrahedra.
        assert 50 <= np.bincount(mesh.edges.ravel()).max() <= 64


@pytest.mark.slow
def test_rabbit_follows_its_seed():
    first, again, other = (rabbit(200, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.vertices, again.vertices)
    np.testing.assert_array_equal(first.tets, again.tets)
    assert (first.vertices != other.vertices).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"surface": 99}, "surface must be 100 or more, not 99"),
        ({"inner": 2}, "inner must be 10 or more, not 2"),
        ({"height": 0.0}, "height must be a positive"),
        ({"seed": -1}, "the seed must be a whole number from 0 to .*, not -1"),
    ],
)
def test_rabbits_that_are_none(arguments, message):
    with pytest.raises(InputError, match=message):
        rabbit(**arguments)
