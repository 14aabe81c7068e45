"""A body of a hyperelastic material as a term of a step's energy: Σ volume W(F) over tetrahedra.

F = [q₁ - q₀, q₂ - q₀, q₃ - q₀] D⁻¹ with the rest edges D. All is float64; passes over the elements write to slots of
their own, which are added up vertex by vertex, so that results do not depend on who did what.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import as_numbers, check_flag, element_array, real_array, shown
from ..constraints import ConstraintGroup
from ..constraints.base import ConstraintType, Prepared, Role
from ..constraints.tetrahedron import gradient_operator
from ..errors import InputError
from ..mesh import Mesh
from ..storage import storable
from ..terms.pieces import Blocks
from ..terms.term import Frame, Term
from .densities import HYPERELASTIC, Density
from .inversion import Conversion, interpolants, smooth_interpolants
from .kernels.elements import gather, slots_of
from .kernels.inversion import principal_stretches
from .kernels.tangles import held_energies, held_shares
from .loops import Loops
from .tangles import ABSURD, Tangle, inverted_elements, tangle_of, tangled_elements

PROXY = ConstraintType(  # not registered: nobody asks for it by name
    *("hyperelastic", 4, 3, (), Role.PROJECTED, Prepared, None, None, "Pa", "Stands for a hyperelastic tetrahedron.")
)


@dataclass(frozen=True, eq=False)
class Elements:
    """Tetrahedra as the passes of `kernels.elements` take them, flat.

    Attributes:
        vertices: (4 m) int32.
        inverse: (9 m) the inverses of the rest edges, row by row (1/m).
        volumes: (m) at rest, times a factor if the body was made stiffer (m³).
        which: (m) int32, the row of constants of each.
        constants: rows of the density's constants, low, high and stiffness of its conversion.
        starts: (n + 1) int32, where the slots of each vertex begin.
        slots: (4 m) int32, the slot of each corner.
    """

    vertices: np.ndarray
    inverse: np.ndarray
    volumes: np.ndarray
    which: np.ndarray
    constants: np.ndarray
    starts: np.ndarray
    slots: np.ndarray

    @property
    def of(self) -> tuple[np.ndarray, ...]:
        """What every pass begins with, after the positions."""
        return self.vertices, self.inverse, self.volumes, self.which, self.constants


@storable("hyperelastic")
class Hyperelastic(Term):
    """Σ volume W(F) over the tetrahedra of a mesh; `newton` and the descent solvers minimise it.

    Args:
        mesh: of tetrahedra, none of them flat or inverted at rest.
        density: one of `HYPERELASTIC`, or its name.
        constants: of the density, in its order (`density.parameters`; `density.of_moduli` has them for Young's modulus
            and Poisson's ratio): (k,), or (m, k) for a body of several.
        conversion: what becomes of flattened and inverted elements; True: the paper's, for a density that needs it;
            False: nothing.

    Attributes:
        elements: the arrays behind it.
        loops: the compiled passes behind it.
        rest: (n, 3) the mesh' vertices.
        untangles: whether a step that begins with inverted elements holds them (see `tangles`).
        interpolants: (m,) l of every element where conversion is "held"; zeros at first, `update` changes it.
    """

    _seen: tuple[Frame, Tangle | None] | None = None  # the last step's

    def __init__(
        self,
        mesh: Mesh,
        density: str | Density,
        constants: Sequence[float] | ArrayLike,
        *,
        conversion: Conversion | bool = True,
    ):
        if not isinstance(mesh, Mesh) or not mesh.is_volumetric:
            raise InputError(f"a hyperelastic body needs a mesh of tetrahedra, not {shown(mesh)}")
        self.density = density if isinstance(density, Density) else HYPERELASTIC[density]
        own = conversion if isinstance(conversion, Conversion) else None
        if own is None and check_flag("conversion", conversion):
            own = self.density.conversion
        self.conversion = own
        self.untangles = conversion.untangle if isinstance(conversion, Conversion) else bool(conversion)
        self.n, self.vertices = mesh.n_vertices, np.ascontiguousarray(mesh.tets, np.int32)
        self.rest = np.array(mesh.vertices, np.float64)
        operator, volumes = gradient_operator(mesh.vertices[mesh.tets])
        inverse = np.ascontiguousarray(np.swapaxes(operator[:, :, 1:], 1, 2))
        rows, which = self._rows(constants)
        starts, slots = slots_of(self.vertices.ravel(), self.n)
        flat = self.vertices.ravel(), inverse.ravel(), volumes, which, rows.ravel(), starts, slots
        self.elements = Elements(*(np.ascontiguousarray(array) for array in flat))
        self.interpolants = np.zeros(len(self.vertices))

    def _rows(self, constants: Sequence[float] | ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """The different rows of constants, and which of them each element has."""
        m, found = len(self.vertices), real_array(constants)
        if found is None or found.ndim != 2:
            return self.density.row(constants, self.conversion)[None], np.zeros(m, np.int32)  # type: ignore[arg-type]
        wanted = (m, len(self.density.parameters))
        if found.shape != wanted:
            raise InputError(f"{self.density.name}: constants of elements must have shape {wanted}, not {found.shape}")
        unique, which = np.unique(found, axis=0, return_inverse=True)
        rows = []
        for number, values in enumerate(unique):
            try:
                rows.append(self.density.row(values.tolist(), self.conversion))
            except InputError as error:
                raise InputError(f"tetrahedron {int(np.argmax(which.ravel() == number))}: {error}") from error
        return np.array(rows), which.ravel().astype(np.int32)

    def __len__(self) -> int:
        return len(self.vertices)

    def __repr__(self) -> str:
        return f"<Hyperelastic: {len(self)} tetrahedra, {self.density.name}>"

    @property
    def loops(self) -> Loops:
        """The compiled passes of its density, under its conversion."""
        return self.density.loops(self.density.guard(self.conversion))

    # --- in a file ---

    def stored(self) -> dict[str, Any]:
        """What makes it again, elements that were cut or made stiffer included."""
        e = self.elements
        return {
            "density": self.density.name, "conversion": self.conversion, "untangles": self.untangles, "n": self.n,
            "rest": self.rest, "tets": self.vertices, "inverse": e.inverse, "volumes": e.volumes, "which": e.which,
            "constants": e.constants, "interpolants": self.interpolants,
        }  # fmt: skip

    @classmethod
    def restored(
        cls,
        *,
        density: str,
        conversion: Conversion | None,
        untangles: bool,
        n: int,
        tets: np.ndarray,
        **arrays: np.ndarray,
    ) -> Hyperelastic:
        """The same from what is stored of it, after a look at all of it."""
        if density not in HYPERELASTIC:
            raise InputError(
                f"it is of the hyperelastic material {shown(density)}, which is not registered here; import the module "
                f"that says @vivace.hyperelastic_material({shown(density)}) before you load it"
            )
        made, known = cls.__new__(cls), HYPERELASTIC[density]
        if not isinstance(conversion, Conversion | None) or not isinstance(n, int):
            raise InputError("a hyperelastic body has a conversion and a number of vertices")
        vertices = element_array("tetrahedra of a hyperelastic body", tets, 4)
        m, width = len(vertices), len(known.parameters) + 3
        if not m or vertices.min() < 0 or vertices.max() >= n:
            raise InputError(f"the tetrahedra of a hyperelastic body must name its {n} vertices")
        rows = arrays["constants"].size // width
        shapes = {"rest": (n, 3), "inverse": (9 * m,), "volumes": (m,), "which": (m,), "constants": (rows * width,)}
        for name, shape in {**shapes, "interpolants": (m,)}.items():
            as_numbers(f"{name} of a hyperelastic body", arrays[name], shape)
        which = arrays["which"].astype(np.int32)
        if which.min() < 0 or which.max() >= rows or not (arrays["volumes"] > 0).all():
            raise InputError("the elements of a hyperelastic body need a volume and constants")
        for row in arrays["constants"].reshape(rows, width):
            known.check(row[:-3].tolist())
        made.density, made.conversion, made.untangles = known, conversion, check_flag("untangles", untangles)
        made.n, made.vertices = n, np.ascontiguousarray(vertices, np.int32)
        made.rest, made.interpolants = arrays["rest"], arrays["interpolants"]
        corners, parts = made.vertices.ravel(), (arrays["inverse"], arrays["volumes"], which, arrays["constants"])
        made.elements = Elements(corners, *parts, *slots_of(corners, n))
        return made

    # --- energy and its derivatives ---

    def energies(self, q: np.ndarray) -> np.ndarray:
        """What each element stores (m,), J; infinite for one that its density has no value for."""
        out = np.empty(len(self))
        self.loops.energy_pass(0, len(self), q, *self.elements.of, self.interpolants, out)
        return out

    def energy(self, q: np.ndarray, frame: Frame | None = None) -> float:
        """The sum of `energies`, and in a step that begins in a tangle what held elements store instead."""
        energies, tangle = self.energies(q), self.tangle(frame)
        if tangle is not None:
            held_energies(q, *self._held(tangle), energies)
        return float(np.sum(energies))

    def add_gradient(self, q: np.ndarray, frame: Frame | None, out: np.ndarray) -> None:
        """Add volume P D⁻ᵀ of every element at its corners."""
        self.add(q, frame, out)

    def add(self, q: np.ndarray, frame: Frame | None, out: np.ndarray) -> float:
        """Energy and gradient from the same deformation gradients."""
        energies, shares = np.empty(len(self)), np.empty((4 * len(self), 3))
        e, tangle = self.elements, self.tangle(frame)
        self.loops.force_pass(0, len(self), q, *e.of, self.interpolants, energies, e.slots, shares)
        if tangle is not None:
            held_energies(q, *self._held(tangle), energies)
            held_shares(q, *self._held(tangle), e.slots, shares)
        gather(0, self.n, e.starts, shares, out)
        return float(np.sum(energies))

    def hessians(self, q: np.ndarray, *, positive: bool = True) -> np.ndarray:
        """Second derivatives of the elements (m, 12, 12), N/m; `positive`: without negative eigenvalues of ∂²W/∂F²."""
        blocks = np.empty((len(self), 12, 12))
        self.loops.hessian_pass(0, len(self), q, *self.elements.of, self.interpolants, positive, blocks)
        return blocks

    def hessian(self, q: np.ndarray, frame: Frame | None = None) -> Blocks:
        """The second derivatives, positive semidefinite in every element."""
        blocks, tangle = self.hessians(q), self.tangle(frame)
        if tangle is not None:  # κ volume AᵀA, for x, y and z alike
            a, w = self.proxy.operator[tangle.elements], self.proxy.weights[tangle.elements]
            alike = np.einsum("e,eri,erk->eik", w, a, a)
            blocks[tangle.elements] = np.einsum("eik,cd->eickd", alike, np.eye(3)).reshape(-1, 12, 12)
        return Blocks(self.vertices, blocks, definite=True)

    def diagonal_blocks(self, q: np.ndarray, *, positive: bool = True) -> np.ndarray:
        """The 3 x 3 blocks (n, 3, 3) on the diagonal of the Hessian, without what is off it."""
        shares, six, e = np.empty((4 * len(self), 6)), np.zeros((self.n, 6)), self.elements
        self.loops.diagonal_pass(0, len(self), q, *e.of, self.interpolants, positive, e.slots, shares)
        gather(0, self.n, e.starts, shares, six)
        return six[:, [0, 5, 4, 5, 1, 3, 4, 3, 2]].reshape(-1, 3, 3)

    def diagonal(self, q: np.ndarray, *, positive: bool = True) -> np.ndarray:
        """The diagonal of the Hessian (n, 3): what a Jacobi preconditioner takes [fratarcangeli2018, Eq. 47]."""
        blocks = self.diagonal_blocks(q, positive=positive)
        return np.stack([blocks[:, c, c] for c in range(3)], axis=1)

    # --- for projective dynamics ---

    @cached_property
    def proxy(self) -> ConstraintGroup:
        """A constant matrix κ volume AᵀA of each element: what Y has of them [liu2017]. κ is λ + 2 μ at rest."""
        e = self.elements
        inverse = e.inverse.reshape(-1, 3, 3)
        columns = np.swapaxes(inverse, 1, 2)
        operator = np.concatenate([-columns.sum(axis=2, keepdims=True), columns], axis=2)
        return ConstraintGroup(PROXY, self.vertices, operator, self.stiffness * e.volumes, np.zeros((len(self), 0)))

    @property
    def stiffness(self) -> np.ndarray:
        """λ + 2 μ of each element at rest (m,), Pa."""
        rows = self.elements.constants.reshape(-1, len(self.density.parameters) + 3)
        moduli = [self.density.moduli(row[:-3].tolist()) for row in rows]
        found: np.ndarray = np.array([lam + 2 * mu for mu, lam in moduli])[self.elements.which]
        return found

    # --- conversion ---

    def stretches(self, q: np.ndarray) -> np.ndarray:
        """The principal stretches σ₁ ≥ σ₂ ≥ |σ₃| of each element (m, 3); σ₃ < 0 where it is inverted."""
        out = np.empty((len(self), 3))
        principal_stretches(0, len(self), q, self.elements.vertices, self.elements.inverse, out)
        return out

    def converted(self, q: np.ndarray) -> np.ndarray:
        """How far each element is converted (m,): 0 not at all, 1 wholly, the colours of the paper's figure 16.

        1 as well where a step that begins at q holds it to a rotation (see `tangles`).
        """
        found, held = np.zeros(len(self)), self._held_at(q) if self.untangles else None
        if self.conversion is not None and self.conversion.way == "held":
            found = self.interpolants.copy()
        elif self.conversion is not None:
            found = smooth_interpolants(self.stretches(q), *self._range)
        if held is not None:
            found[held] = 1.0
        return found

    # --- tangles ---

    def tangle(self, frame: Frame | None) -> Tangle | None:
        """What is held in a step that begins at `frame.previous`; None where nothing is inverted there."""
        if frame is None or not self.untangles:
            return None
        seen = self._seen
        if seen is None or seen[0] is not frame:
            seen = self._seen = frame, self._find(frame)
        return seen[1]

    def _find(self, frame: Frame) -> Tangle | None:
        q, e = frame.s, self.elements
        flags = self._held_at(frame.previous)
        if flags is None:
            return None
        if frame.pinned is not None and len(frame.pinned):
            q = q.copy()
            q[frame.pinned] = frame.targets
        return tangle_of(flags, q, self.rest, (e.vertices, e.inverse, e.volumes), frame.pinned)

    def _held_at(self, q: np.ndarray) -> np.ndarray | None:
        """Which elements are held in a step from q (m,); None where nothing is inverted."""
        flags = inverted_elements(q, self.elements.vertices)
        if flags is None:
            return None
        flags |= ~(self.energies(q) <= ABSURD * self.proxy.weights)
        return tangled_elements(flags, self.elements.vertices, self.elements.volumes, self.n)

    def _held(self, tangle: Tangle) -> tuple[np.ndarray, ...]:
        """What passes over held elements begin with, after the positions."""
        weights = self.proxy.weights[tangle.elements]
        return self.elements.vertices, self.elements.inverse, weights, tangle.elements, tangle.turns

    def update(self, q: np.ndarray) -> None:
        """Interpolants of the next iteration, by Eq. 45; nothing to do unless conversion is "held"."""
        if self.conversion is not None and self.conversion.way == "held":
            found = interpolants(self.stretches(q), self.interpolants, *self._range, self.conversion.memory)
            self.interpolants[:] = found

    def copy(self) -> Hyperelastic:
        """The same term with interpolants of its own, for a solver that updates them: a model's terms do not change."""
        other = copy.copy(self)
        other.interpolants = self.interpolants.copy()
        return other

    def scaled(self, factor: float) -> Hyperelastic:
        """The same body, `factor` times as stiff."""
        other, e = self.copy(), self.elements
        other.__dict__.pop("proxy", None)
        other.elements = Elements(e.vertices, e.inverse, e.volumes * factor, *(e.which, e.constants, e.starts, e.slots))
        return other

    def renumbered(self, mesh: Mesh) -> Hyperelastic:
        """The same elements on the vertices of a mesh that has the same tetrahedra in the same order: after a cut."""
        if len(mesh.tets) != len(self):
            raise InputError(f"a body of {len(self)} tetrahedra goes on with as many, not with {len(mesh.tets)}")
        return self._on(mesh, np.ascontiguousarray(mesh.tets, np.int32))

    def placed(self, mesh: Mesh, first: int) -> Hyperelastic:
        """The same elements on the vertices of a mesh that it has become part of, counted on from `first`."""
        return self._on(mesh, self.vertices + np.int32(first))

    def _on(self, mesh: Mesh, vertices: np.ndarray) -> Hyperelastic:
        other, e = self.copy(), self.elements
        for name in ("proxy", "_seen"):
            other.__dict__.pop(name, None)
        other.n, other.vertices = mesh.n_vertices, vertices
        other.rest = np.array(mesh.vertices, np.float64)
        corners = other.vertices.ravel()
        other.elements = Elements(corners, e.inverse, e.volumes, e.which, e.constants, *slots_of(corners, other.n))
        return other

    @property
    def stiffest(self) -> float:
        """The largest diagonal entry that one element adds to the Hessian at rest, about (N/m): see `Model.pin`."""
        stiff = self.stiffness * self.elements.volumes
        inverse = self.elements.inverse.reshape(-1, 3, 3)
        corners = np.concatenate([inverse, inverse.sum(axis=1, keepdims=True)], axis=1)
        return float((stiff * (corners**2).sum(axis=2).max(axis=1)).max(initial=0.0))

    @property
    def _range(self) -> tuple[float, float]:
        """λ⁻ and λ⁺."""
        count = len(self.density.parameters)
        return float(self.elements.constants[count]), float(self.elements.constants[count + 1])
