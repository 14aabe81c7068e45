"""Solvers of contact problems: they find what the laws of contact ask for, all schemes alike, whatever the threads."""

from itertools import pairwise

import numpy as np
import pytest

from rigid.test_problem import random_problem
from vivace import InputError, UnknownNameError
from vivace.rigid.balls import ball_grid, ball_pile
from vivace.rigid.problem import ContactProblem
from vivace.rigid.proximal import Disc
from vivace.solvers.rigid import CONTACT_SOLVERS, Factorised, TScheme, make_contact_solver, quality, scheme_for
from vivace.solvers.rigid.rates import rates_of


def legal_friction(rng, mu, normal, count=200):
    """Random impulses of the friction disc and the interval of spin."""
    angle, size = rng.uniform(0, 2 * np.pi, count), np.sqrt(rng.random(count))
    plane = mu * normal * size * np.array([np.cos(angle), np.sin(angle)])
    return np.vstack([plane, 2 / 3 * mu * normal * rng.uniform(-1, 1, count)]).T


@pytest.mark.parametrize(
    "solver", ["gauss-seidel", "jacobi", "coloured", "contact-sets", "coloured:merged=1000", "rescaled"]
)
@pytest.mark.parametrize("seed", range(3))
def test_answers_satisfy_the_laws_of_contact(solver, seed):
    """Complementarity (2.23), (2.25) and maximum dissipation (2.34), as variational inequalities."""
    problem = random_problem(seed, contacts=10, bodies=8)
    found = make_contact_solver(solver).solve(problem, 20_000, tolerance=1e-13, threads=1).impulses
    v = problem.contact_velocities(found)
    rng = np.random.default_rng(seed)
    assert (found[:, 0] >= 0).all()
    for k in range(problem.contacts):
        normal, mu = found[k, 0], problem.friction[k, 0]
        assert v[k, 0] > -1e-8
        for other in (0.0, 0.5 * normal, 2 * normal + 1):
            assert (other - normal) * v[k, 0] > -1e-8
        assert np.hypot(*found[k, 1:3]) <= mu * normal * (1 + 1e-12)
        for legal in legal_friction(rng, mu, normal):
            assert (legal - found[k, 1:]) @ v[k, 1:] > -1e-7


@pytest.mark.parametrize("solver", ["gauss-seidel", "jacobi", "coloured", "coloured:merged=100,fixed=true"])
def test_schemes_make_the_same_iterates(solver):
    """λ - R (A λ + b) by the bodies, by rows of A, and by rows of T."""
    problem = ball_grid(4)
    found = {}
    for scheme in ("factorised", "naive", "t"):
        name = solver + ("," if ":" in solver else ":") + f"scheme={scheme}"
        found[scheme] = make_contact_solver(name).solve(problem, 15, threads=1)
    for scheme in ("naive", "t"):
        np.testing.assert_allclose(found[scheme].impulses, found["factorised"].impulses, atol=1e-12)
        np.testing.assert_allclose(found[scheme].residuals, found["factorised"].residuals, atol=1e-12)


def test_gauss_seidel_is_its_definition():
    """(3.8), one contact after the other, in plain Python."""
    problem = random_problem(5, contacts=9, bodies=6)
    dense, rates = problem.operator().toarray(), rates_of(problem, "local")[:, [0, 1, 1, 2]]
    expected = np.zeros((9, 4))
    for _ in range(7):
        for k in range(9):
            z = expected[k] - rates[k] * (dense[4 * k : 4 * k + 4] @ expected.ravel() + problem.b[k])
            expected[k, 0] = max(z[0], 0.0)
            expected[k, 1:] = Disc(problem.friction[k, 0]).project(z[None, 1:], expected[k, 0])[0]
    found = make_contact_solver("gauss-seidel:growth=100").solve(problem, 7).impulses
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_jacobi_inside_a_set_sees_the_same_velocities():
    """A box that lands flat: four equal impulses after one iteration, and no turn [thesis2010, figure 3.1]."""
    problem = box_on_ground()
    found = make_contact_solver("contact-sets").solve(problem, 1).impulses
    np.testing.assert_allclose(found[:, 0], found[0, 0])
    np.testing.assert_allclose(problem.velocities(found)[1, 3:], 0.0, atol=1e-15)
    turned = make_contact_solver("gauss-seidel").solve(problem, 1).impulses
    assert np.abs(problem.velocities(turned)[1, 3:]).max() > 1e-3


