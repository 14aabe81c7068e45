"""Creases in simulations: what a strip keeps, states, checkpoints, threads, and scene files."""

import numpy as np
import pytest

import vivace as vv
from vivace import Budget

STRIP = vv.mesh.cloth(21, 4, 0.2, 0.03)
SOLVERS = [("sheet", "vivace"), ("cloth", "vivace"), ("dihedral", "newton"), ("sheet", "newton")]


def material(name, **law):
    if name == "sheet":
        return vv.Sheet(0.2, 1e3, bend=1e-3, **law)
    return vv.Cloth(0.2, 1e3, bend=1e-3, bending="dihedral" if name == "dihedral" else "isometric", **law)


def strip(name, solver, threads=1, iterations=15, **law):
    model = vv.Model.of(STRIP, material(name, **law), gravity=(0, 0, 0), air=20.0)
    return vv.Simulation(
        model, solver=solver, budget=Budget(iterations=iterations), time_step=1 / 60, substeps=2, threads=threads
    )


def curved(curvature):
    x = STRIP.vertices
    angle = curvature * x[:, 0]
    return np.stack([np.sin(angle) / curvature, (1 - np.cos(angle)) / curvature, x[:, 2]], axis=1)


def curvature(x):
    """The mean turn of the strip's edges along x over their length."""
    order = np.lexsort((STRIP.vertices[:, 0], STRIP.vertices[:, 2]))
    lines = x[order].reshape(4, 21, 3)
    d = np.diff(lines, axis=1)
    length = np.linalg.norm(d, axis=2)
    t = d / length[..., None]
    turn = np.arccos(np.clip((t[:, 1:] * t[:, :-1]).sum(axis=2), -1, 1))
    return float(turn.sum() / length[:, 1:].sum())


def hinge(crease, hardening, folded):
    """The angle that is left of one hinge that was folded by so much and let go."""
    corners = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0.5], [-1, 0, 0.5]], float)
    leaf = vv.mesh.Mesh(corners, np.array([[0, 1, 2], [1, 0, 3]], np.int32), np.zeros((0, 4), np.int32))
    law = {} if crease is None else {"crease": crease, "hardening": hardening}
    model = vv.Model.of(leaf, vv.Cloth(0.2, 1e4, 10.0, "dihedral", **law), gravity=(0, 0, 0), air=20.0)
    sim = vv.Simulation(model, solver="newton", budget=Budget(iterations=20), time_step=1 / 60, substeps=1)
    start = leaf.vertices.copy()
    start[2:, :2] = [[np.cos(folded / 2), np.sin(folded / 2)], [-np.cos(folded / 2), np.sin(folded / 2)]]
    sim.positions = start
    for _ in range(30):  # then it is at rest to 1e-5 rad
        sim.step()
    x = sim.positions.astype(float)
    arms = [x[k] - x[:2].mean(axis=0) for k in (2, 3)]
    return np.pi - np.arccos(arms[0] @ arms[1] / np.prod(np.linalg.norm(arms, axis=1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("crease", "hardening", "folded"), [(0.5, 0, 1.2), (0.5, 0.5, 1.2), (0.5, 0, 0.3), (None, 0, 1.2)]
)
def test_one_hinge_keeps_the_angle_of_the_law(crease, hardening, folded):
    """(θ - θ_y)/(1 + H), θ_y = κ_y (A₁ + A₂)/l: here the area is 1 m² and the edge 1 m; nothing below θ_y."""
    expected = 0.0 if crease is None else max(0.0, (folded - crease) / (1 + hardening))
    assert hinge(crease, hardening, folded) == pytest.approx(expected, abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "multigrid", "lbfgs(multigrid)", "direct"])
def test_projective_solvers_know_what_has_flowed(solver):
    """As above; a strip of hinges, by solvers that hold parameters in orders of their own."""
    sim = strip("cloth", solver, iterations=60, crease=5.0, hardening=0.5)
    sim.positions = curved(14.0)
    for _ in range(60):
        sim.step()
    assert curvature(sim.positions) == pytest.approx(6.0, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sheet", "cloth", "dihedral"])
def test_a_strip_bent_over_a_radius_and_let_go_keeps_its_crease(name):
    """(1/r - κ_y)/(1 + H), as closely as the mesh tells a curvature; without `crease` it is flat again."""
    law = {"crease": 5.0, "hardening": 0.5}
    for given, wanted in ((law, (14.0 - 5.0) / 1.5), ({}, 0.0)):
        sim = strip(name, "newton", **given)
        sim.positions = curved(14.0)
        for _ in range(25):
            sim.step()
        assert curvature(sim.positions) == pytest.approx(wanted, rel=0.03, abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "solver"), SOLVERS)
def test_below_the_yield_two_yields_move_alike_bit_for_bit(name, solver):
    """And as cloth without creases does, as closely as rounding and a few sweeps allow."""
    runs = []
    for law in ({"crease": 60.0}, {"crease": 1e4, "hardening": 2.0, "creep": 0.1}, {}):
        sim = strip(name, solver, iterations=60, **law)
        sim.positions = curved(5.0)
        for _ in range(4 if solver == "newton" else 10):
            sim.step()
        runs.append(sim.positions)
    assert runs[0].tobytes() == runs[1].tobytes()
    np.testing.assert_allclose(runs[0], runs[2], atol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "solver"), SOLVERS)
