"""The generated local pass: a user's projection, compiled into the loop, cached by what it says."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import kernel_twins as twins
import vivace as vv
from kernel_twins import EPS32, EPS64
from vivace.backends.cpu.executor import Plan
from vivace.constraints.kernels.local import gather, local_pass, project_pass
from vivace.energy.system import row_sums
from vivace.solvers.projective.layout import Layout

ROPE = """
    import numpy as np

    from vivace import Prepared, constraint


    @constraint("NAME", vertices=2, rows=1, parameters=("length",))
    class Rope:
        '''Resists being longer than its length.'''

        @staticmethod
        def prepare(rest, slack=1.0):
            length = slack * np.linalg.norm(rest[:, 0] - rest[:, 1], axis=1)
            return Prepared(operator=[[1.0, -1.0]], parameters=length[:, None])

        @staticmethod
        def project(z, parameters, p):
            size = np.sqrt(z[0, 0] ** 2 + z[0, 1] ** 2 + z[0, 2] ** 2)
            scale = FACTOR * min(1.0, parameters[0] / max(size, 1e-10))
            for c in range(3):
                p[0, c] = scale * z[0, c]
"""


def project_rope(z, parameters, factor=1.0):
    """p = z while it is shorter than the rope, l z / |z| after."""
    return factor * min(1.0, parameters[0] / np.linalg.norm(z)) * z


def blend(z, parameters, p):
    """Not a projection onto anything, but it reads two parameters and mixes rows."""
    for c in range(3):
        p[0, c] = parameters[0] * z[1, c]
        p[1, c] = parameters[1] * z[0, c] + z[1, c]


def forget(kernel):
    """Take a test's machine code out of the disk cache again."""
    for file in Path(kernel._compiled._cache.cache_path).glob(f"*{kernel.__name__}*"):
        file.unlink()


@pytest.fixture
def on_disk(tmp_path, monkeypatch):
    """Write a constraint to a file, import it, and take its name off the register afterwards."""
    names = []

    def load(name, factor):
        file = tmp_path / "ropes.py"
        file.write_text(textwrap.dedent(ROPE).replace("NAME", name).replace("FACTOR", repr(factor)), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("ropes_of_a_test", file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "ropes_of_a_test", module)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two versions within one second share a timestamp
        spec.loader.exec_module(module)
        names.append(name)
        return vv.CONSTRAINTS[name]

    yield load
    for name in names:
        vv.CONSTRAINTS._things.pop(name, None)


def random_table(k, r, count, m=220, n=50, seed=0):
    rng = np.random.default_rng(seed)
    vertices = np.stack([rng.permutation(n)[:k] for _ in range(m)]).astype(np.int32)
    operator = rng.standard_normal((m, r, k)).astype(np.float32)
    weights = rng.uniform(1, 100, m).astype(np.float32)
    parameters = rng.uniform(0.5, 2, (m, count)).astype(np.float32)
    slots = rng.permutation(m * k).astype(np.int32).reshape(m, k)
    return vertices, operator, weights, parameters, slots, twins.to_rows(rng.standard_normal((n, 3)))


def run_local(kernel, table, threads=2):
    vertices, operator, weights, parameters, slots, q = table
    out = np.full((slots.size, 4), np.nan, np.float32)
    sums = row_sums(operator.astype(np.float64)).astype(np.float32)
    given = {"vertices": vertices, "operator": operator, "weights": weights, "parameters": parameters, "slots": slots}
    Plan([kernel.over(0, len(vertices), **given, q=q, out=out, sums=sums)], threads).run()
    assert not out[:, 3].any()
    return out[slots][:, :, :3]


def share_size(table, k, r, gain):
    """An upper bound of the sum of sizes behind a share: w |A|ᵀ gain (|A| |q|)."""
    vertices, operator, weights, _, _, q = table
    z = np.einsum("mrk,mkc->mrc", np.abs(operator), np.abs(q[vertices, :3]))
    mixed = gain * z.sum(axis=1, keepdims=True).repeat(r, axis=1)
    return weights[:, None, None] * np.einsum("mrk,mrc->mkc", np.abs(operator), mixed)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 5])
