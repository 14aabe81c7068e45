"""Hyperelastic materials: bodies that store energy by a density of their deformation, instead of by constraints.

    vv.Model.of(vv.mesh.bar(), vv.neo_hookean(young=1e5, poisson=0.4, density=1000))

They are classes with small letters, because one's own are made of functions (`hyperelastic_material`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from typing import Any, ClassVar

import numpy as np

from ..checks import STIFFEST, is_number, shown
from ..constraints import ConstraintGroup
from ..errors import InputError
from ..hyperelastic.densities import HIGH, HYPERELASTIC
from ..hyperelastic.inversion import Conversion
from ..hyperelastic.own import own_density
from ..hyperelastic.term import Hyperelastic
from ..mesh import Mesh
from ..terms.term import Term
from .materials import MATERIALS, share


class HyperelasticMaterial(ABC):
    """What they have in common: masses, no constraints, and one term."""

    energy_density: ClassVar[str] = ""  # its name in HYPERELASTIC
    conversion: Conversion | bool = True
    density: float = 1000.0

    @property
    @abstractmethod
    def constants(self) -> tuple[float, ...]:
        """The constants of its energy density, in the order of that."""

    def masses(self, mesh: Mesh) -> np.ndarray:
        """Each tetrahedron's mass, shared equally by its corners."""
        if not mesh.is_volumetric:
            name = type(self).__name__
            raise InputError(
                f"{name} needs tetrahedra, and mesh {mesh.name!r} has none; use vivace.mesh.tetrahedralise"
            )
        return share(mesh.n_vertices, mesh.tets, self.density * mesh.tet_volumes())

    def constraints(self, mesh: Mesh) -> list[ConstraintGroup]:
        """None: all of it is in its term."""
        return []

    def terms(self, mesh: Mesh) -> list[Term]:
        """The energy of all tetrahedra."""
        density = HYPERELASTIC[self.energy_density]
        return [Hyperelastic(mesh, density, self.constants, conversion=self.conversion)]

    def __post_init__(self) -> None:
        name = type(self).__name__
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if item.name == "conversion":
                if not isinstance(value, bool | Conversion):
                    raise InputError(f"{name}: conversion must be true, false or a Conversion, not {shown(value)}")
            elif not is_number(value) or abs(value) > STIFFEST:
                raise InputError(
                    f"{name}: {item.name} must be a finite number, {STIFFEST:g} at most, not {shown(value)}"
                )
        if not self.density > 0:
            raise InputError(f"{name}: density must be positive, not {self.density!r} kg/m³")
        HYPERELASTIC[self.energy_density].check(self.constants)


@dataclass(frozen=True)
class _Elastic(HyperelasticMaterial):
    """Of Young's modulus and Poisson's ratio.

    Attributes:
        young: Young's modulus for small strains (Pa).
        poisson: Poisson's ratio for small strains, 0 to below 0.5.
        density: kg/m³.
        conversion: what becomes of flattened and inverted elements: True, False (infinite energy) or a `Conversion`.
    """

    young: float = 1e5
    poisson: float = 0.4
    density: float = 1000.0
    conversion: Conversion | bool = True

    @property
    def constants(self) -> tuple[float, ...]:
        """s₀, s₁, ... of [fratarcangeli2018, Eqs. 40-43]."""
        common = ("young", "poisson", "density", "conversion")
        shape = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in common}
        return HYPERELASTIC[self.energy_density].of_moduli(self.young, self.poisson, **shape)


@MATERIALS.register("stvk")
@dataclass(frozen=True)
class stvk(_Elastic):
    """St. Venant and Kirchhoff's: linear in Green's strain; gives way when it is compressed to less than about half."""

    energy_density: ClassVar[str] = "stvk"


@MATERIALS.register("neo-hookean")
@dataclass(frozen=True)
class neo_hookean(_Elastic):
    """Compressible neo-Hookean: rubber at moderate strains."""

    energy_density: ClassVar[str] = "neo-hookean"


@MATERIALS.register("mooney-rivlin")
@dataclass(frozen=True)
class mooney_rivlin(_Elastic):
    """Compressible Mooney-Rivlin: rubber; `second` is the share of the shear modulus that the second invariant has."""

    energy_density: ClassVar[str] = "mooney-rivlin"
    second: float = 0.2

    def __post_init__(self) -> None:
        _check_share(self, "second", self.second)
        super().__post_init__()