def test_a_resumed_run_and_two_threads_have_the_same_bits(name, solver, tmp_path):
    law = {"crease": 3.0, "hardening": 0.2, "creep": 0.02}
    ends = []
    for threads in (1, 2):
        sim = strip(name, solver, threads, **law)
        sim.positions = curved(14.0)
        for _ in range(4):
            sim.step()
        state = sim.state
        sim.save(tmp_path / "half.npz")
        for _ in range(4):
            sim.step()
        ends.append((sim.positions.tobytes(), {k: a.tobytes() for k, a in sim.state.memory.items()}))
    assert ends[0] == ends[1]
    assert any(key.startswith("creases.") for key in ends[0][1])

    again = strip(name, solver, **law)
    again.state = state
    resumed = vv.load(tmp_path / "half.npz")
    for other in (again, resumed):
        for _ in range(4):
            other.step()
        assert other.positions.tobytes() == ends[0][0]
        assert {k: a.tobytes() for k, a in other.state.memory.items()} == ends[0][1]


def test_the_model_stays_and_a_creased_one_can_be_had():
    """The creases are the simulation's; `creased` gives a model that begins with them."""
    sim = strip("sheet", "vivace", crease=0.0)
    before = [group.parameters.copy() for group in sim.model.groups]
    sim.positions = curved(10.0)
    made = sim.creased()
    for group, was in zip(sim.model.groups, before, strict=True):
        np.testing.assert_array_equal(group.parameters, was)
    plates = next(group for group in made.groups if group.kind.name == "creased-plate")
    np.testing.assert_allclose(plates.parameters[:, 0], 10.0, rtol=0.02)
    np.testing.assert_allclose(plates.parameters[:, 1:3], 0.0, atol=0.05)


def test_creases_stay_when_the_model_is_exchanged():
    sim = strip("sheet", "vivace", crease=0.0)
    sim.positions = curved(10.0)
    sim.step()
    kept = sim.state.memory["creases.0"]
    sim.replace_model(sim.model.stiffened(2.0))
    np.testing.assert_array_equal(sim.state.memory["creases.0"], kept)
    sim.model = strip("sheet", "vivace", crease=0.0).model
    assert not sim.state.memory["creases.0"][:, :3].any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sheet", "cloth", "dihedral"])
@pytest.mark.parametrize("solver", ["pbd", "pbd-jacobi", "pbd-coloured", "pbd-vivace", "chebyshev(pbd-jacobi)"])
def test_position_based_solvers_refuse_creases(name, solver):
    """Their iterations are far from converged, and what they bend too far would stay; before anything has moved."""
    sim = strip(name, solver, crease=5.0)
    before = sim.positions
    assert "would keep that as a crease" in sim.solver.why_not(sim.model)
    with pytest.raises(vv.InputError, match=r"position based dynamics does not take .*creased.*choose solver=\"auto\""):
        sim.step()
    np.testing.assert_array_equal(sim.positions, before)
    assert sim.frames == 0
    assert strip(name, solver).step().finite


def test_creases_by_the_angle_are_for_newton():
    with pytest.raises(vv.InputError, match=r"'creased-dihedral' .* choose newton"):
        strip("dihedral", "vivace", crease=5.0).step()


