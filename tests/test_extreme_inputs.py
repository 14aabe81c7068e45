"""What is accepted is fit to be simulated: numbers of every size are refused, or the steps that follow are finite."""

import numpy as np
import pytest

from vivace import Budget, Cloth, InputError, Model, Simulation, Solid, VivaceError, collisions, mesh

SHEET, CUBE = mesh.cloth(4, 4), mesh.cube(3)
NUMBERS = [0.0, float("nan"), 1e-320, *(10.0**k for k in (-39, -30, -20, -12, -6, 6, 9, 15, 20, 30, 37)), 1e300]
SOLVERS = ("auto", "vivace", "pbd-coloured")


def made(what, value):
    """A model in which `what` is `value`."""
    kind, _, name = what.partition(".")
    if kind == "Cloth":
        return Model.of(SHEET, Cloth(**{name: value})).pin("top-corners")
    if kind == "Solid":
        return Model.of(CUBE, Solid(**{name: value})).pin("top")
    if kind == "free":
        return Model.of(SHEET, Cloth(**{name: value}))
    if kind == "pin":
        return Model.of(SHEET).pin("top-corners", stiffness=value)
    if kind == "size":
        return Model.of(SHEET.transformed(scale=value)).pin("top-corners")
    if kind == "collide":
        options = {"thickness": 0.01, "itself": False, name: value}
        return Model.of(SHEET).collide([collisions.Plane((0, -0.02, 0))], **options)
    return Model.of(SHEET, **{name: (0, value, 0) if name == "gravity" else value}).pin("top-corners")


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "what",
    [
        *("Cloth.density", "Cloth.stretch", "Cloth.bend", "free.density", "free.stretch", "free.bend"),
        *("Solid.density", "Solid.youngs_modulus", "pin", "size", "Model.gravity", "Model.air", "Model.viscosity"),
        *("collide.thickness", "collide.friction", "collide.stiffness", "collide.sleep"),
    ],
)
def test_models_that_are_accepted_stay_finite(what, solver):
    options = {"solver": solver, "budget": Budget(iterations=3), "threads": 1}
    lost = []
    for value in NUMBERS:
        lost += trouble(outcome(lambda v=value: Simulation(made(what, v), **options)), f"{what} = {value!r}")
    assert not lost


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("what", ["positions", "velocities", "targets", "gravity", "wind", "time_step", "forces"])
def test_states_that_are_accepted_stay_finite(what, solver):
    random, lost = np.random.default_rng(0), []
    for value in NUMBERS:
        model = Model.of(SHEET).pin("top-corners")
        sim = Simulation(model, solver=solver, budget=Budget(iterations=3), threads=1)
        rows = value * random.normal(size=(len(sim.targets) if what == "targets" else 16, 3))
        given = value if what == "time_step" else rows[0] if what in ("gravity", "wind") else rows
        change = sim.apply_forces if what == "forces" else lambda v, sim=sim: setattr(sim, what, v)
        error = outcome(change, given)
        lost += trouble(error if isinstance(error, Exception) else sim, f"{what} = {value!r}")
    assert not lost


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda sim: setattr(sim, "positions", np.full((16, 3), 1e30)), r"positions must lie within 1e\+06 m of zero"),
        (
            lambda sim: setattr(sim, "targets", np.full((2, 3), -1e7)),
            r"targets must lie within 1e\+06 m of zero; vertex 0",
        ),
        (
            lambda sim: setattr(sim, "velocities", np.full((16, 3), 1e37)),
            r"velocities must lie within 3e\+07 m/s of zero",
        ),
        (lambda sim: setattr(sim, "gravity", (0, 1e38, 0)), r"gravity must lie within 1e\+12 m/s² of zero: 1e\+38"),
        (
            lambda sim: setattr(sim, "gravity", (0, 1e11, 0)),
            r"would move a vertex by 1.11e\+08 m in a time step of 0.0333",
        ),
        (lambda sim: setattr(sim, "time_step", 1e5), r"would move a vertex by 9.81e\+10 m in a time step of 100000 s"),
        (lambda sim: setattr(sim, "wind", (1e30, 0, 0)), r"wind must lie within 1e\+09 m/s of zero"),
        (lambda sim: sim.apply_forces(np.full((16, 3), 1e30)), r"forces would move a vertex by .* room for 1e\+06 m"),
        (lambda sim: sim.grab(3, (0, 0, 1e30)), r"target must lie within 1e\+06 m of zero"),
        (
            lambda sim: setattr(sim, "positions", np.zeros((16, 3)) + 1j),
            r"positions must be numbers of shape \(16, 3\)",
        ),
    ],
)
def test_a_simulation_refuses_with_the_bound_and_is_as_it_was(change, message):
    sim = Simulation(Model.of(SHEET).pin("top-corners"), solver="vivace", budget=Budget(iterations=2), threads=1)
    twin = Simulation(Model.of(SHEET).pin("top-corners"), solver="vivace", budget=Budget(iterations=2), threads=1)
    with pytest.raises(InputError, match=message):
        change(sim)
    assert (sim.time_step, sim.grabbed) == (twin.time_step, ())
    for name in ("positions", "velocities", "targets", "gravity", "wind"):
        np.testing.assert_array_equal(getattr(sim, name), getattr(twin, name))
    sim.step(), twin.step()
    np.testing.assert_array_equal(sim.positions, twin.positions)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Model.of(SHEET, Cloth(density=1e-300)),
            r"vertex 0 has a mass of .*e-302 kg .* between 1e-30 and 1e\+30 kg",
        ),
        (
            lambda: Model.of(SHEET, Cloth(stretch=1e300)),
            r"Cloth: stretch must be at most 1e\+30, so that float32 holds it",
        ),
        (lambda: Model.of(SHEET, gravity=(0, 1e38, 0)), r"gravity must lie within 1e\+12 m/s² of zero: 1e\+38"),
        (lambda: Model.of(SHEET).pin("top", target=(0, 1e30, 0)), r"pin targets must lie within 1e\+06 m of zero"),
        (lambda: SHEET.transformed(translate=(1e30, 0, 0)), r"vertices must lie within 1e\+06 m of zero; vertex 0"),
        (lambda: collisions.Sphere((0, 1e30, 0), 1.0), r"centre must lie within 1e\+06 m of zero"),
        (lambda: collisions.Sphere((0, 0, 0), 1e30), r"radius must be at most 1e\+06 m"),
    ],
)
def test_a_model_refuses_with_the_bound(make, message):
    with pytest.raises(InputError, match=message):
        make()


def outcome(call, *arguments):
    """What a call returns, or raises."""
    try:
        return call(*arguments)
    except Exception as error:
        return error


def trouble(sim, what):
    """What is wrong with the steps of a simulation, in a list; nothing if it is refused with an error of ours."""
    for _ in range(4):
        report = sim if isinstance(sim, Exception) else outcome(sim.step)
        if isinstance(report, Exception):
            return [] if isinstance(report, VivaceError) else [f"{what}: {report!r}"]
        if not report.finite or not np.isfinite(sim.velocities).all():
            return [f"{what}: not finite"]
    return []
