"""The trajectory that all are measured against: implicit Euler with steps of 1 ms, every step converged, in float64.

Newton's method on the energy of `energy.system`, as the solver "newton" does it, but without a factorisation for each
iteration: the last factors precondition conjugate gradients until they are too old. At 10,000 vertices that is some
five times as fast; a second of motion takes some ten minutes. The result is kept in a cache folder.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import numpy as np
from cholespy import CholeskySolverD, MatrixType
from problem import FRAME_S, Problem

from vivace.energy.hessian import Hessian
from vivace.energy.system import System
from vivace.files import replacing
from vivace.model.model import Model
from vivace.scenes import make_scene

CLOTH = {"side": 1.0, "density": 0.2, "stretch": 1e4, "bend": 1e-4}  # m, kg/m², N/m, N·m
STEPS = 33  # of 1 ms, in a frame
ARRIVED = 1e-7  # m: RMS of a Newton step after which there is no other
MOST_NEWTON = 12
LINEAR = 1e-3  # residual of a linear solve, relative
MOST_LINEAR = 200
OLD = 20  # iterations of conjugate gradients from which the factors are too old


def tablecloth(resolution: int) -> tuple[Model, Problem]:
    """The scene, for us and for the others."""
    model = make_scene("tablecloth", resolution=resolution, **CLOTH).model
    problem = Problem(
        vertices=model.mesh.vertices.astype(np.float64),
        triangles=model.mesh.triangles,
        edges=model.mesh.edges,
        hinges=model.mesh.hinges,
        masses=model.masses,
        pinned=model.pinned,
        resolution=resolution,
        air=model.air,
        gravity=-float(model.gravity[1]),
        **CLOTH,
    )
    return model, problem


class Linear:
    """x of H x = b by conjugate gradients with the factors of an earlier H."""

    def __init__(self) -> None:
        self.factors: CholeskySolverD | None = None
        self.tired = True

    def __call__(self, matrix, b: np.ndarray) -> np.ndarray:
        if self.tired:
            self.factors = CholeskySolverD(len(b), matrix.indptr, matrix.indices, matrix.data, MatrixType.CSR)
        x, r, z = np.zeros_like(b), b.copy(), np.empty_like(b)
        self.factors.solve(r, z)
        p, rz, enough = z.copy(), r @ z, LINEAR * np.linalg.norm(b)
        iterations = 0
        while iterations < MOST_LINEAR:
            iterations += 1
            ap = matrix @ p
            alpha = rz / (p @ ap)
            x += alpha * p
            r -= alpha * ap
            if np.linalg.norm(r) <= enough:
                break
            self.factors.solve(r, z)
            before, rz = rz, r @ z
            p = z + (rz / before) * p
        self.tired = iterations > OLD
        return x


def step(system: System, hessian: Hessian, linear: Linear, frame) -> np.ndarray:
    """The converged minimum of one step."""
    x = frame.s.copy()
    energy, gradient = system.evaluate(x, frame)
    for _ in range(MOST_NEWTON):
        d = linear(hessian(x), -gradient.ravel()).reshape(-1, 3)
        slope, share = float(np.sum(gradient * d)), 1.0
        while share > 1e-3:
            new, new_gradient = system.evaluate(x + share * d, frame)
            if new <= energy + 1e-4 * share * slope + 1e-12 * abs(energy):
                break
            share /= 2
        x, energy, gradient = x + share * d, new, new_gradient
        if np.sqrt((d**2).sum(1).mean()) < ARRIVED:
            break
    return x


def cached(model: Model, problem: Problem, frames: int, cache: Path, *, steps: int = STEPS) -> np.ndarray:
    """Positions after each frame, (frames, n, 3), from the cache folder as far as they are there.

    Every new frame is put there at once, with what is needed to go on: what is interrupted is not lost.
    """
    digest = hashlib.sha256()
    for array in (problem.vertices, problem.triangles, problem.pinned, problem.scalars(), np.array([FRAME_S, steps])):
        digest.update(np.ascontiguousarray(array).tobytes())
    file = cache / f"reference-{problem.resolution}-{digest.hexdigest()[:12]}.npz"
    q = model.mesh.vertices.astype(np.float64)
    v, path = np.zeros_like(q), list[np.ndarray]()
    if file.exists():
        with np.load(file) as stored:
            q, v, path = stored["q"], stored["v"], list(stored["positions"])
    if len(path) < frames:
        system = System(model, FRAME_S / steps)
        hessian, linear = Hessian(system), Linear()
        acceleration = np.tile(model.gravity, (model.n, 1))
    begin = time.perf_counter()
    while len(path) < frames:
        for _ in range(steps):
            x = step(system, hessian, linear, system.frame(q, v, acceleration, model.targets))
            v, q = (x - q) / system.h, x
        path.append(q.astype(np.float32))
        with replacing(file) as temporary:
            np.savez(temporary, positions=np.array(path), q=q, v=v)
        print(f"reference: frame {len(path)} of {frames}, {time.perf_counter() - begin:.0f} s", flush=True)
    return np.array(path[:frames])
