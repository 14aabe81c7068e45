"""Kernels of a density: its functions put into the templates of `kernels`, compiled when first needed and cached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Protocol

from ..backends.cpu.arguments import phase_kernel
from ..backends.cpu.compiling import compile_now, spliced
from ..backends.cpu.templates import cacheable, specialised_with
from .kernels import eights, elements, inversion, phases, points, stretches
from .kernels.points import BARRIER, FREE, HELD, SMOOTH

GUARDS = {"free": FREE, "barrier": BARRIER, "smooth": SMOOTH, "held": HELD}


spliced_once = cache(spliced)


class Formula(Protocol):
    """What is needed of a density: see `densities.Density`."""

    @property
    def form(self) -> str:
        """Of the invariants or of the stretches."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of its constants."""

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """value, gradient and hessian."""

    @property
    def barrier(self) -> bool:
        """Whether it has no value unless det F > 0."""

    @property
    def plain(self) -> bool:
        """Whether it is known to be one of I1 and J alone."""

    @property
    def eights(self) -> bool:
        """Whether its functions may be those of eight elements at once."""


@dataclass(frozen=True, eq=False)
class Loops:
    """Every pass over elements or matrices that a density has, under one guard (see `kernels.points`)."""

    density: Formula
    guard: str

    @cached_property
    def plain(self) -> dict[str, Callable[..., Any]]:
        """value, gradient, hessian and pairs of the stretches, not converted."""
        own = self.density.functions
        if self.density.form == "stretches":
            pairs = specialised_with(stretches.stretch_pairs, {k: own[k] for k in ("gradient", "hessian")})
            return {**own, "pairs": pairs}
        return {
            "value": specialised_with(stretches.invariant_value, {"value": own["value"]}),
            "gradient": specialised_with(stretches.invariant_gradient, {"gradient": own["gradient"]}),
            "hessian": specialised_with(stretches.invariant_hessian, {k: own[k] for k in ("gradient", "hessian")}),
            "pairs": specialised_with(stretches.invariant_pairs, {"gradient": own["gradient"]}),
        }

    @cached_property
    def slow(self) -> dict[str, Callable[..., Any]]:
        """The same, converted where this guard converts stretch by stretch."""
        if self.guard != "smooth":
            return self.plain
        count, by = len(self.density.parameters), self.plain
        value = specialised_with(inversion.converted_value, {"value": by["value"]}, COUNT=count)
        gradient = specialised_with(inversion.converted_gradient, {"gradient": by["gradient"]}, COUNT=count)
        second = {k: by[k] for k in ("gradient", "hessian")}
        hessian = specialised_with(inversion.converted_hessian, second, COUNT=count)
        pairs = specialised_with(stretches.stretch_pairs, {"gradient": gradient, "hessian": hessian})
        return {"value": value, "gradient": gradient, "hessian": hessian, "pairs": pairs}

    @cached_property
    def points(self) -> dict[str, Callable[..., Any]]:
        """energy_at, stress_at and curvature_at of one matrix."""
        own, slow = self.density.functions, self.slow
        numbers = {
            "COUNT": len(self.density.parameters),
            "GUARD": GUARDS[self.guard],
            "INVARIANT": int(self.density.form == "invariants"),
            "POSITIVE": int(self.density.barrier),
        }
        plain = specialised_with(points.is_plain, {}, **numbers)
        energy = specialised_with(points.energy_of, {"slow_value": slow["value"]}, **numbers)
        slopes = specialised_with(points.slopes_of, {"slow_gradient": slow["gradient"]}, **numbers)
        first = {"value": own["value"], "is_plain": plain, "energy_of": energy}
        both = {**first, "gradient": own["gradient"], "slopes_of": slopes}
        second = {"slow_hessian": slow["hessian"], "slow_pairs": slow["pairs"]}
        return {
            "energy_at": specialised_with(points.energy_at, first, **numbers),
            "stress_at": specialised_with(points.stress_at, both, **numbers),
            "curvature_at": specialised_with(points.curvature_at, second, **numbers),
        }

    def _loop(self, template: Callable[..., Any], called: str) -> Any:
        count = len(self.density.parameters)
        whole = specialised_with(template, {called: self.points[called]}, COUNT=count)
        return compile_now(whole, cache=all(cacheable(f) for f in self.density.functions.values()))

    @cached_property
    def energy_pass(self) -> Any:
        """See `kernels.elements`."""
        return self._loop(elements.energy_pass, "energy_at")

    @cached_property
    def force_pass(self) -> Any:
        """See `kernels.elements`."""
        return self._loop(elements.force_pass, "stress_at")

    @cached_property
    def hessian_pass(self) -> Any:
        """See `kernels.elements`."""
        return self._loop(elements.hessian_pass, "curvature_at")

    @cached_property
    def diagonal_pass(self) -> Any:
        """See `kernels.elements`."""
        return self._loop(elements.diagonal_pass, "curvature_at")

    @cached_property
    def stress_matrices(self) -> Any:
        """See `kernels.elements`."""
        return self._loop(elements.stress_matrices, "stress_at")

    @cached_property
    def hessian_matrices(self) -> Any:
        """See `kernels.elements`."""
        return self._loop(elements.hessian_matrices, "curvature_at")

    def _phase(self, template: Callable[..., Any], called: str = "", label: str = "") -> phase_kernel:
        functions = {called: self.points[called]} if called else {}
        if called == "curvature_at":
            functions["plain_at"] = self._plain_at
        functions |= self._eight(f"{template.__name__}8")
        whole = specialised_with(template, functions, COUNT=len(self.density.parameters))
        kept = all(cacheable(f) for f in self.density.functions.values())
        return phase_kernel(whole, items="which", cache=kept, label=label)

    def kernel(self, template: Callable[..., Any], *, items: str) -> phase_kernel:
        """One of a template elsewhere, which may call energy_at, stress_at, curvature_at and plain_at."""
        whole = specialised_with(
            template, {**self.points, "plain_at": self._plain_at}, COUNT=len(self.density.parameters)
        )
        return phase_kernel(whole, items=items, cache=all(cacheable(f) for f in self.density.functions.values()))

    @cached_property
    def _plain_at(self) -> Callable[..., Any]:
        """Of a density of I1 and J: curvature without singular values; of others, that there is none."""
        own, count = self.density.functions, len(self.density.parameters)
        plain = self.density.form == "invariants" and self.density.plain
        functions = {k: own[k] for k in ("gradient", "hessian")} if plain else {}
        return specialised_with(phases.plain_at, functions, COUNT=count, PLAIN=int(plain))

    def _eight(self, name: str) -> dict[str, Callable[..., Any]]:
        """The same pass over eight elements at once, if there is one."""
        template = getattr(eights, name, None)
        invariant = self.density.form == "invariants" and self.guard != "held"
        curved = name in ("diagonal8", "pairs8")
        if template is None or not (self.density.eights and invariant) or (curved and not self.density.plain):
            return {}
        own = {key: spliced_once(function) for key, function in self.density.functions.items()}
        numbers = {"COUNT": len(self.density.parameters), "GUARD": GUARDS[self.guard]}
        used = {"local8": ("gradient",), "missed8": ("value", "gradient"), "stored8": ("value",)}
        functions = {key: own[key] for key in used.get(name, ())}
        if curved:
            second = {key: own[key] for key in ("gradient", "hessian")}
            functions = {"curvature8": specialised_with(eights.curvature8, second, **numbers)}
        else:
            functions["are_plain"] = specialised_with(eights.are_plain, {}, **numbers)
        return {name: specialised_with(template, functions, **numbers)}

    @cached_property
    def local(self) -> phase_kernel:
        """See `kernels.phases`."""
        return self._phase(phases.local, "stress_at")

    @cached_property
    def missed(self) -> phase_kernel:
        """See `kernels.phases`."""
        return self._phase(phases.missed, "stress_at", "energies")

    @cached_property
    def stored(self) -> phase_kernel:
        """See `kernels.phases`."""
        return self._phase(phases.stored, "energy_at", "energies")

    @cached_property
    def diagonal(self) -> phase_kernel:
        """See `kernels.phases`."""
        return self._phase(phases.diagonal, "curvature_at", "Hessian")

    @cached_property
    def pairs(self) -> phase_kernel:
        """See `kernels.phases`."""
        return self._phase(phases.pairs, "curvature_at", "Hessian")

    @cached_property
    def hold(self) -> phase_kernel:
        """See `kernels.phases`."""
        return self._phase(phases.hold)


@cache
def loops_of(density: Formula, guard: str) -> Loops:
    """One for each density and guard."""
    return Loops(density, guard)
