"""Isotropic energy densities by name: what a material stores per volume, as compiled functions of one form.

`kernels.densities` has the equations [fratarcangeli2018, Eqs. 28, 40-43; smith2018].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import is_number, real_array, shown
from ..errors import InputError
from ..registry import Registry
from .inversion import Conversion
from .kernels import densities as equations
from .loops import Loops, loops_of

FORMS = ("invariants", "stretches")
HIGH = 0.15  # the stretch λ⁺ below which densities are converted, unless they say another


@dataclass(frozen=True, eq=False)
class Density:
    """W as a function of (I1, I2, J) or of the principal stretches (see `kernels.densities`), J/m³.

    Attributes:
        name: what it is registered under.
        form: "invariants" or "stretches": what its functions are functions of.
        parameters: names of its constants, in the order in which its functions have them.
        functions: "value", "gradient" and "hessian", each of (a, b, c, s): three arguments and the constants.
        barrier: whether it has no value unless det F > 0.
        high: λ⁺ of its conversion; None for a density that is made for every F.
        constants: the constants of linear elastic moduli (μ, λ) and of what else it has, if there is such a rule.
        positive: the constants that must be positive; the others may be zero.
        signed: whether constants may be negative, as long as the body at rest resists.
        plain: whether it is a function of I1 and J alone, whose curvature needs no singular values near rest.
        eights: whether its functions take the numbers of eight elements at once (`backends.cpu.lanes`).
    """

    name: str
    form: str
    parameters: tuple[str, ...]
    functions: dict[str, Callable[..., Any]] = field(repr=False)
    barrier: bool = False
    high: float | None = HIGH
    constants: Callable[..., tuple[float, ...]] | None = field(default=None, repr=False)
    positive: tuple[str, ...] = ()
    signed: bool = False
    plain: bool = False
    eights: bool = False

    def check(self, values: Sequence[float]) -> np.ndarray:
        """The constants as an array, after a look at each."""
        found = real_array(values)
        wanted = ", ".join(self.parameters)
        if found is None or found.shape != (len(self.parameters),):
            raise InputError(
                f"{self.name}: {len(self.parameters)} constants are needed ({wanted}), not {shown(values)}"
            )
        for name, value in zip(self.parameters, found, strict=True):
            least = "positive" if name in self.positive else "zero or positive"
            if not np.isfinite(value) or (value < 0 and not self.signed) or (value == 0 and name in self.positive):
                raise InputError(f"{self.name}: {name} must be {least} and finite, not {value}")
        pressed, mu, lam = self._at_rest(found)
        shown_moduli = f"{self.name} with {wanted} = {found.tolist()}"
        if not abs(pressed) <= 1e-9 * (abs(mu) + abs(lam)):
            raise InputError(f"{shown_moduli} has a stress of {pressed:.6g} Pa at rest; its slopes must be zero there")
        if not (mu > 0 and lam + mu / 1.5 > 0):
            raise InputError(f"{shown_moduli} does not resist: at rest μ = {mu:.6g} Pa and λ = {lam:.6g} Pa")
        return found

    def of_moduli(self, young: float, poisson: float, **shape: float) -> tuple[float, ...]:
        """Its constants for Young's modulus (Pa) and Poisson's ratio, which it has for small strains."""
        if self.constants is None:
            raise InputError(f"{self.name} has no rule for its constants; give {', '.join(self.parameters)}")
        return self.constants(*lame(young, poisson, self.name), **shape)

    def moduli(self, constants: Sequence[float]) -> tuple[float, float]:
        """μ and λ (Pa) for small strains."""
        return self._at_rest(self.check(constants))[1:]

    def _at_rest(self, s: np.ndarray) -> tuple[float, float, float]:
        """ψ₁, μ and λ in the undeformed body: ψ₁₁ = λ + 2 μ and ψ₁₂ = λ."""
        if self.form == "stretches":
            first, second = self.functions["gradient"](1.0, 1.0, 1.0, s), self.functions["hessian"](1.0, 1.0, 1.0, s)
            return float(first[0]), float(0.5 * (second[0] - second[5])), float(second[5])
        d1, d2, dj = self.functions["gradient"](3.0, 3.0, 1.0, s)
        h11, h22, hjj, h2j, h1j, h12 = self.functions["hessian"](3.0, 3.0, 1.0, s)
        both = 4 * h11 + 16 * h22 + hjj + 8 * h2j + 4 * h1j + 16 * h12  # how I1, I2 and J curve with any two stretches
        return float(2 * (d1 + 2 * d2) + dj), float(d1 - 0.5 * dj), float(both + 4 * d2 + dj)

    def loops(self, guard: str) -> Loops:
        """Its compiled passes."""
        return loops_of(self, guard)

    def guard(self, conversion: Conversion | None) -> str:
        """What is done with an F that it is not made for: see `kernels.points`."""
        return conversion.way if conversion is not None else "barrier" if self.barrier else "free"

    def row(self, constants: Sequence[float], conversion: Conversion | None) -> np.ndarray:
        """Its constants and those of its conversion, as kernels have them."""
        own = self.check(constants)
        if conversion is None:
            return np.append(own, [0.0, 0.0, 0.0])
        high = conversion.high if conversion.high is not None else self.high if self.high is not None else HIGH
        if not conversion.low < high:
            raise InputError(f"conversion: low = {conversion.low!r} must be below high = {high!r}")
        stiffness = conversion.stiffness
        if stiffness is None:
            mu, lam = self.moduli(own.tolist())
            stiffness = mu + 0.5 * lam
        return np.append(own, [conversion.low, high, stiffness])

    @cached_property
    def conversion(self) -> Conversion | None:
        """That of the paper, if it needs one."""
        return Conversion() if self.high is not None else None

    # --- at any F ---

    def evaluate(
        self, matrices: ArrayLike, constants: Sequence[float], conversion: Conversion | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """W (m,) in J/m³ and the first Piola-Kirchhoff stress P = ∂W/∂F (m, 3, 3) in Pa, of matrices F (m, 3, 3)."""
        f = _matrices(matrices)
        energies, stresses = np.empty(len(f)), np.empty((len(f), 9))
        loop = self.loops(self.guard(_smooth(conversion))).stress_matrices
        loop(f, self.row(constants, conversion), energies, stresses)
        return energies, stresses.reshape(-1, 3, 3)

    def hessian(
        self,
        matrices: ArrayLike,
        constants: Sequence[float],
        conversion: Conversion | None = None,
        *,
        positive: bool = False,
    ) -> np.ndarray:
        """∂²W/∂F² (m, 9, 9) in Pa, F_cr being number 3 c + r; `positive`: without its negative eigenvalues."""
        f = _matrices(matrices)
        out = np.empty((len(f), 9, 9))
        loop = self.loops(self.guard(_smooth(conversion))).hessian_matrices
        loop(f, self.row(constants, conversion), positive, out)
        return out


def lame(young: float, poisson: float, name: str = "material") -> tuple[float, float]:
    """μ and λ (Pa) of Young's modulus and Poisson's ratio."""
    if not is_number(young) or not young > 0:
        raise InputError(f"{name}: young must be a positive number of pascals, not {shown(young)}")
    if not is_number(poisson) or not 0 <= poisson < 0.5:
        raise InputError(
            f"{name}: poisson must lie in 0 to 0.5, and below 0.5, where a body would keep its volume exactly; "
            f"not {shown(poisson)}"
        )
    return young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))


def _smooth(conversion: Conversion | None) -> Conversion | None:
    if conversion is not None and conversion.way != "smooth":
        raise InputError("a matrix has no interpolant of its own: conversion must be smooth here; see Hyperelastic")
    return conversion


def _matrices(matrices: ArrayLike) -> np.ndarray:
    found = real_array(matrices)
    if found is None or found.ndim != 3 or found.shape[1:] != (3, 3):
        raise InputError(f"deformation gradients must be numbers of shape (m, 3, 3), not {shown(matrices)}")
    return np.ascontiguousarray(found, np.float64).reshape(-1, 9)


HYPERELASTIC: Registry[Density] = Registry("hyperelastic density")

# --- the materials of the paper, and two more -------------------------------------------------------------------------


def _bulk(mu: float, lam: float) -> float:
    """Half the bulk modulus: s₁ of the volume term."""
    return 0.5 * (lam + 2 * mu / 3)


def _mooney(mu: float, lam: float, second: float = 0.2) -> tuple[float, ...]:
    return 0.5 * (1 - second) * mu, _bulk(mu, lam), 0.5 * second * mu


def _fung(mu: float, lam: float, growing: float = 0.2, growth: float = 1.0) -> tuple[float, ...]:
    return 0.5 * (1 - growing) * mu, _bulk(mu, lam), 0.5 * growing * mu / growth, growth


def _stable(mu: float, lam: float) -> tuple[float, ...]:
    """[smith2018, section 3.4]: their μ and λ are not the linear ones."""
    return 4 * mu / 3, lam + 5 * mu / 6


def _functions(name: str) -> dict[str, Callable[..., Any]]:
    kinds = {"value": name, "gradient": f"{name}_gradient", "hessian": f"{name}_hessian"}
    return {kind: getattr(equations, called) for kind, called in kinds.items()}


def _add(name: str, form: str, count: int, **more: object) -> None:
    own = tuple(f"s{k}" for k in range(count))
    functions, eights = _functions(name.replace("-", "_")), form == "invariants"
    found = Density(name, form, own, functions, eights=eights, **more)  # type: ignore[arg-type]
    HYPERELASTIC.register(name)(found)


_add("stvk", "invariants", 2, high=0.5, constants=lambda mu, lam: (lam, mu), positive=("s1",))
_add(
    "neo-hookean", "invariants", 2, barrier=True, constants=lambda mu, lam: (0.5 * mu, _bulk(mu, lam)),
    positive=("s0", "s1"), plain=True,
)  # fmt: skip
_add("mooney-rivlin", "invariants", 3, barrier=True, constants=_mooney, positive=("s1",))
_add("fung", "invariants", 4, barrier=True, constants=_fung, positive=("s1",), plain=True)
_add("stable-neo-hookean", "invariants", 2, high=None, constants=_stable, positive=("s0", "s1"), plain=True)
_add("corotated", "stretches", 2, high=None, constants=lambda mu, lam: (mu, lam), positive=("s0",))
