"""A density of one's own, from a plain Python function: compiled, and put where those of the package are.

Derivatives that are given are held to differences of the density before anything is registered; those that are not
given are these differences (`kernels.differences`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends.cpu.compiling import compile_now
from ..backends.cpu.templates import specialised_with
from ..checks import check_name, shown
from ..errors import InputError
from .densities import FORMS, HIGH, Density
from .kernels import differences
from .kernels.stretches import invariants

COMPONENTS = {"invariants": ("I1", "I2", "J"), "stretches": ("σ1", "σ2", "σ3")}
SECOND = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
TOLERANCE = 1e-6  # of derivatives that are given, relative to the largest of their kind


def own_density(
    name: str,
    density: Callable[..., Any],
    *,
    form: str = "invariants",
    gradient: Callable[..., Any] | None = None,
    hessian: Callable[..., Any] | None = None,
    barrier: bool = True,
    high: float | None = HIGH,
) -> tuple[Density, dict[str, float]]:
    """A `Density` of Python functions, and the defaults of its constants.

    Args:
        name: for messages and the registry.
        density: W(I1, I2, J, constants...) or W(σ1, σ2, σ3, constants...), J/m³: arithmetic that Numba compiles.
        form: "invariants" or "stretches": which of the two.
        gradient: its three slopes by the first three arguments, of the same arguments.
        hessian: its six curvatures 11, 22, 33, 23, 13, 12.
        barrier: whether it has no value unless det F > 0.
        high: stretch below which it is converted, None for never.
    """
    check_name("form", form, FORMS)
    names, defaults = _constants(name, density)
    for what, given in (("gradient", gradient), ("hessian", hessian)):
        if given is not None and not callable(given):
            raise InputError(f"hyperelastic material {name!r}: {what} must be a function, not {shown(given)}")
    value = _with_row(density, len(names))
    slopes = _with_row(gradient, len(names)) if gradient else _of(differences.gradient_by_differences, value=value)
    curved = _with_row(hessian, len(names)) if hessian else _of(differences.hessian_by_differences, gradient=slopes)
    functions = {"value": value, "gradient": slopes, "hessian": curved}
    try:
        _verify(name, form, functions, np.array([defaults.get(n, 1.0) for n in names]), bool(gradient), bool(hessian))
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"hyperelastic material {name!r}: its functions do not compile or fail: {error}") from error
    return Density(name, form, names, functions, barrier, high, signed=True), defaults


def _constants(name: str, density: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, float]]:
    """Names of the constants: what a density has after its first three arguments; and their defaults."""
    if not callable(density):
        raise InputError(f"hyperelastic material {name!r} is made of a function, not {shown(density)}")
    found = list(inspect.signature(density).parameters.values())
    plain = all(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in found)
    if len(found) < 4 or not plain:
        raise InputError(
            f"hyperelastic material {name!r}: a density is a function of three arguments and one constant at least, "
            f"as in density(I1, I2, J, c1), not of ({', '.join(map(str, found))})"
        )
    return tuple(p.name for p in found[3:]), {p.name: p.default for p in found[3:] if p.default is not p.empty}


def _with_row(given: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function with its constants as one row, s."""
    scope: dict[str, Any] = {"given": _compiled(given), "__name__": given.__module__}
    row = ", ".join(f"s[{k}]" for k in range(count))
    exec(f"def of_row(a, b, c, s):\n    return given(a, b, c, {row})", scope)
    return scope["of_row"]  # type: ignore[no-any-return]


def _compiled(given: Callable[..., Any]) -> Callable[..., Any]:
    """Not kept on disk, where it would be looked up by its own text alone, whatever else it calls."""
    return compile_now(given, cache=False)  # type: ignore[no-any-return]


def _of(template: Callable[..., Any], **functions: Callable[..., Any]) -> Callable[..., Any]:
    return specialised_with(template, functions)


def _verify(
    name: str, form: str, functions: dict[str, Callable[..., Any]], constants: np.ndarray, first: bool, second: bool
) -> None:
    """Hold what is given to differences of what it is the derivative of, at twenty states."""
    rng = np.random.default_rng(0)
    value, gradient, hessian = (_compiled(functions[what]) for what in ("value", "gradient", "hessian"))
    by_value = _compiled(_of(differences.gradient_by_differences, value=functions["value"]))
    by_slope = _compiled(_of(differences.hessian_by_differences, gradient=functions["gradient"]))
    parts = COMPONENTS[form]
    for state in np.vstack([np.ones(3), rng.uniform(0.7, 1.5, (19, 3))]):
        at = tuple(state) if form == "stretches" else invariants(*state)
        if not np.isfinite(value(*at, constants)):
            raise InputError(f"hyperelastic material {name!r}: its density at stretches {state.round(3)} is not finite")
        if first:
            labels = [f"∂W/∂{part}" for part in parts]
            _compare(name, "gradient", labels, gradient(*at, constants), by_value(*at, constants), state)
        if second:
            labels = [f"∂²W/∂{parts[i]}∂{parts[j]}" for i, j in SECOND]
            _compare(name, "hessian", labels, hessian(*at, constants), by_slope(*at, constants), state)


def _compare(
    name: str, what: str, labels: Sequence[str], given: Sequence[float], found: Sequence[float], state: np.ndarray
) -> None:
    if np.shape(given) != (len(labels),):
        raise InputError(
            f"hyperelastic material {name!r}: {what} must return {len(labels)} numbers ({', '.join(labels)}), "
            f"not {shown(given)}"
        )
    size = max(float(np.abs(found).max()), float(np.abs(given).max()), 1e-300)
    for label, mine, theirs in zip(labels, given, found, strict=True):
        if not abs(mine - theirs) <= TOLERANCE * size:
            raise InputError(
                f"hyperelastic material {name!r}: its {what} is not the derivative of its density: {label} at "
                f"stretches {state.round(3).tolist()} is {mine:.9g}, and differences give {theirs:.9g} "
                f"(off by {abs(mine - theirs):.3g})"
            )
