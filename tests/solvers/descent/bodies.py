"""Small hyperelastic bodies in all kinds of states, for the tests of solvers that minimise their energy."""

from __future__ import annotations

import numpy as np

import vivace as vv
from vivace import Frame, Model, System, mesh
from vivace.hyperelastic import Conversion, svd

H = 1 / 30
MATERIALS = {
    "stvk": vv.stvk,
    "neo-hookean": vv.neo_hookean,
    "mooney-rivlin": vv.mooney_rivlin,
    "fung": vv.fung,
    "corotated": vv.corotated,
    "stable-neo-hookean": vv.stable_neo_hookean,
}
# Converted so early that most find out of tangles by their own energy, see docs/descent.md.
EARLY = {"neo-hookean": {"high": 0.5}, "mooney-rivlin": {"high": 0.5}}
EARLY |= {"stvk": {"low": 0.3, "high": 0.8}, "fung": {"low": 0.3, "high": 0.8}}


def cube(
    name: str,
    n: int = 4,
    side: float = 0.3,
    *,
    early: bool = False,
    pinned: bool = False,
    untangle: bool = True,
    **world,
) -> Model:
    """A cube of a material; `early`: converted early; `pinned`: by its top; `untangle`: False for its own energy."""
    conversion: bool | Conversion = untangle
    if name in EARLY:
        conversion = Conversion(**(EARLY[name] if early else {}), untangle=untangle)
    model = Model.of(mesh.cube(n, side), MATERIALS[name](young=1e5, poisson=0.4, conversion=conversion), **world)
    return model.pin("top") if pinned else model


def stretches(model: Model, q: np.ndarray) -> np.ndarray:
    """σ (m, 3) of all tetrahedra."""
    term = model.terms[0]
    x = np.asarray(q, np.float64)[term.vertices]
    edges = (x[:, 1:] - x[:, :1]).transpose(0, 2, 1)
    return svd(edges @ term.elements.inverse.reshape(-1, 3, 3))[1]


def strained(model: Model, seed: int = 0, noise: float = 0.01) -> np.ndarray:
    """Positions of a body that is pulled, pressed and shaken; nothing in it is inverted."""
    rest = model.mesh.vertices
    shaken = noise * float(np.ptp(rest)) * np.random.default_rng(seed).normal(size=rest.shape)
    return rest * [1.1, 0.85, 1.0] + shaken


def tangled(model: Model, seed: int) -> np.ndarray:
    """Every vertex anywhere in the box that the body filled."""
    low, high = model.mesh.bounds
    return np.random.default_rng(seed).uniform(low, high, model.mesh.vertices.shape)


def frame_of(model: Model, q: np.ndarray, v: np.ndarray | None = None, h: float = H) -> tuple[System, Frame]:
    """A step from positions and velocities, under the model's gravity."""
    system = System(model, h)
    pull = np.tile(model.gravity, (model.n, 1))
    return system, system.frame(q, np.zeros_like(q) if v is None else v, pull, model.targets)