@pytest.mark.slow
def test_a_hardened_fold_yields_beside_itself_when_it_is_let_go_and_not_when_it_is_opened():
    """A fold that has hardened bends by κ_y + H α what is beside it, which yields at κ_y; the fold itself does not."""
    x, closed, law = STRIP.vertices, 50.0, {"crease": 10.0, "hardening": 1.0}
    inside = np.abs(x[STRIP.triangles, 0].mean(axis=1)) < 0.03

    def bent(curvature):
        turn, s = curvature * np.clip(x[:, 0], -0.03, 0.03), x[:, 0]
        beyond = s - np.clip(s, -0.03, 0.03)
        along = np.sin(turn) / curvature + beyond * np.cos(turn)
        return np.stack([along, (1 - np.cos(turn)) / curvature + beyond * np.sin(turn), x[:, 2]], axis=1)

    def turns(sim):
        plates = sim.creased().groups[1]
        angle = STRIP.triangle_areas() * plates.parameters[:, 0] / 0.03
        return angle[inside].sum(), angle[~inside].sum()

    opened, free = strip("sheet", "newton", **law), strip("sheet", "newton", **law)
    for curvature in np.linspace(closed, (closed - 10.0) / 2, 20):
        opened.positions = bent(curvature)
    free.positions = bent(closed)
    first = turns(free)
    assert turns(opened) == pytest.approx(first, rel=0.02)
    for _ in range(30):
        free.step()
    print(first, turns(opened), turns(free))
    assert turns(free)[0] == pytest.approx(first[0], rel=0.02)
    assert turns(free)[1] > first[1] + 0.02


def test_copies_of_a_state_share_no_creases():
    sim = strip("sheet", "vivace", crease=1.0)
    sim.positions = curved(14.0)
    state = sim.state
    other, kept = state.copy(), state.memory["creases.0"].tobytes()
    other.memory["creases.0"][:] = 0.0
    sim.positions = curved(30.0)
    assert state.memory["creases.0"].tobytes() == kept
    sim.state = state
    assert sim.state.memory["creases.0"].tobytes() == kept
    assert sim.creased().groups[1].parameters[:, :7].tobytes() == kept


def test_states_of_other_creases_are_refused():
    sim = strip("sheet", "vivace", crease=1.0)
    state = sim.state
    state.memory["creases.0"] = state.memory["creases.0"][:3]
    with pytest.raises(vv.InputError, match=r"creases 0 of the state must be finite numbers of shape"):
        sim.state = state


def test_a_refused_model_changes_nothing():
    sim = vv.Simulation(vv.Model.of(STRIP, vv.Cloth()), integrator="bdf2")
    before = sim.model
    with pytest.raises(vv.InputError, match=r"bdf2.*creases"):
        sim.model = vv.Model.of(STRIP, vv.Cloth(crease=1.0), gravity=(0, 0, -1))
    assert sim.model is before
    assert sim.creased() is before
    np.testing.assert_array_equal(sim.gravity, before.gravity)


def test_creases_are_those_of_another():
    sim, other = strip("sheet", "vivace", crease=1.0), strip("sheet", "vivace", crease=1.0)
    sim.positions = curved(14.0)
    other.crease_like(sim.creased())
    np.testing.assert_array_equal(other.state.memory["creases.0"], sim.state.memory["creases.0"])
    with pytest.raises(vv.InputError, match="takes a Model with its own"):
        other.crease_like(vv.Model.of(vv.mesh.cloth(3, 3), vv.Cloth()))


def test_bdf2_is_refused():
    with pytest.raises(vv.InputError, match=r"bdf2.*creases"):
        vv.Simulation(vv.Model.of(STRIP, vv.Cloth(crease=1.0)), integrator="bdf2")


def test_scene_files_and_parameters_have_creases(tmp_path):
    """[material] crease, and --set crease=... of the tablecloth."""
    path = tmp_path / "paper.toml"
    path.write_text(
        '[mesh]\ngenerator = "cloth"\nnx = 5\nny = 5\n'
        '[material]\nkind = "sheet"\ncrease = 30.0\nhardening = 0.1\ncreep = 0.05\n'
    )
    plates = vv.load_scene(path).model.groups[1]
    assert plates.kind.name == "creased-plate"
    np.testing.assert_array_equal(plates.parameters[:, 7:], np.tile([30.0, 0.1, 0.05], (len(plates), 1)))
    for name, kind in (("cloth", "creased-hinge"), ("sheet", "creased-plate")):
        made = vv.load_scene("tablecloth", resolution=5, material=name, crease=20.0).model
        assert [group.kind.name for group in made.groups][1] == kind
    assert [group.kind.name for group in vv.load_scene("tablecloth", resolution=5).model.groups][1] == "hinge"
