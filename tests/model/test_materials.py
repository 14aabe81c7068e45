"""Materials: masses that add up, stiffnesses that mean what they say."""

import numpy as np
import pytest

from vivace import Cloth, InputError, Model, Sheet, Solid, System, Wire, mesh
from vivace.mesh import Mesh
from vivace.model.materials import MATERIALS, default_material

EPS = 2.0**-52


def wire() -> Mesh:
    return Mesh.from_edges([[0.0, 0, 0], [1.0, 0, 0], [1.0, 2.0, 0]], [[0, 1], [1, 2]])


@pytest.mark.slow
def test_masses_add_up_to_density_times_size():
    """Σ m = ρ ∫ dV, to the rounding of a sum; every vertex gets some of it."""
    sheet = mesh.cloth(13, 9, 1.5, 0.8, irregular=True)
    masses = Cloth(density=0.3).masses(sheet)
    assert masses.sum() == pytest.approx(0.3 * 1.5 * 0.8, rel=sheet.n_vertices * EPS)
    assert (masses > 0).all()
    box = mesh.bar(7, 4, 5, (1.0, 0.3, 0.2))
    masses = Solid(density=900.0).masses(box)
    assert masses.sum() == pytest.approx(900 * 0.06, rel=box.n_vertices * EPS)
    assert (masses > 0).all()
    assert Wire(density=0.5).masses(wire()).tolist() == [0.25, 0.75, 0.5]
    body = mesh.body(16)
    assert Solid().masses(body).sum() == pytest.approx(1000 * body.tet_volumes().sum(), rel=body.n_vertices * EPS)


def test_each_element_shares_its_mass_equally():
    triangle = Mesh.from_triangles([[0, 0, 0], [2, 0, 0], [0, 3, 0]], [[0, 1, 2]])
    np.testing.assert_allclose(Cloth(density=1.0).masses(triangle), [1.0, 1.0, 1.0], rtol=4 * EPS)
    tet = Mesh.from_tets([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 6]], [[0, 1, 2, 3]])
    np.testing.assert_allclose(Solid(density=4.0).masses(tet), np.ones(4), rtol=8 * EPS)


def test_cloth_has_a_spring_an_edge_and_a_hinge_a_pair():
    sheet = mesh.cloth(5, 4)
    springs, hinges = Cloth(stretch=123.0, bend=0.5).constraints(sheet)
    assert (len(springs), len(hinges)) == (len(sheet.edges), len(sheet.hinges))
    assert (springs.kind.name, hinges.kind.name) == ("spring", "hinge")
    assert (springs.weights == 123.0).all()
    assert [group.kind.name for group in Cloth(bend=0).constraints(sheet)] == ["spring"]
    ball = mesh.ball(4)
    surface = Mesh.from_triangles(ball.vertices, ball.triangles, repair=True)
    assert Cloth().constraints(surface)[1].kind.name == "curved-hinge"


def test_flatness_does_not_depend_on_place_or_direction():
    sheet = mesh.cloth(6, 6).transformed(rotate=(0.3, -1.0, 0.2), translate=(5.0, 1.0, -2.0))
    assert Cloth().constraints(sheet)[1].kind.name == "hinge"
    stacked = mesh.join([sheet, sheet.transformed(translate=(0.0, 0.1, 0.0))])
    assert Cloth().constraints(stacked)[1].kind.name == "hinge"
    bent = sheet.vertices.copy()
    bent[7] += 1e-3 * np.array([0.1, 0.9, 0.3])
    assert Cloth().constraints(Mesh.from_triangles(bent, sheet.triangles))[1].kind.name == "curved-hinge"


def test_solid_is_linear_elastic_for_small_strains():
    """V = vol (μ ε:ε + λ/2 tr(ε)²) for a homogeneous small strain ε, to O(ε³)."""
    box = mesh.cube(3, 1.0)
    solid = Solid(youngs_modulus=1e4, poisson_ratio=0.3)
    mu, lam = solid.lame
    assert mu == pytest.approx(1e4 / 2.6)
    assert lam == pytest.approx(1e4 * 0.3 / (1.3 * 0.4))
    system = System(Model.of(box, solid), 1 / 30)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-4):
        strain = rng.normal(size=(3, 3))
        strain = size * (strain + strain.T) / 2
        exact = mu * np.sum(strain**2) + lam / 2 * np.trace(strain) ** 2
        # third order: at most a few ‖ε‖ relative, with the moduli's ratio
        assert system.potential(box.vertices @ (np.eye(3) + strain)) == pytest.approx(
            exact, rel=10 * np.abs(strain).sum()
        )