@MATERIALS.register("fung")
@dataclass(frozen=True)
class fung(_Elastic):
    """Isotropic Fung: tissue that stiffens; `growing`: the exponential's share of the shear modulus, `growth`: s₃."""

    energy_density: ClassVar[str] = "fung"
    growing: float = 0.2
    growth: float = 1.0

    def __post_init__(self) -> None:
        _check_share(self, "growing", self.growing)
        if not is_number(self.growth) or not self.growth > 0:
            raise InputError(f"fung: growth must be positive, not {shown(self.growth)}")
        super().__post_init__()


@MATERIALS.register("corotated")
@dataclass(frozen=True)
class corotated(_Elastic):
    """Linear elasticity in the axes of the polar rotation: `Solid`, but for how it resists change of volume."""

    energy_density: ClassVar[str] = "corotated"


@MATERIALS.register("stable-neo-hookean")
@dataclass(frozen=True)
class stable_neo_hookean(_Elastic):
    """Neo-Hookean in the form of [smith2018], which is made for inverted elements, too."""

    energy_density: ClassVar[str] = "stable-neo-hookean"


def _check_share(material: object, name: str, value: object) -> None:
    if not is_number(value) or not 0 <= value <= 1:  # type: ignore[operator]
        raise InputError(f"{type(material).__name__}: {name} must lie in 0 to 1, not {shown(value)}")


# --- one's own --------------------------------------------------------------------------------------------------------


def hyperelastic_material(
    name: str,
    *,
    form: str = "invariants",
    gradient: Callable[..., Any] | None = None,
    hessian: Callable[..., Any] | None = None,
    barrier: bool = True,
    high: float | None = HIGH,
) -> Callable[[Callable[..., Any]], type]:
    """A decorator that makes a material of an energy density.

        @vv.hyperelastic_material("yeoh")
        def yeoh(I1, I2, J, c1=2e4, c2=-1e3, c3=1e2, bulk=1e6):
            x = I1 * J ** (-2 / 3) - 3
            return c1 * x + c2 * x**2 + c3 * x**3 + bulk / 2 * (J - 1) ** 2

        model = vv.Model.of(mesh, yeoh(c1=3e4, density=1100))

    It becomes a class whose fields are the function's constants, and then density (kg/m³) and conversion; scene files
    know it by its name. The function is compiled, and runs where those of the package run, at their speed.

    Args:
        name: what it is registered under.
        form: "invariants", I1 = tr C, I2 = ((tr C)² - tr C²)/2 and J = det F of C = FᵀF, or "stretches", the principal
            stretches; a function of these must not depend on their order.
        gradient: a function of the same arguments that returns the three slopes; held to differences of the density,
            and made of these if it is not given, which takes eighteen values of it.
        hessian: likewise the six curvatures 11, 22, 33, 23, 13, 12.
        barrier: whether it has no value unless det F > 0.
        high: the stretch below which it is converted (see `vivace.hyperelastic.Conversion`); None if it is made for
            every F.
    """

    def make(function: Callable[..., Any]) -> type:
        for registry in (MATERIALS, HYPERELASTIC):
            if name in registry:
                raise InputError(f"the {registry.kind} {name!r} is registered already; choose another name")
        found, defaults = own_density(
            name, function, form=form, gradient=gradient, hessian=hessian, barrier=barrier, high=high
        )
        for reserved in ("density", "conversion"):
            if reserved in found.parameters:
                raise InputError(f"hyperelastic material {name!r}: a constant cannot be called {reserved!r}")
        own = [(key, float, field(default=defaults.get(key, MISSING))) for key in found.parameters]
        more = [("density", float, field(default=1000.0)), ("conversion", Conversion | bool, field(default=True))]
        members = {
            "energy_density": name,
            "constants": property(lambda self: tuple(float(getattr(self, key)) for key in found.parameters)),
            "__doc__": function.__doc__ or f"The hyperelastic material {name!r}.",
            "__module__": function.__module__,
        }
        made = make_dataclass(
            function.__name__, [*own, *more], bases=(HyperelasticMaterial,), namespace=members, frozen=True
        )
        HYPERELASTIC.register(name)(found)
        return MATERIALS.register(name)(made)

    return make
