"""The contact problem: its matrices are their definitions, and its size is what the thesis counts."""

import numpy as np
import pytest

from vivace import InputError
from vivace.rigid.balls import ball_grid, ball_pile
from vivace.rigid.problem import ContactProblem, frames_of


def random_problem(seed, contacts=12, bodies=6, fixed=2):
    """Contacts between random bodies, some of them several times, some of them immovable."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(bodies, 2, replace=False) for _ in range(contacts)], np.int32)
    pairs[1] = pairs[0][::-1]
    normals = rng.standard_normal((contacts, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    inverse_mass = rng.uniform(0.5, 2.0, bodies)
    root = rng.standard_normal((bodies, 3, 3))
    inverse_inertia = root @ root.transpose(0, 2, 1) + np.eye(3)
    inverse_mass[:fixed], inverse_inertia[:fixed] = 0.0, 0.0
    mu = rng.uniform(0.1, 1.0, contacts)
    return ContactProblem(
        pairs, frames_of(normals), rng.standard_normal((contacts, 2, 3)), rng.standard_normal((contacts, 4)),
        np.column_stack([mu, mu, 2 / 3 * mu]), rng.uniform(0.0, 0.5, contacts), np.zeros(contacts, np.int64),
        inverse_mass, inverse_inertia, points=rng.uniform(-1.0, 1.0, (contacts, 3)),
    )  # fmt: skip


def test_frames_are_right_handed_and_repeat():
    normals = np.random.default_rng(0).standard_normal((50, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    frames = frames_of(normals)
    np.testing.assert_allclose(frames @ frames.transpose(0, 2, 1), np.tile(np.eye(3), (50, 1, 1)), atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(frames), 1.0)
    np.testing.assert_array_equal(frames_of(normals), frames)
    along = frames_of(normals, np.tile([0.3, 1.0, 0.2], (50, 1)))[:, 1]
    assert (along @ [0.3, 1.0, 0.2] > 0).all()
    with pytest.raises(InputError, match="must not be along the normal"):
        frames_of(np.array([[0.0, 1.0, 0.0]]), np.array([[0.0, 2.0, 0.0]]))


def test_rows_of_the_jacobian_are_velocities_of_contact_points():
    """(2.55): v = (v_j + ω_j × r_j) - (v_i + ω_i × r_i), along n, s, t; the spin about n times the radius (2.36)."""
    problem = random_problem(1)
    u = np.random.default_rng(2).standard_normal((problem.bodies, 6))
    found = (problem.jacobian() @ u.ravel()).reshape(-1, 4)
    for k, (i, j) in enumerate(problem.pairs):
        a, b = problem.arms[k]
        v = u[j, :3] + np.cross(u[j, 3:], b) - u[i, :3] - np.cross(u[i, 3:], a)
        np.testing.assert_allclose(found[k, :3], problem.frames[k] @ v)
        assert found[k, 3] == pytest.approx(problem.radii[k] * problem.frames[k, 0] @ (u[j, 3:] - u[i, 3:]))


@pytest.mark.parametrize("seed", range(4))
def test_operator_is_its_definition(seed):
    problem = random_problem(seed)
    jacobian, masses = problem.jacobian().toarray(), problem.inverse_masses().toarray()
    dense = jacobian @ masses @ jacobian.T
    operator = problem.operator()
    np.testing.assert_allclose(operator.toarray(), dense, atol=1e-12)
    np.testing.assert_allclose(problem.diagonal().ravel(), np.diag(dense), atol=1e-12)
    impulses = np.random.default_rng(seed).standard_normal((problem.contacts, 4))
    np.testing.assert_allclose(problem.velocities(impulses).ravel(), masses @ jacobian.T @ impulses.ravel(), atol=1e-12)
    v = problem.contact_velocities(impulses)
    np.testing.assert_allclose(v.ravel(), dense @ impulses.ravel() + problem.b.ravel(), atol=1e-12)


@pytest.mark.parametrize("fixed", [0, 1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_blocks_are_counted_without_making_them(seed, fixed):
    """Corollary 3.2, with several contacts between two bodies; through bodies that do not move nothing depends."""
    problem = random_problem(seed, contacts=20, bodies=7, fixed=fixed)
    blocks = np.abs(problem.operator().toarray()).reshape(20, 4, 20, 4).sum(axis=(1, 3))
    assert problem.nonzero_blocks() == (blocks > 0).sum()


@pytest.mark.parametrize(
    ("size", "bodies", "contacts", "blocks"),
    [
        (8, 513, 1_408, 17_728),
        pytest.param(24, 13_825, 40_320, 757_824, marks=pytest.mark.slow),
        pytest.param(40, 64_001, 188_800, 4_587_840, marks=pytest.mark.slow),
    ],
)
def test_ball_grids_are_those_of_the_thesis(size, bodies, contacts, blocks):
    """Table 3.2; the ground couples the contacts with it there, as if it could move."""
    problem = ball_grid(size)
    assert (problem.bodies, problem.contacts) == (bodies, contacts)
    assert problem.nonzero_blocks(fixed_couple=True) == blocks
    assert problem.nonzero_blocks() < blocks


def test_cannonballs_touch_twelve():
    problem = ball_grid(5, "cannonball")
    gaps = np.linalg.norm(problem.arms, axis=2)
    ground = problem.pairs[:, 0] == 0
    np.testing.assert_allclose(gaps[~ground], 1.0)  # all arms are radii
    degree = np.bincount(problem.pairs.ravel())[1:].reshape(5, 5, 5)
    assert degree[1:-1, 1:-1, 1:-1].min() == degree.max() == 12


def test_pile_is_mostly_single_contacts():
    problem = ball_pile(20)
    assert problem.bodies == 8_001
    assert 0.08 * 8000 < problem.contacts < 0.15 * 8000
    assert problem.nonzero_blocks() < 1.3 * problem.contacts
    np.testing.assert_array_equal(ball_pile(20).b, problem.b)
    assert ball_pile(20, seed=1).contacts != problem.contacts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pairs": np.array([[0, 0]], np.int32)}, "two different bodies"),
        ({"pairs": np.array([[0, 9]], np.int32)}, "there are 2"),
        ({"friction": np.array([[-0.1, 0.1, 0.1]])}, "must not be negative"),
        ({"b": np.array([[np.nan, 0, 0, 0]])}, "b of a contact problem must be finite"),
        ({"inverse_mass": np.array([np.inf, 1.0])}, "inverse_mass of a contact problem must be finite"),
    ],
)
def test_bad_problems_are_refused(change, message):
    parts = {
        "pairs": np.array([[0, 1]], np.int32), "frames": np.eye(3)[None], "arms": np.zeros((1, 2, 3)),
        "b": np.zeros((1, 4)), "friction": np.zeros((1, 3)), "radii": np.zeros(1), "kinds": np.zeros(1, np.int64),
        "inverse_mass": np.ones(2), "inverse_inertia": np.tile(np.eye(3), (2, 1, 1)),
    }  # fmt: skip
    with pytest.raises(InputError, match=message):
        ContactProblem(**{**parts, **change})


@pytest.mark.parametrize("seed", range(4))
def test_passes_over_contacts_are_products_with_its_matrices(seed):
    """J u, its normal rows, Jᵀ λ, W p and the diagonal of J W Jᵀ, which are found without the blocks of J."""
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    jacobian, masses = problem.jacobian().toarray(), problem.inverse_masses().toarray()
    u, impulses = rng.standard_normal((problem.bodies, 6)), rng.standard_normal((problem.contacts, 4))
    through = (jacobian @ u.ravel()).reshape(-1, 4)
    np.testing.assert_allclose(problem.relative(u), through, atol=1e-12)
    np.testing.assert_allclose(problem.approaches(u), through[:, 0], atol=1e-12)
    np.testing.assert_allclose(problem.momenta(impulses).ravel(), jacobian.T @ impulses.ravel(), atol=1e-12)
    np.testing.assert_allclose(problem.accelerated(u).ravel(), masses @ u.ravel(), atol=1e-12)
    diagonal = np.diag(jacobian @ masses @ jacobian.T).reshape(-1, 4)
    np.testing.assert_allclose(problem.diagonal(), diagonal, atol=1e-12)
    root = rng.standard_normal((2, 6, 6))
    held = problem.asking(problem.b, held=(np.array([3, 5]), 1e-6 * root @ root.transpose(0, 2, 1)))
    masses = held.inverse_masses().toarray()
    diagonal = np.diag(jacobian @ masses @ jacobian.T).reshape(-1, 4)
    np.testing.assert_allclose(held.diagonal(), diagonal, rtol=1e-9, atol=1e-18)


def test_asking_for_something_else_leaves_the_contacts():
    problem = random_problem(0)
    b = np.ones_like(problem.b)
    other = problem.smooth(b)
    assert other.b is b
    assert not other.friction.any()
    assert other.pairs is problem.pairs
    assert problem.asking(b).friction is problem.friction
    with pytest.raises(InputError, match="b of a contact problem must be finite"):
        problem.asking(np.full_like(b, np.nan))
