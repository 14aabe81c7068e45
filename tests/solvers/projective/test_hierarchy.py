"""Levels: Galerkin's products, also while pins come and go, reproducible, and told about."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from solvers.operators import EPS32
from solvers.projective.multigrid_systems import SYSTEMS, body_system, check_galerkin, cloth_system, dense
from vivace import Model, System
from vivace.solvers.projective.hierarchy import COARSENINGS, LARGEST_DENSE, build


@pytest.mark.slow
@pytest.mark.parametrize("coarsening", list(COARSENINGS))
@pytest.mark.parametrize("name", list(SYSTEMS))
def test_levels_are_galerkins(name, coarsening):
    """Aᵢ = QᵢᵀYQᵢ at every level, where Qᵢ is also the product of the prolongations that a cycle walks."""
    system = SYSTEMS[name](26 if name == "cloth" else 9)
    order = np.random.default_rng(0).permutation(system.n)
    hierarchy = build(system.matrix, order, coarsening=coarsening)
    assert hierarchy.sizes[-1] <= LARGEST_DENSE
    assert hierarchy.sizes == [system.n, *(level.n for level in hierarchy.levels)]
    assert list(hierarchy.sizes) == sorted(hierarchy.sizes, reverse=True)
    check_galerkin(hierarchy, system.matrix)
    transfers = [hierarchy.down, *((level.prolong, level.restrict) for level in hierarchy.levels[:-1])]
    walked = sp.eye_array(system.n, format="csr")[order].T  # from visiting order to that of the mesh
    for (p, r), level, q in zip(transfers, hierarchy.levels, hierarchy.from_fine, strict=True):
        above = walked.shape[1]
        prolong = sp.csr_array((p[2], p[1], p[0]), shape=(above, level.n))
        restrict = sp.csr_array((r[2], r[1], r[0]), shape=(level.n, above))
        assert (restrict != prolong.T).nnz == 0
        walked = walked @ prolong
        np.testing.assert_allclose(walked.toarray(), q.toarray(), rtol=0, atol=8 * EPS32 * np.abs(q.data).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SYSTEMS))
def test_levels_follow_pins_that_come_and_go(name):
    """QᵀΔQ for the changed vertices only; with the old pins back, the levels are the old ones."""
    system = SYSTEMS[name](26 if name == "cloth" else 9)
    hierarchy = build(system.matrix, np.arange(system.n))
    before = [dense(level) for level in hierarchy.levels]
    rng = np.random.default_rng(1)
    for count in (1, 7, system.n // 3):
        model = system.model.pin(np.setdiff1d(rng.permutation(system.n)[:count], system.model.pinned))
        pinned = System(model, system.h, like=system)
        assert hierarchy.adapt(pinned.diagonal) > 0
        check_galerkin(hierarchy, pinned.matrix)
    bare = System(Model(model.mesh, model.masses, system.model.groups[:-1], model.gravity, model.air), system.h)
    hierarchy.adapt(bare.diagonal)
    check_galerkin(hierarchy, bare.matrix)  # also without those it was built with
    hierarchy.adapt(system.diagonal)
    assert hierarchy.adapt(system.diagonal) == 0
    for level, old in zip(hierarchy.levels, before, strict=True):
        np.testing.assert_allclose(dense(level), old, rtol=0, atol=1e-11 * np.abs(old).max())


@pytest.mark.slow
def test_seeds_are_reproducible_and_the_global_generator_is_left_alone():
    """PyAMG draws start vectors from NumPy's global generator: neither may its state count, nor change."""
    matrix = body_system(9).matrix

    def bits(seed):
        hierarchy = build(matrix, np.arange(matrix.shape[0]), seed=seed, coarsening="evolution")
        arrays = [a for level in hierarchy.levels for a in (level.at, level.j, level.wide, level.pointers)]
        return b"".join(a.tobytes() for a in (*arrays, hierarchy.dense))

    np.random.seed(5)  # noqa: NPY002
    first = bits(0)
    here = np.random.get_state()[1].copy()  # noqa: NPY002
    np.random.seed(6)  # noqa: NPY002
    assert bits(0) == first
    np.random.seed(5)  # noqa: NPY002
    np.testing.assert_array_equal(np.random.get_state()[1], here)  # noqa: NPY002


def test_progress_is_told():
    told = []
    build(cloth_system(26).matrix, np.arange(676), progress=lambda *what: told.append(what))
    assert [what for what, _, _ in told] == ["coarsening"] * len(told)
    assert len(told) >= 3
    assert told[-1] == ("coarsening", 1, 1)
    assert all(0 <= done <= total for _, done, total in told)