def test_factors_inside_a_set_are_bound_by_its_coupling():
    """No larger than 1.5 ÷ Σ |A_ij| over the contacts of the set, nor than 1 ÷ A_ii; by the matrix itself."""
    problem = random_problem(2, contacts=14, bodies=5, fixed=1)
    solver = make_contact_solver("contact-sets")
    order = solver.arrange(problem)
    scheme = Factorised(problem, order, rates_of(problem, "local"), None)
    solver.iteration(scheme)
    rows = scheme.arrays["rows"].reshape(-1, 24)[:, 16:19]
    blocks = np.abs(problem.operator().toarray()).reshape(14, 4, 14, 4)
    sets = np.sort(problem.pairs, axis=1)
    for place, k in enumerate(order):
        same = (sets == sets[k]).all(axis=1)
        sums = blocks[k][:, same].sum(axis=(1, 2))
        diagonal = problem.diagonal()[k]
        for row, axes in enumerate(([0], [1, 2], [3])):
            bound = min(1.5 / sums[axes].max(), 1.0 / diagonal[axes].max()) if sums[axes].max() > 0 else 0.0
            assert rows[place, row] == pytest.approx(bound)


def box_on_ground():
    """A cube of 1 kg that has fallen for a hundredth of a second, on four corners."""
    problem = random_problem(0, contacts=4, bodies=2, fixed=1)
    corners = np.array([[x, -0.5, z] for x in (-0.5, 0.5) for z in (-0.5, 0.5)])
    problem.pairs[:] = [0, 1]
    problem.frames[:] = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    problem.arms[:, 0], problem.arms[:, 1] = corners + np.array([0, 0.5, 0]), corners
    problem.b[:] = [-0.0981, 0, 0, 0]
    problem.friction[:], problem.radii[:] = 0.5, 0.0
    problem.inverse_mass[1], problem.inverse_inertia[1] = 1.0, 6.0 * np.eye(3)
    return problem


@pytest.mark.parametrize("name", [*CONTACT_SOLVERS, "coloured:balance=true", "coloured:merged=200,fixed=true"])
def test_threads_do_not_change_a_bit(name):
    problem = ball_grid(10)
    one, two, three = (make_contact_solver(name).solve(problem, 6, threads=n).impulses for n in (1, 2, 3))
    np.testing.assert_array_equal(two, one)
    np.testing.assert_array_equal(three, one)


def test_colours_are_safe_and_few():
    """Fixed bodies do not make contacts depend on each other (4.3.1): a grid of balls needs no more than seven."""
    problem = ball_grid(12)
    solver = make_contact_solver("coloured")
    order = solver.arrange(problem)
    bounds = np.concatenate([[0], np.cumsum(solver.colours)])
    assert len(solver.colours) <= 7
    assert not solver.unsafe
    for begin, end in pairwise(bounds):
        touched = problem.pairs[order[begin:end]].ravel()
        moving = touched[problem.movable[touched]]
        assert len(np.unique(moving)) == len(moving)
    as_in_the_thesis = make_contact_solver("coloured:fixed=true")
    as_in_the_thesis.arrange(problem)
    assert len(as_in_the_thesis.colours) >= 144  # every ball on the ground has a colour of its own


@pytest.mark.slow
def test_medium_ball_grid_has_seven_colours_at_most():
    solver = make_contact_solver("coloured")
    solver.arrange(ball_grid(24))
    assert len(solver.colours) <= 7


def test_small_colours_are_merged_into_an_unsafe_one_at_the_end():
    problem = ball_grid(8)
    solver = make_contact_solver("coloured:merged=100,fixed=true")
    found = solver.solve(problem, 5)
    assert found.unsafe
    assert (found.colours[:-1] >= 100).all()
    assert found.colours.sum() == problem.contacts


def test_gauss_seidel_needs_fewer_iterations_than_jacobi():
    """The order of Table 3.3: the quality of 50 iterations of Gauss-Seidel takes Jacobi more than 50."""
    problem = ball_grid(8)
    goal = quality(problem, make_contact_solver("gauss-seidel").solve(problem, 50).impulses)
    jacobi = [quality(problem, make_contact_solver("jacobi").solve(problem, n).impulses) for n in (50, 60, 100)]
    assert jacobi[0] > goal
    assert jacobi[0] > jacobi[1] > jacobi[2]