def test_local_pass_is_the_twin(k):
    """Share of corner k: w Σ_r A_rk p_r with p = project(A q); 2 k + 6 roundings of the terms' sizes."""
    table = random_table(k, 2, 2)
    kernel = local_pass(blend, k, 2, 2)

    def twin(z, parameters):
        return np.stack([parameters[0] * z[1], parameters[1] * z[0] + z[1]])

    found = run_local(kernel, table)
    expected = twins.local_shares(*table[:4], table[5], twin)
    assert (np.abs(found - expected) <= (2 * k + 6) * EPS32 * share_size(table, k, 2, 2.0)).all()
    for threads in (1, 4):
        assert np.array_equal(run_local(kernel, table, threads), found)


@pytest.mark.slow
def test_project_pass_is_float64():
    """project over whole arrays, in double precision."""
    rng = np.random.default_rng(1)
    z, parameters = rng.standard_normal((30, 2, 3)), rng.standard_normal((30, 2))
    p = np.empty_like(z)
    project_pass(blend)(z, parameters, p)
    expected = np.stack([parameters[:, :1] * z[:, 1], parameters[:, 1:] * z[:, 0] + z[:, 1]], axis=1)
    assert (np.abs(p - expected) <= 2 * EPS64 * (np.abs(expected) + np.abs(z[:, 1:]) + np.abs(z[:, :1]))).all()


def rolled_cloth():
    flat = vv.mesh.cloth(6, 5)
    x, _, z = flat.vertices.T
    return vv.mesh.Mesh.from_triangles(np.column_stack([np.sin(x), 1 - np.cos(x), z]), flat.triangles)


