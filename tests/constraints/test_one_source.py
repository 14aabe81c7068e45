"""The maths of a constraint has one source: the functions of its own file. What else there is of it is in this table.

A projection is compiled into most loops as it is (`local_pass`, `stored_pass`, `any_kernel`, ...). What is written out
for speed, or measured elsewhere, is named here beside the function that it is held to, in float64, on shapes that
include those without length, area or volume. A form that is not in the table fails; so does a name that is gone.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from dataclasses import replace

import pytest

import vivace
from vivace.backends.cpu.arguments import phase_kernel
from vivace.constraints import CONSTRAINTS
from vivace.solvers.position_based.kernels.positional_wide import WIDE

from . import corner_forms as corners
from . import membrane_forms as membranes
from . import spring_forms as springs
from . import tet_forms as tets

# constraint, its reference: {another form of it: what holds the two together}
TABLE = {
    # E = w/2 (|d| - l)²
    ("spring", "constraints.spring.Spring.project"): {
        "constraints.spring.stretch": corners.rows_of_a_distance,
        "solvers.position_based.kernels.positional_wide.stretch_pass": corners.wide_pass,
        "solvers.position_based.pbd_vivace._gradients_at_rest": springs.gradients_at,
        "solvers.projective.kernels.sweep.add_springs": springs.pull,
        "solvers.projective.kernels.blocks3.block": springs.newton_block,
        "solvers.projective.kernels.blocks3.turning": springs.gain_by_turning,
        "solvers.projective.kernels.block_galerkin.turn_springs": springs.turned_pairs,
        "solvers.projective.kernels.block_galerkin.wrap_entries": springs.wrapped_entries,
        "solvers.projective.kernels.block_galerkin.turning_blocks": springs.turned_energy,
        "solvers.projective.kernels.lattice_cells._spring_block": springs.lattice_block,
        "solvers.projective.kernels.lattice_cells.planar_cells": springs.lattice_cells,
        "terms.curvature.spring_curvature": springs.closed_form,
        "mesh.kernels.strain.edge_strain": springs.strain_of_edges,
        "bench.motion.stretch": springs.strain_of_models,
    },
    # E = w/2 ‖Σ c x‖²
    ("hinge", "constraints.hinge.Hinge.prepare"): {
        "constraints.hinge.flat_hinge": corners.rows_of_a_distance,
        "solvers.position_based.kernels.positional_wide.flat_hinge_pass": corners.wide_pass,
    },
    # E = w/2 (‖Σ c x‖ - its size at rest)²: a spring's projection
    ("curved-hinge", "constraints.spring.Spring.project"): {
        "constraints.hinge.curved_hinge": corners.rows_of_a_distance,
        "solvers.position_based.kernels.positional_wide.curved_hinge_pass": corners.wide_pass,
    },
    # C = θ - θ₀
    ("dihedral", "constraints.dihedral.Dihedral.evaluate"): {
        "constraints.dihedral.dihedral": corners.rows_of_an_angle,
        "constraints.dihedral.angles": corners.angles_at_rest,
    },
    # C = V - V₀
    ("volume", "constraints.volume.Volume.evaluate"): {
        "constraints.volume.volume": corners.rows_of_a_volume,
        "constraints.tetrahedron.gradient_operator": corners.volumes_at_rest,
        "mesh.measure.tet_volumes": corners.signed_volumes,
    },
    # E = w/2 ‖F - R‖²
    ("tet-strain", "constraints.tetrahedron.TetStrain.project"): {
        "constraints.kernels.rotation.local_rotations": tets.strain_pass,
        "solvers.projective.kernels.blocks3.block": tets.strain_at_vertices,
        "solvers.projective.kernels.block_galerkin.wrap_entries": tets.strain_entries,
        "solvers.projective.kernels.lattice_cells._add_tet": tets.lattice_strain,
    },
    # E = w/2 ‖F - G‖²; its curvature is that across the set det F = 1, along the gradient of the volume
    ("tet-volume", "constraints.tetrahedron.TetVolume.project"): {
        "constraints.kernels.volume.local_volumes": tets.volume_pass,
    },
    ("tet-volume", "constraints.volume.Volume.evaluate"): {
        "solvers.projective.kernels.block_galerkin.volume_normals": tets.volume_normals,
        "solvers.projective.kernels.block_galerkin.wrap_entries": tets.volume_entries,
        "solvers.projective.kernels.lattice_cells._add_volume": tets.lattice_volume,
    },
    # E = w/2 ‖z - p‖²: two fibres, and the right angle between them
    ("membrane", "constraints.membrane.Membrane.project"): {
        "constraints.kernels.membrane.local_membranes": membranes.local_pass,
        "solvers.projective.kernels.membrane_blocks.membrane_cells": membranes.lattice_cells,
        "solvers.projective.kernels.membrane_blocks.membrane_pairs": membranes.pairs,
        "solvers.projective.kernels.membrane_blocks.membrane_gains": membranes.gains,
    },
    # E = w/2 |x - target|²
    ("pin", "constraints.pin.Pin.prepare"): {
        "simulation.kernels.bdf2._pinned": corners.pinned_energy,
        "energy.system.System.energy": corners.pinned_system,
        "energy.system.System.gradient": corners.pinned_system,
    },
}
PARTS = {"length_of", "across_of", "cofactors"}  # what loops that have a constraint inside take from its file
PAIRS = [(*pair, form) for pair, forms in TABLE.items() for form in forms]


def resolve(name):
    """The thing of that dotted name in this package."""
    module, rest = vivace, name.split(".")
    while rest and importlib.util.find_spec(f"{module.__name__}.{rest[0]}") if hasattr(module, "__path__") else False:
        module = importlib.import_module(f"{module.__name__}.{rest.pop(0)}")
    for part in rest:
        module = getattr(module, part)
    return module


def name_of(thing):
    """The dotted name of a function, compiled or not, or of a kernel."""
    plain = plain_function(thing)
    return f"{plain.__module__}.{plain.__qualname__}".removeprefix("vivace.")


def plain_function(thing):
    return thing.function if isinstance(thing, phase_kernel) else getattr(thing, "py_func", thing)


def written_by_hand(kind):
    """The forms that a constraint registers, and the passes made of them four at a time."""
    forms = [form for form in (kind.kernel, kind.gradients) if form is not None]
    return {name_of(form) for form in (*forms, *(WIDE[form] for form in forms if form in WIDE))}


def missing(kinds):
    """Forms of built-in constraints that the table does not have."""
    held = {name: {form for (other, _), forms in TABLE.items() if other == name for form in forms} for name in kinds}
    built_in = {name: kind for name, kind in kinds.items() if kind.prepare.__module__.startswith("vivace.")}
    return sorted((name, form) for name, kind in built_in.items() for form in written_by_hand(kind) - held[name])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "reference", "form"), PAIRS, ids=[f"{name}: {form}" for name, _, form in PAIRS])
def test_another_form_is_held_to_its_reference(name, reference, form):
    """As the check's own sentence says, to the roundings of float32."""
    assert callable(resolve(reference))
    TABLE[name, reference][form](resolve(form), CONSTRAINTS[name])


