"""Four volumes at once against one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import vivace as vv
from kernel_twins import EPS32
from vivace.backends.cpu.executor import Plan
from vivace.backends.cpu.simd import copysign4, load4, store4
from vivace.constraints.kernels.volume import local_volumes, nearest_unimodular
from vivace.solvers.projective.layout import Layout


def volume_phase(threads: int = 1):
    mesh = vv.mesh.cube(6, 1.0)
    model = vv.Model.of(mesh, vv.Solid(poisson_ratio=0.3))
    layout = Layout(vv.System(model, 1 / 30), np.arange(model.n), threads, refresh=1)
    (phase,) = (p for p in layout.local_phases if p.kernel is local_volumes)
    return layout, phase


@pytest.mark.parametrize("amplitude", [0.0, 1e-4, 0.01, 0.03, 0.1, 1.0])
def test_four_at_once_agree_with_one_at_a_time(amplitude):
    """share_k = w Σ_r A_rk p_r with p = nearest_unimodular(A q), inverted and crushed elements included.

    F is rounded to float32, and p moves with it by its condition, at most about σ₁/σ₃ of the elements that are not
    handed to the float64 way (σ₃ > 0.02 σ₁); there p differs by rounding only.
    """
    layout, phase = volume_phase()
    rng = np.random.default_rng(1)
    rest = layout.system.model.mesh.vertices
    layout.q[:, :3] = rest + rng.standard_normal(rest.shape) * amplitude
    Plan([phase], 1).run()
    weights, slots, shares = (phase.arrays[name] for name in ("weights", "slots", "out"))
    a = phase.arrays["operator"].astype(np.float64)
    x = phase.arrays["q"][phase.arrays["vertices"], :3].astype(np.float64)
    z, p = np.einsum("mrk,mkc->mrc", a, x - x[:, :1]), np.empty((3, 3))
    size = np.abs(a).sum(axis=2).max() * np.abs(x - x[:, :1]).max()
    for t in range(len(z)):
        nearest_unimodular(z[t], p)
        expected = weights[t] * a[t].T @ p
        bound = 400 * EPS32 * float(weights[t]) * np.abs(a[t]).sum() * (1 + size)
        assert np.abs(shares[slots[t], :3] - expected).max() <= bound


@pytest.mark.slow
def test_determinant_is_one():
    """det G = 1 to float32 for moderate strains, G read back from the shares by least squares."""
    layout, phase = volume_phase()
    rng = np.random.default_rng(2)
    rest = layout.system.model.mesh.vertices
    layout.q[:, :3] = rest * [1.2, 0.9, 1.05] + rng.standard_normal(rest.shape) * 0.01
    Plan([phase], 1).run()
    operator, weights, slots, shares = (phase.arrays[name] for name in ("operator", "weights", "slots", "out"))
    for t in range(len(weights)):
        a, share = operator[t].astype(np.float64), shares[slots[t], :3].astype(np.float64)
        g = np.linalg.lstsq(float(weights[t]) * a.T, share, rcond=None)[0]
        assert np.linalg.det(g) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.slow
def test_threads_change_nothing():
    results = []
    for threads in (1, 2, 3, 4):
        layout, phase = volume_phase(threads)
        layout.q[:, :3] += np.random.default_rng(3).standard_normal((layout.n, 3)) * 0.03
        Plan([phase], threads).run()
        results.append(phase.arrays["out"].copy())
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.slow
def test_copysign():
    """|a| with the sign of b, zeros and infinities included."""
    a = np.array([[1.0, -2.0, 0.0, -np.inf]], np.float32)
    b = np.array([[-1.0, 3.0, -0.0, 1.0]], np.float32)
    out = np.zeros((1, 4), np.float32)

    @njit
    def go(a, b, out):
        store4(out, 0, copysign4(load4(a, 0), load4(b, 0)))

    go(a, b, out)
    np.testing.assert_array_equal(np.signbit(out), np.signbit(np.copysign(a, b)))
    np.testing.assert_array_equal(out, np.copysign(a, b))