def test_rigid_motions_store_nothing():
    """V(R x + t) = 0 to rounding, for every material; the hinge of a flat sheet included."""
    for body, material in (
        (mesh.cloth(5, 5), Cloth()),
        (mesh.cube(3), Solid(poisson_ratio=0.3)),
        (wire(), Wire()),
    ):
        system = System(Model.of(body, material), 1 / 30)
        moved = body.transformed(rotate=(0.4, 1.0, -2.0), translate=(1.0, 2.0, 3.0)).vertices
        stiffest = max(group.weights.max() * np.abs(group.operator).max() ** 2 for group in system.model.groups)
        assert system.potential(moved) <= stiffest * body.n_vertices * 100 * (32 * EPS * np.abs(moved).max()) ** 2 * 16


def test_defaults_by_kind_of_mesh():
    assert isinstance(default_material(mesh.cloth(3, 3)), Cloth)
    assert isinstance(default_material(mesh.cube(2)), Solid)
    assert isinstance(default_material(wire()), Wire)
    hyperelastic = {"corotated", "fung", "mooney-rivlin", "neo-hookean", "stable-neo-hookean", "stvk"}
    assert set(MATERIALS) == {"cloth", "jelly", "sheet", "solid", "wire"} | hyperelastic


def test_poisson_ratio_zero_needs_no_volume_constraints():
    box = mesh.cube(2)
    assert [g.kind.name for g in Solid().constraints(box)] == ["tet-strain"]
    assert [g.kind.name for g in Solid(poisson_ratio=0.2).constraints(box)] == ["tet-strain", "tet-volume"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cloth(density=-1), "Cloth: density must be positive, not -1"),
        (lambda: Cloth(density=0.0), "Cloth: density must be positive, not 0.0"),
        (lambda: Cloth(stretch=float("nan")), "Cloth: stretch must be a finite number, not nan"),
        (lambda: Cloth(stretch=float("inf")), "Cloth: stretch must be a finite number, not inf"),
        (lambda: Cloth(bend=-1e-3), "Cloth: bend must be zero or positive, not -0.001"),
        (lambda: Cloth(stretch="stiff"), "Cloth: stretch must be a finite number, not 'stiff'"),
        (lambda: Cloth(stretch=None), "Cloth: stretch must be a finite number, not None"),
        (lambda: Cloth(stretch=True), "Cloth: stretch must be a finite number, not True"),
        (
            lambda: Cloth(crease=40, bend=0),
            "Cloth: crease = 40 is of what resists bending, and bend is 0; give bend too, or no crease",
        ),
        (
            lambda: Sheet(crease=0.0, bend=0.0),
            "Sheet: crease = 0.0 is of what resists bending, and bend is 0.0; give bend too, or no crease",
        ),
        (lambda: Solid(youngs_modulus=-2e5), "Solid: youngs_modulus must be positive, not -200000.0"),
        (lambda: Solid(poisson_ratio=0.5), "Solid: poisson_ratio must lie in 0 to 0.49, not 0.5"),
        (lambda: Solid(poisson_ratio=-0.1), "Solid: poisson_ratio must be zero or positive, not -0.1"),
        (lambda: Wire(stretch=0), "Wire: stretch must be positive, not 0"),
        (
            lambda: Cloth().masses(wire()),
            "cloth needs triangles, and mesh 'wire' has none; use Wire for edges alone",
        ),
        (
            lambda: Solid().masses(mesh.cloth(3, 3)),
            "a solid needs tetrahedra, and mesh 'cloth' has none; use vivace.mesh.tetrahedralise, or Cloth",
        ),
    ],
)
def test_bad_materials_say_what_is_wrong(make, message):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == message


def test_numpy_numbers_are_numbers():
    assert Cloth(density=np.float32(0.25)).density == 0.25
