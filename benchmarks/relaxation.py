"""The figures of docs/relaxation.md: why line 7 of Algorithm 1 diverges, and why over-relaxation ramps up.

python benchmarks/relaxation.py [--out docs/figures]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.linalg
from matplotlib.figure import Figure

import vivace as vv
from vivace.colouring import colour
from vivace.pictures import residual_curves, save_figure
from vivace.scenes import make_scene
from vivace.solvers import Deadline, make_solver, minimise
from vivace.solvers.projective.vivace import Vivace

FEW = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30)
SWEEPS = (1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 120, 240)


def coloured_matrices(**parameters) -> tuple[np.ndarray, np.ndarray]:
    """Y and M/h² of a tablecloth, dense, in the order of its colours: a coloured sweep is then a forward sweep."""
    scene = make_scene("tablecloth", **parameters)
    system = vv.System(scene.model, scene.time_step)
    order, _ = colour(*system.graph).order()
    pick = np.ix_(order, order)
    return system.matrix.toarray()[pick], np.diag(system.inertia)[pick]


def sweep_matrix(y: np.ndarray, omega: float) -> np.ndarray:
    """The iteration matrix of one forward SOR sweep, I - ω (D + ω L)⁻¹ Y."""
    lower = np.tril(y, -1)
    return np.eye(len(y)) - omega * scipy.linalg.solve_triangular(np.diag(np.diag(y)) + omega * lower, y, lower=True)


def eigenvalue_figure(folder: Path, y: np.ndarray) -> None:
    """Eigenvalues of a Gauss-Seidel sweep against the ellipse in which the printed recurrence is stable."""
    eigenvalues = np.linalg.eigvals(sweep_matrix(y, 1.0))
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    angle = np.linspace(0, 2 * np.pi, 400)
    for omega, colour_ in ((1.5, "#009E73"), (1.75, "#E69F00"), (1.9, "#D55E00")):
        # q' = ω (λ q - q'') + q'': roots inside the unit circle for λ in an ellipse of half-axes 1 and (2 - ω)/ω
        axes.plot(np.cos(angle), (2 - omega) / omega * np.sin(angle), color=colour_, label=f"stable at ω = {omega}")
    axes.plot(eigenvalues.real, eigenvalues.imag, ".", color="#0072B2", markersize=4, label="eigenvalues of a sweep")
    axes.set(xlabel="real part", ylabel="imaginary part", xlim=(-1.05, 1.05), ylim=(-0.4, 0.4))
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    axes.grid(color="#D9D9D9", linewidth=0.6)
    save_figure(figure, folder / "relaxation_eigenvalues.png")
    outside = {w: int(np.sum(_outside(eigenvalues, w))) for w in (1.5, 1.6, 1.7, 1.75, 1.8, 1.9)}
    print(f"eigenvalues outside the ellipse, of {len(y)}: {outside}")


def _outside(eigenvalues: np.ndarray, omega: float) -> np.ndarray:
    return eigenvalues.real**2 + (eigenvalues.imag * omega / (2 - omega)) ** 2 > 1


def frame_map_figure(folder: Path, y: np.ndarray, inertia: np.ndarray) -> None:
    """Spectral radius of the map from frame to frame, linear springs, against sweeps a frame."""
    identity, settle = np.eye(len(y)), np.linalg.solve(y, inertia)
    schedules: dict[str, Callable[[int], float]] = {
        "ω = 1.9 from the first sweep": lambda k: 1.9,
        "one plain sweep, then ω = 1.9": lambda k: 1.9 if k else 1.0,
        "ω = 4/3": lambda k: 4 / 3,
        "ω = 1": lambda k: 1.0,
        "ramp to 1.95 (default)": lambda k: float(Vivace().weights()[k]),
    }
    curves = {}
    for name, weight in schedules.items():
        product, radii = identity, []
        for k in range(FEW[-1]):
            product = sweep_matrix(y, weight(k)) @ product
            if k + 1 in FEW:
                radii.append(frame_radius(product + (identity - product) @ settle))
        curves[name] = (np.array(FEW), np.array(radii))
        print(f"{name:32s}", " ".join(f"{r:.4f}" for r in radii))
    path = folder / "relaxation_frames.png"
    residual_curves(path, curves, "growth from frame to frame (stable below 1)", "sweeps a frame", "spectral radius")


def frame_radius(step: np.ndarray) -> float:
    """Of q_(n+1) = T (2 q_n - q_(n-1)): the largest root of λ² - 2 μ λ + μ over the eigenvalues μ of T."""
    mu = np.linalg.eigvals(step).astype(complex)
    root = np.sqrt(mu * mu - mu)
    return float(max(np.abs(mu + root).max(), np.abs(mu - root).max()))


def convergence_figure(folder: Path, warm_frames: int = 15) -> None:
    """Relative error within one frame of the full tablecloth, every solver from the same state."""
    scene = make_scene("tablecloth", air=0.0, time_step=1 / 30)
    system = vv.System(scene.model, scene.time_step)
    q, v = scene.model.mesh.vertices.copy(), np.zeros((scene.model.n, 3))
    gravity = np.broadcast_to(scene.model.gravity, q.shape)
    for _ in range(warm_frames):
        frame = system.frame(q, v, gravity, scene.model.targets)
        new = minimise(system, frame, accuracy=1e-6).q
        q, v = new, (new - q) / system.h
    frame = system.frame(q, v, gravity, scene.model.targets)
    best = minimise(system, frame, accuracy=1e-8, most=5000).energy
    gap = system.energy(frame.start, frame) - best
    s, constant = (_rows(a) for a in (frame.start, system.constant(frame)))
    out = np.zeros_like(s)
    curves = {}
    for name in (
        *("jacobi", "gauss-seidel", "vivace:refresh=0,relaxation=none", "vivace:refresh=0,ramp=0,omega=1.9"),
        *("vivace:refresh=0", "vivace:refresh=1", "vivace"),
        *(f"vivace:refresh=0,relaxation=printed,omega={w}" for w in (1.5, 1.75, 1.9)),
    ):
        solver = make_solver(name)
        solver.prepare(system, threads=2, seed=0)
        errors = []
        for count in SWEEPS:
            solver.solve(s, constant, out, Deadline.of(vv.Budget(iterations=count)))
            errors.append((system.energy(out[:, :3].astype(np.float64), frame) - best) / gap)
        label = name.removeprefix("vivace:").replace("relaxation=", "") if ":" in name else name
        curves[label] = (np.array(SWEEPS), np.where(np.array(errors) < 1e2, errors, np.inf))
        print(f"{name:46s}", " ".join(f"{e:9.3g}" for e in errors))
    path = folder / "relaxation_convergence.png"
    residual_curves(path, curves, "one frame of the tablecloth", "sweeps", "relative energy error")


def _rows(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.column_stack([x, np.zeros(len(x))]), np.float32)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    target = parser.parse_args().out
    eigenvalue_figure(target, coloured_matrices(resolution=36)[0])
    frame_map_figure(target, *coloured_matrices(resolution=16))
    convergence_figure(target)
