"""What float32 can do to a sweep, worked out from its arithmetic; and the pieces that the solver tests share.

Vertex i of an SOR sweep should move to q_i + ω r_i / Y_ii and lands within δ_i of it. Along that vertex the energy is
(or lies below) a parabola of curvature Y_ii, so the update changes it by at most

    -ω (2 - ω)/2 |r|²/Y_ii  +  |1 - ω| |r| δ  +  Y_ii/2 δ²   <=   Y_ii/2 δ² / (ω (2 - ω)),

the maximum over |r|. A sweep therefore never raises the energy by more than Σ_i Y_ii/2 δ_i² / (ω (2 - ω)).

δ_i: the new position is stored with half an ulp, u |q_i|; the residual is a sum of m_i terms (base, tie q_i, one a
neighbour), so its error is at most (m_i + 4) u times the sum of their sizes, 4 for the few operations inside a term.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from vivace import Budget, Frame, Solver, System
from vivace.constraints import ConstraintGroup
from vivace.energy.system import project
from vivace.scenes import SCENES, Scene, make_scene, parameters_of
from vivace.solvers import Deadline

U = 2.0**-24  # unit roundoff of float32
U64 = 2.0**-53

SMALL_SCENES = {
    "tablecloth": {"resolution": 12},
    "hanging-cloth": {"resolution": 12},
    "armadillo": {"resolution": 16},
    "bar": {"resolution": 3},
    "cube": {"resolution": 4},
    "flattened-body": {"resolution": 16},
    "box-on-jelly": {"n": 4},
    "falling-bodies": {"resolution": 16, "bodies": 3},
    "box": {"resolution": 4},
    "double-helix": {"resolution": 24},
    "dragon": {"resolution": 24},
    "garment-on-body": {"resolution": 24},
}

# Scenes whose steps have a minimum; those of position based dynamics have contacts and constraints without projections.
# With rigid bodies, or on one that is animated.
MIXED_SCENES = ["cloth-on-moving-box", "box-on-jelly", "falling-bodies", "dress", "garment-on-body"]
HYPERELASTIC_SCENES = ["box", "double-helix", "dragon"]  # with terms, which most solvers do not know
SIZED_SCENES = [name for name in SCENES if "resolution" in parameters_of(name)]
ENERGY_SCENES = [name for name in SIZED_SCENES if name not in MIXED_SCENES + HYPERELASTIC_SCENES]


def small_scene(name: str) -> Scene:
    """Any registered scene at a size that takes no time; a new one with a `resolution` needs no entry above."""
    small = {"resolution": 16} if name in SIZED_SCENES else {"scale": 0.02}
    return make_scene(name, **SMALL_SCENES.get(name, small))


def moving_frame(scene: Scene, frames: int = 4, sweeps: int = 10) -> tuple[System, Frame]:
    """The problem of a step in mid-motion: of the scene's time step, from a first guess with pins at their targets."""
    sim = scene.simulate(solver="lbfgs(direct)", budget=Budget(iterations=sweeps), substeps=1, threads=1)
    for _ in range(frames):
        report = sim.step()
    return sim.system, report.frame


def rows(points: np.ndarray) -> np.ndarray:
    """(n, 3) to float32 rows of four."""
    out = np.zeros((len(points), 4), np.float32)
    out[:, :3] = points
    return out


def run(solver: Solver, system: System, frame: Frame, sweeps: int) -> np.ndarray:
    """Positions (n, 3) in float64 after that many sweeps from the prediction; the solver must be prepared."""
    out = np.zeros((system.n, 4), np.float32)
    deadline = Deadline.of(Budget(iterations=sweeps))
    if system.model.terms:
        solver.see(frame)
    solver.solve(rows(frame.start), rows(system.constant(frame)), out, deadline)
    return out[:, :3].astype(np.float64)


def measure(group: ConstraintGroup, q: np.ndarray) -> np.ndarray:
    """z = A_c q for every constraint of a group, (m, r, 3)."""
    return np.einsum("mrk,mkc->mrc", group.operator, q[group.vertices])


def norms(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ic,ic->i", x, x))


def shifts(system: System, frame: Frame, q: np.ndarray) -> np.ndarray:
    """δ_i (m), see above."""
    pins = np.zeros(system.n)
    pins[system.model.pinned] = norms(frame.targets)
    base = system.inertia * norms(frame.s) + system.pin_weight * pins
    off = system.off.tocoo()
    apart = sp.csr_matrix((np.abs(off.data) * norms(q[off.row] - q[off.col]), (off.row, off.col)), (system.n,) * 2)
    terms = np.diff(system.off.indptr) + 2
    size = base + system.tie * norms(q) + np.asarray(apart.sum(axis=1)).ravel()
    for group in (*system.springs, *system.projected):  # w |A|ᵀ |p|
        p = np.sqrt((project(group, measure(group, q)) ** 2).sum(axis=2))
        shares = np.einsum("m,mrk,mr->mk", group.weights, np.abs(group.operator), p)
        size += np.bincount(group.vertices.ravel(), shares.ravel(), minlength=system.n)
        terms = terms + np.bincount(group.vertices.ravel(), minlength=system.n) * group.kind.rows
    if system.viscous:
        last = norms(frame.previous)
        size += system.viscous * (abs(system.stiffness_off) @ last + system.stiffness_diagonal * last)
    return U * (norms(q) + (terms + 4) * size / system.diagonal)


def sweep_slack(system: System, frame: Frame, before: np.ndarray, after: np.ndarray, omega: float) -> float:
    """How far rounding may raise the energy in one sweep (J).

    Constraints that are projected before the sweep add something. Their measure z is known to dz = (k + 2) u Σ |A||q|,
    and p is nearest to z + dz instead of z, so that |z - p| is too long by 2 |dz| at most; that lifts the majorant.
    """
    delta = np.maximum(shifts(system, frame, before), shifts(system, frame, after))
    total = 0.5 * float(system.diagonal @ delta**2) / (omega * (2 - omega))
    for group in system.projected:
        z = measure(group, before)
        gap = np.sqrt(((z - project(group, z)) ** 2).sum(axis=(1, 2)))
        sizes = np.einsum("mrk,mk->mr", np.abs(group.operator), norms(before)[group.vertices])
        dz = (group.kind.vertices + 2) * U * np.sqrt((sizes**2).sum(axis=1))
        total += 0.5 * float(group.weights @ (4 * gap * dz + 4 * dz**2))
    return total