def test_quality_is_its_definition():
    problem = random_problem(7)
    impulses = np.abs(np.random.default_rng(0).standard_normal((problem.contacts, 4)))
    z = impulses - 100.0 * problem.contact_velocities(impulses)
    normal = np.maximum(z[:, 0], 0.0)
    friction = [
        Disc(mu).project(row[None], n)[0] for mu, row, n in zip(problem.friction[:, 0], z[:, 1:], normal, strict=True)
    ]
    expected = 0.5 * np.sum((np.column_stack([normal, friction]) - impulses) ** 2)
    assert quality(problem, impulses) == pytest.approx(expected)


@pytest.mark.parametrize("scheme", ["factorised", "naive", "t"])
def test_divergence_is_taken_back(scheme):
    """r-factors that are too large are halved until the iteration converges; the schemes agree on how (3.17)."""
    problem = ball_grid(4)
    good = make_contact_solver("jacobi").solve(problem, 4000, tolerance=1e-12)
    solver = make_contact_solver(f"jacobi:scheme={scheme},r=1.5,growth=1.5")
    found = solver.solve(problem, 4000, tolerance=1e-12)
    assert 1 <= found.tries <= 5
    np.testing.assert_allclose(problem.velocities(found.impulses), problem.velocities(good.impulses), atol=1e-6)
    lost = make_contact_solver(f"jacobi:scheme={scheme},r=1.5,growth=1e300").solve(problem, 100)
    assert not lost.residuals[-1] < lost.residuals[0]


@pytest.mark.slow
def test_a_partition_has_fewer_bodies_between_its_parts():
    """By METIS; and with fewer of them, an iteration is nearer to sequential Gauss-Seidel's."""
    pytest.importorskip("pymetis")
    problem = ball_grid(8)
    shared, left = {}, {}
    for partition in ("order", "metis"):
        solver = make_contact_solver(f"naive-parallel:partition={partition},parts=6")
        order = solver.arrange(problem)
        assert sorted(order.tolist()) == list(range(problem.contacts))
        bounds = solver._bounds
        parts = [set(problem.pairs[order[a:b]].ravel().tolist()) - {0} for a, b in pairwise(bounds)]
        shared[partition] = sum(len(part) for part in parts) - len(set().union(*parts))
        left[partition] = quality(problem, solver.solve(problem, 50).impulses)
        np.testing.assert_array_equal(solver.solve(problem, 5).impulses, solver.solve(problem, 5, threads=1).impulses)
    assert shared["metis"] < 1.2 * shared["order"]
    assert left["metis"] < 1.5 * left["order"]


def test_messages_bring_the_same_bits():
    problem = ball_grid(6)
    plain = make_contact_solver("naive-parallel").solve(problem, 10)
    found = make_contact_solver("message-passing").solve(problem, 10, threads=2)
    np.testing.assert_array_equal(found.impulses, plain.impulses)
    np.testing.assert_array_equal(found.residuals, plain.residuals)
    soon = make_contact_solver("message-passing").solve(problem, 1000, tolerance=0.01)
    assert soon.iterations < 1000
    assert soon.residuals[-1] <= 0.01


def test_acceleration_leaves_in_fifty_iterations_a_hundredth_of_what_sweeps_do_in_a_hundred():
    problem = ball_grid(8)
    fast = quality(problem, make_contact_solver("anderson").solve(problem, 50).impulses)
    slow = quality(problem, make_contact_solver("contact-sets").solve(problem, 100).impulses)
    assert fast < 0.01 * slow


def test_a_start_at_the_answer_stays_there():
    problem = ball_grid(4)
    solver = make_contact_solver("contact-sets")
    answer = solver.solve(problem, 5000, tolerance=1e-13).impulses
    again = solver.solve(problem, 3, start=answer)
    assert again.residuals[0] < 1e-12
    cold = solver.solve(problem, 3)
    assert cold.residuals[-1] > 1e-3


def test_auto_takes_the_scheme_with_less_to_do():
    """N > 6 K: by the bodies [thesis2010, 3.4.3]."""
    assert scheme_for(ball_grid(8), "auto") is Factorised
    assert scheme_for(ball_pile(10), "auto") is TScheme


def test_global_r_factor_is_that_of_the_spectrum():
    problem = random_problem(3, contacts=4, bodies=6, fixed=1)
    values = np.linalg.eigvalsh(problem.operator().toarray())
    assert rates_of(problem, "global")[0, 0] == pytest.approx(2 / (max(values[0], 0) + values[-1]))
    large = ball_grid(4)
    values = np.linalg.eigvalsh(large.operator().toarray())
    assert rates_of(large, "global")[0, 0] == pytest.approx(2 / (max(values[0], 0) + values[-1]), rel=1e-3)


