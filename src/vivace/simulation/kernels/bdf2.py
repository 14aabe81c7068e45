"""BDF2 around the solve: what the step begins from, the energy that it may have, and the new velocities.

See `integrators` for the equations. Energies are added up in float64 from float32 positions, in blocks of fixed
length and then by one thread, so that they are the same on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt

import numpy as np

from ...backends.cpu.arguments import double, doubles, floats, ints, phase_kernel, rows, scalar
from ...backends.cpu.compiling import compiled, inlined
from ...backends.cpu.simd import at, dot4, lane4, load4, make4, splat4, store4
from ...backends.cpu.templates import cacheable, specialised
from ...solvers.projective.kernels.acceleration import BLOCK

LABEL = "prediction and update"  # what phases of these kernels are reported under

# Slots of the state (float64).
STORED, MOVING, CREDIT, LATE, NEW_STORED, LEFT = range(6)  # energies (J)
OVER, FACTOR, MEAN = range(6, 9)  # whether new is to be measured; what is left of velocities, and their mean
STATE_SIZE = 11
WORK, KINETIC = 4, 4  # columns of the sums over vertices
LENT = 0.01  # share of the kinetic energy of late that may be lost and come back
FORGOTTEN = 0.02  # share of that energy that is forgotten in a step
SLACK = 1e-6  # share of the energy that rounding may add before positions are taken back

VERTICES = ROWS = PARAMETERS = 0  # stand-ins, as in `kernels.local`


def project(z, parameters, p):  # stand-in
    """Nearest point of the constraint's set."""


def evaluate(x, parameters, gradient):  # stand-in
    """C and its gradient."""


@phase_kernel(items="from_q")
def extrapolate(
    begin, end, iteration, q: rows, v: rows, q_before: rows, v_before: rows, fresh: floats, from_q: rows, from_v: rows,
    acceleration: rows, pulled: rows, h: scalar,
):  # fmt: skip
    """Q = (4 q_n - q_(n-1))/3 and V = (4 v_n - v_(n-1))/3; where there is no history, q_n + h v_n/3 and v_n.

    `pulled`: a copy of the accelerations, whose work is asked for when the step ends.
    """
    third = np.float32(1.0 / 3.0)
    for i in range(begin, end):
        qi, vi = load4(q, i), load4(v, i)
        store4(pulled, i, load4(acceleration, i))
        if at(fresh, i) > 0:
            store4(from_q, i, qi + (third * h) * vi)
            store4(from_v, i, vi)
        else:
            store4(from_q, i, qi + third * (qi - load4(q_before, i)))
            store4(from_v, i, vi + third * (vi - load4(v_before, i)))


@phase_kernel(items="q_before")
def look_back(
    begin, end, iteration, q: rows, v: rows, q_before: rows, v_before: rows, fresh: floats, from_q: rows, from_v: rows,
    new: rows, h: scalar,
):  # fmt: skip
    """A history from the acceleration a that a first solve has found: q - h v + h² a/2 and v - h a."""
    rate = np.float32(1.5)  # h / h_e
    for i in range(begin, end):
        qi, vi = load4(q, i), load4(v, i)
        gained = rate * (rate * (load4(new, i) - load4(from_q, i)) - h * load4(from_v, i))  # h² a
        store4(q_before, i, qi - h * vi + np.float32(0.5) * gained)
        store4(v_before, i, vi - (np.float32(1.0) / h) * gained)
        fresh[i] = np.float32(0.0)


# --- what is stored in the constraints ------------------------------------------------------------------------------


