"""Invertible model conversion [fratarcangeli2018, Eqs. 44-47]: what is flattened becomes projective dynamics.

Densities such as neo-Hookean's are not made for elements that are nearly flat or inverted. The paper mixes theirs with
that of projective dynamics, W_proj = Σ (σᵢ - 1)², by an interpolant l of each element:

    W_hybrid = (1 - l) W + l k W_proj,     l = min(1, max(0, l_before - L, max_i (λ⁺ - σᵢ)/(λ⁺ - λ⁻)))   (Eqs. 45, 46)

The stiffness k is ours: Eq. 44 has none, so that W_proj would not be in pascals, and section 3.4 speaks of tuning it.

l depends on σ, and the forces of the paper leave that out: with the l of the same positions they are no gradient. With
its derivative the energy would have a minimum in the middle of the conversion wherever W is more than k W_proj, which
is the rule, and elements would stay flat. So there are two ways, in both of which energy and gradient agree:

    smooth   every stretch is converted on its own, by a function of itself:
             W(φ(σ₁), φ(σ₂), φ(σ₃)) + k Σ p(σᵢ),   φ' = 1 - l,   p' = 2 l (σ - 1)
             The force along axis i is (1 - lᵢ) Wᵢ + lᵢ 2 k (σᵢ - 1): the paper's mixture, and the gradient of an energy
             that is twice differentiable, finite for every F, and pushes outwards as long as W does. l is a cubic.
    held     the paper's, with l kept: energy, gradient and Hessian are those of the interpolants that the term holds,
             and `Hyperelastic.update(q)` is Eq. 45. A line search compares energies of the same l. Between updates an
             element may meet what W alone makes of it: infinite energy, which a line search refuses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checks import check_flag, check_name, is_number, shown
from ..errors import InputError
from ..storage import storable

WAYS = ("smooth", "held")


@storable("conversion")
@dataclass(frozen=True)
class Conversion:
    """How a density is converted.

    Attributes:
        low: λ⁻, the stretch at which nothing is left of it.
        high: λ⁺, the stretch at which conversion begins; None: 0.15, and 0.5 for St. Venant-Kirchhoff, as in the paper.
        memory: L, by how much an interpolant may fall from one update to the next.
        stiffness: k (Pa); None: half of λ + 2 μ, so that W_proj resists stretching along one axis as W does.
        way: "smooth" or "held".
        untangle: whether a step that begins with inverted elements holds them and their neighbours to one rotation (see
            `tangles`); without it a body may stay tangled.
    """

    low: float = 0.05
    high: float | None = None
    memory: float = 0.05
    stiffness: float | None = None
    way: str = "smooth"
    untangle: bool = True

    def __post_init__(self) -> None:
        check_name("conversion", self.way, WAYS)
        check_flag("untangle", self.untangle)
        for name in ("low", "high", "memory", "stiffness"):
            value = getattr(self, name)
            optional = name in ("high", "stiffness") and value is None
            if not optional and not is_number(value):
                raise InputError(f"conversion: {name} must be a finite number, not {shown(value)}")
        if not 0 < self.low < 1:
            raise InputError(f"conversion: low must lie between 0 and 1, not {self.low!r}")
        if self.high is not None and not self.low < self.high < 1:
            raise InputError(f"conversion: high must lie between low = {self.low!r} and 1, not {self.high!r}")
        if self.memory <= 0:
            raise InputError(f"conversion: memory must be positive, not {self.memory!r}")
        if self.stiffness is not None and self.stiffness <= 0:
            raise InputError(f"conversion: stiffness must be positive, not {self.stiffness!r} Pa")


def interpolants(
    stretches: np.ndarray, before: np.ndarray | None, low: float, high: float, memory: float
) -> np.ndarray:
    """l of Eq. 45 for the stretches (m, 3) of elements; `before`: those of the iteration before."""
    reached = (high - stretches.min(axis=1)) / (high - low)
    if before is not None:
        reached = np.maximum(reached, before - memory)
    found: np.ndarray = np.clip(reached, 0.0, 1.0)
    return found


def smooth_interpolants(stretches: np.ndarray, low: float, high: float) -> np.ndarray:
    """The largest l of each element's stretches (m, 3), as the smooth way has it: a cubic in place of Eq. 45's line."""
    t = np.clip((high - stretches.min(axis=1)) / (high - low), 0.0, 1.0)
    found: np.ndarray = t * t * (3.0 - 2.0 * t)
    return found