def test_no_contacts():
    problem = ball_pile(3, chance=0.0)
    assert make_contact_solver("coloured").solve(problem).impulses.shape == (0, 4)
    assert quality(problem, np.zeros((0, 4))) == 0.0


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("gaus-seidel", UnknownNameError, "did you mean 'gauss-seidel'"),
        ("jacobi:omega=2.5", InputError, "omega of a contact solver"),
        ("jacobi:colour=1", InputError, "has no option 'colour'"),
        ("jacobi:scheme=tt", InputError, "unknown scheme 'tt'"),
        ("coloured:merged=-1", InputError, "merged must be a whole number"),
        ("coloured:colouring=gredy", UnknownNameError, "did you mean 'greedy'"),
        ("contact-sets:inside=sor", InputError, "inside must be"),
    ],
)
def test_bad_solvers_are_refused(name, error, message):
    with pytest.raises(error, match=message):
        make_contact_solver(name)


def test_bad_arguments_are_refused():
    problem = ball_grid(2)
    solver = make_contact_solver("jacobi")
    with pytest.raises(InputError, match="iterations must be"):
        solver.solve(problem, 0)
    with pytest.raises(InputError, match="tolerance must be"):
        solver.solve(problem, tolerance=-1.0)
    with pytest.raises(InputError, match="impulses to begin with"):
        solver.solve(problem, start=np.full((problem.contacts, 4), np.nan))
    with pytest.raises(InputError, match="r must be"):
        make_contact_solver("jacobi:r=fast").solve(problem)


@pytest.mark.parametrize("name", ["contact-sets", "coloured", "naive-parallel:parts=3", "gauss-seidel"])
def test_an_order_that_is_kept_is_the_order_of_that_problem(name):
    """A solver that has seen other problems, or the same one with other bodies, gives what a new one gives."""
    first, second = ball_grid(4), ball_grid((5, 3, 4))
    solver = make_contact_solver(name)
    expected = [make_contact_solver(name).solve(p, 5, threads=1).impulses for p in (first, second)]
    np.testing.assert_array_equal(solver.solve(first, 5, threads=1).impulses, expected[0])
    solver.arrange(second)  # as benchmarks do
    again = solver.solve(first, 5, threads=1)
    np.testing.assert_array_equal(again.impulses, expected[0])
    np.testing.assert_array_equal(again.colours, make_contact_solver(name).solve(first, 5).colours)
    np.testing.assert_array_equal(solver.solve(second, 5, threads=1).impulses, expected[1])
    second.pairs[:] = second.pairs[:, ::-1]
    changed = make_contact_solver(name).solve(second, 5, threads=1).impulses
    np.testing.assert_array_equal(solver.solve(second, 5, threads=1).impulses, changed)
    second.inverse_mass[3], second.inverse_inertia[3] = 0.0, 0.0
    fixed = make_contact_solver(name).solve(second, 5, threads=1).impulses
    np.testing.assert_array_equal(solver.solve(second, 5, threads=1).impulses, fixed)


def test_sets_do_not_depend_on_how_contacts_come():
    """Sorted contacts take a shorter way to the same sets: those of equal bodies, one after the other."""
    problem = ball_grid((3, 2, 2))
    twice = np.repeat(np.arange(problem.contacts), 2)
    parts = ("pairs", "frames", "arms", "b", "friction", "radii", "kinds")
    many = {name: getattr(problem, name)[twice] for name in parts}
    own = {"inverse_mass": problem.inverse_mass, "inverse_inertia": problem.inverse_inertia}
    sorted_ones = ContactProblem(**many, **own)
    solver = make_contact_solver("contact-sets")
    order = solver.arrange(sorted_ones)
    begins = solver._starts
    assert len(begins) == problem.contacts + 1
    pairs = sorted_ones.pairs[order]
    assert all((pairs[a:b] == pairs[a]).all() for a, b in pairwise(begins))
    shuffle = np.random.default_rng(0).permutation(len(twice))
    other = ContactProblem(**{name: array[shuffle] for name, array in many.items()}, **own)
    solver = make_contact_solver("contact-sets")
    mixed = other.pairs[solver.arrange(other)]
    np.testing.assert_array_equal(mixed, pairs)