def _stored_template(
    begin, end, iteration, vertices: ints, operator: doubles, weights: doubles, parameters: doubles, sums: doubles,
    q: rows, partial: doubles, state: doubles,
):  # fmt: skip
    """Σ w/2 ‖z - p‖² over constraints in blocks, where it is asked for."""
    if state[OVER] == 0.0:
        return
    z, p = np.empty((ROWS, 3)), np.empty((ROWS, 3))
    for first in range(begin, end, BLOCK):
        total = 0.0
        for c in range(first, min(first + BLOCK, end)):
            origin = vertices[c * VERTICES]
            for r in range(ROWS):
                for d in range(3):
                    z[r, d] = sums[c * ROWS + r] * np.float64(q[origin, d])
                for k in range(1, VERTICES):
                    a, i = operator[(c * ROWS + r) * VERTICES + k], vertices[c * VERTICES + k]
                    for d in range(3):
                        z[r, d] += a * (np.float64(q[i, d]) - np.float64(q[origin, d]))
            project(z, parameters[c * PARAMETERS : (c + 1) * PARAMETERS], p)
            square = 0.0
            for r in range(ROWS):
                for d in range(3):
                    square += (z[r, d] - p[r, d]) ** 2
            total += 0.5 * weights[c] * square
        partial[first // BLOCK] = total


def _valued_template(
    begin, end, iteration, vertices: ints, weights: doubles, parameters: doubles, q: rows, partial: doubles,
    state: doubles,
):  # fmt: skip
    """Σ w/2 C² over constraints in blocks, where it is asked for. The table is that of `_stored_template`."""
    if state[OVER] == 0.0:
        return
    x, gradient = np.empty((VERTICES, 3)), np.empty((VERTICES, 3))
    for first in range(begin, end, BLOCK):
        total = 0.0
        for c in range(first, min(first + BLOCK, end)):
            for k in range(VERTICES):
                for d in range(3):
                    x[k, d] = np.float64(q[vertices[c * VERTICES + k], d])
            value = evaluate(x, parameters[c * PARAMETERS : (c + 1) * PARAMETERS], gradient)
            total += 0.5 * weights[c] * value * value
        partial[first // BLOCK] = total


@cache
def stored_pass(function: Callable, vertices: int, rows: int, parameters: int) -> phase_kernel:
    """The energy of constraints with `function` as their projection."""
    numbers = {"VERTICES": vertices, "ROWS": rows, "PARAMETERS": parameters}
    return phase_kernel(specialised(_stored_template, function, **numbers), cache=cacheable(function))


@cache
def valued_pass(function: Callable, vertices: int, rows: int, parameters: int) -> phase_kernel:
    """The energy of constraints that are known by their value, `function`."""
    numbers = {"VERTICES": vertices, "ROWS": rows, "PARAMETERS": parameters}
    return phase_kernel(specialised(_valued_template, function, "evaluate", **numbers), cache=cacheable(function))


# --- the balance of energies ----------------------------------------------------------------------------------------


@phase_kernel
def ask(begin, end, iteration, state: doubles):
    """The new positions are to be measured."""
    state[OVER] = 1.0


@inlined
def _pinned(weight, x, target):
    """w/2 |x - target|² in float64."""
    dx = np.float64(lane4(x, 0)) - np.float64(lane4(target, 0))
    dy = np.float64(lane4(x, 1)) - np.float64(lane4(target, 1))
    dz = np.float64(lane4(x, 2)) - np.float64(lane4(target, 2))
    return 0.5 * np.float64(weight) * (dx * dx + dy * dy + dz * dz)


@phase_kernel(items="q")
def work_blocks(
    begin, end, iteration, q: rows, new: rows, pulled: rows, masses: doubles, pin: floats, target: rows,
    partial: doubles, state: doubles,
):  # fmt: skip
    """In blocks: the work of external forces from q to new, what pins store at q and at new, and ½ Σ m |new - q|².

    Pins are where they are now.
    """
    if state[OVER] == 0.0:
        return
    for first in range(begin, end, BLOCK):
        work, held, holding, way = 0.0, 0.0, 0.0, 0.0
        for i in range(first, min(first + BLOCK, end)):
            qi, ni = load4(q, i), load4(new, i)
            work += masses[i] * np.float64(dot4(load4(pulled, i), ni - qi))
            way += 0.5 * masses[i] * np.float64(dot4(ni - qi, ni - qi))
            if at(pin, i) > 0:
                ti = load4(target, i)
                held += _pinned(at(pin, i), qi, ti)
                holding += _pinned(at(pin, i), ni, ti)
        block = WORK * (first // BLOCK)
        partial[block], partial[block + 1], partial[block + 2], partial[block + 3] = work, held, holding, way


@phase_kernel
def weigh(begin, end, iteration, stored: doubles, worked: doubles, state: doubles, least: double):
    """What is left for motion at the new positions; OVER says that it is less than nothing.

    `least`: 1/h² for what touches, whose velocities need not be smaller than Euler's, else 0.
    """
    if state[OVER] == 0.0:
        return
    total, work, held, holding, way = 0.0, 0.0, 0.0, 0.0, 0.0
    for b in range(stored.shape[0]):
        total += stored[b]
    for b in range(worked.shape[0] // WORK):
        work += worked[WORK * b]
        held += worked[WORK * b + 1]
        holding += worked[WORK * b + 2]
        way += worked[WORK * b + 3]
    had = state[MOVING] + state[STORED] + state[CREDIT] + held
    left = had + work - total - holding
    if least > 0.0:
        left = max(left, least * way)
    state[NEW_STORED], state[LEFT] = total, left
    state[OVER] = 0.0 if left >= -SLACK * had else 1.0  # also when it is not a number


@phase_kernel(items="new")
def retreat(begin, end, iteration, q: rows, new: rows, state: doubles, share: scalar):
    """new goes half the way back to q, or all of it (`share`), where its energy is too high."""
    if state[OVER] == 0.0:
        return
    for i in range(begin, end):
        qi = load4(q, i)
        store4(new, i, qi + share * (load4(new, i) - qi) if share > 0 else qi)


@phase_kernel(items="from_v")
def land(begin, end, iteration, new: rows, q: rows, v: rows, q_before: rows, fresh: floats, from_v: rows, h: scalar):
    """v = (new - Q)/h_e, written to where V was. Without a history, V + (v - V) h/h_e: acceleration over all of h."""
    third, rate = np.float32(1.0 / 3.0), np.float32(1.5) / h
    for i in range(begin, end):
        qi, vi = load4(q, i), load4(v, i)
        moved = load4(new, i) - qi
        if at(fresh, i) > 0:
            speed = rate * (moved - (third * h) * vi)
            store4(from_v, i, vi + np.float32(1.5) * (speed - vi))
        else:
            store4(from_v, i, rate * (moved - third * (qi - load4(q_before, i))))


@phase_kernel(items="v")
def kinetic_blocks(begin, end, iteration, v: rows, masses: doubles, partial: doubles):
    """½ Σ m v² and Σ m v in blocks."""
    for first in range(begin, end, BLOCK):
        moving, px, py, pz = 0.0, 0.0, 0.0, 0.0
        for i in range(first, min(first + BLOCK, end)):
            vi, m = load4(v, i), masses[i]
            x, y, z = np.float64(lane4(vi, 0)), np.float64(lane4(vi, 1)), np.float64(lane4(vi, 2))
            moving += 0.5 * m * (x * x + y * y + z * z)
            px += m * x
            py += m * y
            pz += m * z
        block = KINETIC * (first // BLOCK)
        partial[block], partial[block + 1], partial[block + 2], partial[block + 3] = moving, px, py, pz


@phase_kernel
def balance(begin, end, iteration, partial: doubles, state: doubles, mass: double):
    """How much of the new velocities there is energy for. What moves all vertices alike is kept as long as possible."""
    moving, px, py, pz = 0.0, 0.0, 0.0, 0.0
    for b in range(partial.shape[0] // KINETIC):
        moving += partial[KINETIC * b]
        px += partial[KINETIC * b + 1]
        py += partial[KINETIC * b + 2]
        pz += partial[KINETIC * b + 3]
    left = max(0.0, state[LEFT])
    together = 0.5 * (px * px + py * py + pz * pz) / mass
    factor, common = 1.0, 1.0
    if moving > left:
        if left >= together and moving > together:
            factor = sqrt((left - together) / (moving - together))
        else:
            factor, common = 0.0, sqrt(left / together) if together > 0.0 else 0.0
        moving = left
    state[FACTOR] = factor
    state[MEAN], state[MEAN + 1], state[MEAN + 2] = common * px / mass, common * py / mass, common * pz / mass
    late = max(moving, (1.0 - FORGOTTEN) * state[LATE])
    owed = -SLACK * (state[STORED] + state[MOVING])  # what rounding has added is a debt; what obstacles do is not
    state[CREDIT] = min(max(state[LEFT] - moving, owed), LENT * late)
    state[STORED], state[MOVING], state[LATE] = state[NEW_STORED], moving, late


@phase_kernel(items="q")
def shift(
    begin, end, iteration, new: rows, newer: rows, q: rows, v: rows, q_before: rows, v_before: rows, fresh: floats,
    state: doubles, mass: doubles,
):  # fmt: skip
    """q_(n-1) = q, v_(n-1) = v, q = new, v = the new velocities scaled; there is a history now."""
    factor = np.float32(state[FACTOR])
    x, y, z = np.float32(state[MEAN]), np.float32(state[MEAN + 1]), np.float32(state[MEAN + 2])
    mean = make4(x, y, z, np.float32(0.0)) if mass[0] > 0 else splat4(np.float32(0.0))
    for i in range(begin, end):
        store4(q_before, i, load4(q, i))
        store4(v_before, i, load4(v, i))
        store4(q, i, load4(new, i))
        vi = load4(newer, i)
        store4(v, i, mean + factor * (vi - mean) if factor < 1 else vi)
        fresh[i] = np.float32(0.0)


@phase_kernel
def begin_balance(begin, end, iteration, stored: doubles, moved: doubles, state: doubles):
    """The energies at the beginning of a history, from sums in blocks."""
    total, moving = 0.0, 0.0
    for b in range(stored.shape[0]):
        total += stored[b]
    for b in range(moved.shape[0] // KINETIC):
        moving += moved[KINETIC * b]
    state[STORED], state[MOVING], state[LATE], state[CREDIT] = total, moving, moving, 0.0


# --- what touches ---------------------------------------------------------------------------------------------------


@compiled
def settle(touching, vertices, coefficients, planes, q, new, v, weights, h):
    """Velocities of what touches: an obstacle must not throw back what it stops.

    v is an extrapolation, and overshoots where motion ends suddenly. So it may differ from (new - q)/h by half of that
    at most, and it does not lead away from a contact's plane faster than the step itself has. `weights`: 1/m.
    """
    for i in touching:
        gap, size = 0.0, 0.0
        for d in range(3):
            mean = (new[i, d] - q[i, d]) / h
            gap += (v[i, d] - mean) ** 2
            size += mean * mean
        if gap > 0.25 * size:
            share = 0.5 * sqrt(size / gap)
            for d in range(3):
                mean = (new[i, d] - q[i, d]) / h
                v[i, d] = mean + share * (v[i, d] - mean)
    for c in range(vertices.shape[0]):
        leaving, moved, softness = 0.0, 0.0, 0.0
        for k in range(vertices.shape[1]):
            i, a = vertices[c, k], coefficients[c, k]
            softness += a * a * weights[i]
            for d in range(3):
                leaving += a * planes[c, d] * v[i, d]
                moved += a * planes[c, d] * (new[i, d] - q[i, d]) / h
        over = leaving - max(moved, 0.0)
        if over > 0.0 and softness > 0.0:
            for k in range(vertices.shape[1]):
                i = vertices[c, k]
                for d in range(3):
                    v[i, d] -= over * coefficients[c, k] * weights[i] * planes[c, d] / softness
