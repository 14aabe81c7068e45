"""Impulses rescaled smoothly: the small system is its definition, answers stay, a column bears its weight at once."""

import numpy as np
import pytest

from rigid.test_problem import random_problem
from vivace import InputError
from vivace.rigid.balls import GRAVITY, MASS, STEP, ball_grid
from vivace.solvers.rigid import Factorised, make_contact_solver, quality, rescaled
from vivace.solvers.rigid.rates import rates_of
from vivace.solvers.rigid.rescaled import Rescaling


def crowd(seed, held=False):
    """A problem whose bodies are small beside the room they are in, so that there are several hats along each axis."""
    problem = random_problem(seed, contacts=60, bodies=14)
    problem.arms *= 0.02
    rng = np.random.default_rng(seed)
    if held:
        root = rng.standard_normal((2, 6, 6))
        problem.held, problem.held_inverse = np.array([4, 9]), root @ root.transpose(0, 2, 1) + np.eye(6)
    impulses = rng.standard_normal((60, 4))
    impulses[:, 0] = np.abs(impulses[:, 0])
    impulses[rng.random(60) < 0.3] = 0.0
    return problem, impulses


def hats_of(points, cells):
    """(K, hats) weights of hats along one axis after the other, by linear interpolation."""
    out = []
    for x, n in zip(points.T, cells, strict=True):
        t = (x - x.min()) / np.ptp(x) * n
        out.append(np.maximum(1.0 - np.abs(t[:, None] - np.arange(n + 1)), 0.0))
    return np.hstack(out)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("chunk", [4096, 3])
def test_the_small_system_is_its_definition(held, chunk, monkeypatch):
    """(pᵢᵀ A Pⱼ) and pᵢᵀ (A λ + b) with p = φ λₙ and P = φ λ; rescaled impulses λ (1 + Σ μ φ), and w = W Jᵀ λ."""
    monkeypatch.setattr(rescaled, "BODIES", chunk)
    problem, impulses = crowd(3, held)
    order = np.random.default_rng(0).permutation(60)
    scheme = Factorised(problem, order, rates_of(problem, "local"), impulses)
    work = Rescaling(scheme, 5, 2)
    work._assembly.run()
    found = work._sums.sum(axis=0)
    phi = hats_of(problem.points, [5, 5, 5])
    flat, dense = impulses.ravel(), problem.operator().toarray()
    full = np.repeat(phi, 4, axis=0) * flat[:, None]
    normal = full * (np.arange(240) % 4 == 0)[:, None]
    np.testing.assert_allclose(found[:-1], normal.T @ dense @ full, atol=1e-11)
    np.testing.assert_allclose(found[-1], normal.T @ (dense @ flat + problem.b.ravel()), atol=1e-11)
    work.run()
    factors = np.clip(1.0 + phi @ work._factors, 0.0, 4.0)
    assert np.abs(factors - 1.0).max() > 0.05
    np.testing.assert_allclose(scheme.result, factors[:, None] * impulses, atol=1e-12)
    velocities = scheme.w.reshape(-1, 8)[:, :6]
    np.testing.assert_allclose(velocities, problem.velocities(scheme.result), atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_is_left_as_it_is(seed):
    """λₙ vₙ = 0 at every contact, friction slides or not: μ = 0."""
    problem = random_problem(seed, contacts=10, bodies=8)
    answer = make_contact_solver("contact-sets").solve(problem, 20_000, tolerance=1e-14, threads=1).impulses
    slides = np.abs(problem.contact_velocities(answer)[:, 1:3]).max(axis=1)[answer[:, 0] > 0]
    assert slides.max() > 0.1
    scheme = Factorised(problem, np.arange(10), rates_of(problem, "local"), answer)
    Rescaling(scheme, 4, 1).run()
    np.testing.assert_allclose(scheme.result, answer, atol=1e-7)


def test_a_column_bears_its_weight_after_few_sweeps():
    """Ball k of n from the ground up bears those above it: λ = (n - k) m g h. Sweeps alone do not come near.

    Both begin with the same impulse everywhere: where there is none, there is nothing to rescale.
    """
    n = 100
    problem = ball_grid((1, n, 1))
    weight = MASS * GRAVITY * STEP
    expected = (n - np.arange(n)) * weight  # contacts stand in order of their lower ball
    start = np.tile([0.5 * n * weight, 0.0, 0.0, 0.0], (n, 1))
    normal = {}
    for name in ("rescaled", "contact-sets"):
        normal[name] = make_contact_solver(name).solve(problem, 15, start=start, threads=1).impulses[:, 0]
    assert np.abs(normal["rescaled"] - expected).max() < 1e-6 * expected[0]  # hats hold a straight line exactly
    assert np.abs(normal["contact-sets"] - expected).max() > 0.4 * expected[0]


def test_rescaling_leaves_a_fifth_of_what_sweeps_do_in_twice_as_many():
    """By the quality γ of (3.32), on balls in the hollows of those below that bore a third of their weight before."""
    problem = ball_grid((4, 24, 4), "cannonball")
    start = make_contact_solver("contact-sets").solve(problem, 500, threads=1).impulses / 3.0
    fast = quality(problem, make_contact_solver("rescaled").solve(problem, 25, start=start, threads=1).impulses)
    slow = quality(problem, make_contact_solver("contact-sets").solve(problem, 50, start=start, threads=1).impulses)
    assert fast < 0.2 * slow


def test_chunks_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(rescaled, "BODIES", 16)
    problem = ball_grid(6, "cannonball")
    one, two = (make_contact_solver("rescaled").solve(problem, 11, threads=n).impulses for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_bad_options_are_refused():
    for options, message in (("every=0", "every must be"), ("cells=65", "cells must be"), ("every=2.5", "every must")):
        with pytest.raises(InputError, match=message):
            make_contact_solver(f"rescaled:{options}")
    problem = ball_grid(2)
    problem.points = None
    with pytest.raises(InputError, match="must know where contacts are"):
        make_contact_solver("rescaled").solve(problem)