@pytest.mark.parametrize("name", ["springs", "curved hinges", "strain and volume"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_phases_of_a_layout_make_the_right_hand_side(name, threads):
    """base_i = constant_i + Σ w Aᵀ p is b of the float64 system at the same q.

    z = A q is rounded by eps |A| |q|, p follows it with a gain of a few, and the share multiplies by w |A|.
    """
    model = {
        "springs": lambda: vv.Model.of(vv.mesh.cloth(6, 5), vv.Cloth(bend=0.0)),
        "curved hinges": lambda: vv.Model.of(rolled_cloth(), vv.Cloth(bend=1.0)),
        "strain and volume": lambda: vv.Model.of(vv.mesh.cube(4), vv.Solid(poisson_ratio=0.3)),
    }[name]()
    system = vv.System(model, 1 / 60)
    rng = np.random.default_rng(6)
    layout = Layout(system, rng.permutation(model.n), threads, refresh=1)
    q = twins.to_rows(model.mesh.vertices + 0.03 * rng.standard_normal((model.n, 3)))
    at = q[:, :3].astype(np.float64)
    frame = vv.Frame(at, at, at, model.targets)
    layout.load(q, twins.to_rows(system.constant(frame)))
    Plan(layout.local_phases, threads).run()
    size = system.inertia * np.abs(at).max()
    for group in (*system.springs, *system.projected):
        a = np.abs(group.operator)
        z = np.einsum("mrk,mkc->mrc", a, np.abs(at[group.vertices])).max(axis=2)
        share = np.einsum("m,mrk,mr->mk", group.weights, a, z + group.parameters.sum(axis=1)[:, None] + 1)
        np.add.at(size, group.vertices.ravel(), share.ravel())
    error = np.abs(layout.base[:, :3] - system.right_hand_side(at, frame)[layout.order]).max(axis=1)
    assert (error <= 20 * EPS32 * size[layout.order]).all()


def test_gather():
    """base_i = constant_i + Σ shares of vertex i, empty ranges included."""
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 7, 300)
    slot_at = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    shares = twins.to_rows(rng.standard_normal((slot_at[-1], 3)))
    constant, base = twins.to_rows(rng.standard_normal((300, 3))), np.full((300, 4), np.nan, np.float32)
    Plan([gather.over(0, 300, slot_at=slot_at, shares=shares, constant=constant, base=base)], 3).run()
    for i in range(300):
        terms = np.concatenate([constant[i : i + 1], shares[slot_at[i] : slot_at[i + 1]]]).astype(np.float64)
        assert (np.abs(base[i] - terms.sum(axis=0)) <= len(terms) * EPS32 * np.abs(terms).sum(axis=0)).all()


@pytest.mark.slow
def test_a_constraint_from_a_file(on_disk):
    """It registers, measures, projects, and its local pass agrees with the twin."""
    kind = on_disk("rope-of-a-test", 1.0)
    assert kind.summary == "Resists being longer than its length."
    assert kind.options == {"slack": 1.0}
    table = random_table(2, 1, 1)
    kernel = local_pass(kind.project, 2, 1, 1)
    found = run_local(kernel, table)
    expected = twins.local_shares(*table[:4], table[5], project_rope)
    # z is summed from differences to the first vertex: each term at most doubles, and one more is added
    assert (np.abs(found - expected) <= 36 * EPS32 * share_size(table, 2, 1, 1.0)).all()
    mesh = vv.mesh.cloth(5, 5)
    model = vv.Model.of(mesh).constrain("rope-of-a-test", mesh.edges, 10.0, slack=1.1)
    sim = vv.Simulation(model, solver="vivace", budget=vv.Budget(iterations=3), time_step=1 / 60)
    sim.step()
    assert np.isfinite(sim.positions).all()
    forget(kernel)


@pytest.mark.slow
def test_machine_code_is_cached_under_a_name_of_its_own(on_disk):
    """The name is a digest: compiled once, found again, and different for another file or other numbers."""
    kind = on_disk("rope-of-a-test", 1.0)
    first = local_pass(kind.project, 2, 1, 1)
    first.address  # noqa: B018 (compiles)
    folder = Path(first._compiled._cache.cache_path)
    assert first.__name__.startswith("local_template_")
    assert list(folder.glob(f"*{first.__name__}*.nbc"))
    local_pass.cache_clear()
    again = local_pass(kind.project, 2, 1, 1)
    again.address  # noqa: B018
    assert again.__name__ == first.__name__
    assert again._compiled.cache_hits == 1
    assert local_pass(kind.project, 3, 1, 1).__name__ != first.__name__
    assert local_pass(blend, 2, 1, 1).__name__ != first.__name__
    forget(first)


@pytest.mark.slow
def test_a_changed_file_is_not_served_from_the_cache(on_disk):
    """Same file, same function, another factor: the shares scale with it."""
    table = random_table(2, 1, 1)
    results, kernels = [], []
    for number, factor in enumerate((1.0, 0.25)):
        kind = on_disk(f"rope-of-a-test-{number}", factor)
        kernels.append(local_pass(kind.project, 2, 1, 1))
        results.append(run_local(kernels[-1], table))
        z = np.array([[[3.0, 0.0, 4.0]]])
        p = np.empty_like(z)
        project_pass(kind.project)(z, np.array([[10.0]]), p)
        assert np.array_equal(p, factor * z)
    assert kernels[0].__name__ != kernels[1].__name__
    assert np.array_equal(results[1], 0.25 * results[0])
    for kernel in kernels:
        forget(kernel)


def _scaled(factor):
    def project(z, parameters, p):
        for c in range(3):
            p[0, c] = factor * z[0, c]

    return project


def _typed(function):
    """A projection that has no file, as typed at a prompt."""
    scope = {"np": np}
    text = f"""
def project(z, parameters, p):
    for c in range(3):
        p[0, c] = np.{function}(z[0, c])
"""
    exec(text, scope)
    return scope["project"]


@pytest.mark.slow
def test_two_projections_from_one_factory_do_not_share_machine_code():
    """p = factor z for the factor each was made with."""
    z, found = np.ones((1, 1, 3)), []
    for factor in (2.0, 3.0):
        p = np.empty_like(z)
        project_pass(_scaled(factor))(z, np.zeros((1, 0)), p)
        found.append(p[0, 0, 0])
    assert found == [2.0, 3.0]


@pytest.mark.slow
def test_two_projections_typed_at_a_prompt_do_not_share_machine_code():
    """sin and cos differ in a name only, not in byte code or constants."""
    z, found = np.ones((1, 1, 3)), []
    for function in ("sin", "cos"):
        p = np.empty_like(z)
        project_pass(_typed(function))(z, np.zeros((1, 0)), p)
        found.append(p[0, 0, 0])
    assert found == pytest.approx([np.sin(1.0), np.cos(1.0)], rel=4 * EPS64)