@pytest.mark.parametrize(("name", "reference"), list(TABLE))
def test_references_are_the_constraints_own(name, reference):
    """What a constraint projects with, is valued by or is prepared by; the curvature of volumes is that of `volume`."""
    kind = CONSTRAINTS[name]
    own = [function for function in (kind.project, kind.evaluate, kind.prepare) if function is not None]
    assert reference in map(name_of, own) or (name, reference) == ("tet-volume", "constraints.volume.Volume.evaluate")


def test_every_form_that_a_constraint_registers_is_in_the_table():
    assert missing(CONSTRAINTS) == []


@pytest.mark.parametrize("form", ["kernel", "gradients"])
def test_a_form_without_an_entry_is_found(form):
    """A constraint of this package with a form by hand that no line of the table names."""
    other = {"kernel": CONSTRAINTS["tet-strain"].kernel, "gradients": CONSTRAINTS["volume"].gradients}[form]
    new = replace(CONSTRAINTS["weld"], **{form: other})
    assert missing({**CONSTRAINTS, "weld": new}) == [("weld", name_of(other))]


def test_every_loop_that_takes_a_part_of_the_maths_is_in_the_table():
    """Whatever compiled function calls `length_of`, `across_of` or `cofactors` is a form, or the reference itself."""
    for module in pkgutil.walk_packages(vivace.__path__, "vivace."):
        if ".kernels." in module.name or ".constraints." in module.name:
            importlib.import_module(module.name)
    known = {form for forms in TABLE.values() for form in forms} | {reference for _, reference in TABLE}
    found = set()
    for module in [m for name, m in sys.modules.items() if name.startswith("vivace.")]:
        for thing in vars(module).values():
            compiled = isinstance(thing, phase_kernel) or hasattr(thing, "py_func")
            if compiled and PARTS & set(plain_function(thing).__code__.co_names):
                found.add(name_of(thing))
    assert len(found) >= 12
    assert found <= known


def test_a_volume_pulls_across_its_set():
    """For F' off the set, F' - p is normal to it at p, as ∂(det F)/∂F is: the two references of tet-volume agree."""
    tets.normals_agree(CONSTRAINTS["tet-volume"])
