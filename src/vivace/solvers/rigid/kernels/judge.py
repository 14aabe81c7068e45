"""What is made of an iteration: its residual, and whether it is taken back because it leads away [thesis2010, 3.5]."""

from __future__ import annotations

from ....backends.cpu.addresses import double_at, put_double
from ....backends.cpu.arguments import doubles, ints, phase_kernel
from ....backends.cpu.compiling import function
from .factorised import BODY, RATES, ROW, add_contact

LABEL = "convergence"
# Slots of `record`: residual of the last iteration that was kept, the smallest so far, tries that are left, how many
# times the smallest a residual must be to count as divergence, the factor ν, and how many residuals are recorded.
LAST, SMALLEST, TRIES, GROWTH, FACTOR, KEPT = 0, 1, 2, 3, 4, 5
RECORD = 8
VALUE, THRESHOLD = 0, 1  # of a plan's monitor


@function
def leads_away(change, record, residuals, monitor):
    """The residual (3.31) of an iteration; whether it is to be taken back."""
    largest = 0.0
    for k in range(change.shape[0]):
        if not change[k] <= largest:  # a NaN is the largest of all
            largest = change[k]
    away = record[TRIES] > 0 and not largest <= record[GROWTH] * record[SMALLEST]
    if away:
        record[TRIES] -= 1
        return True
    record[LAST] = largest
    if largest < record[SMALLEST]:
        record[SMALLEST] = largest
    kept = int(record[KEPT])
    if kept < residuals.shape[0]:
        residuals[kept] = largest
        record[KEPT] = kept + 1
    monitor[VALUE] = largest
    return False


@phase_kernel
def judge_factorised(
    begin, end, iteration, change: doubles, record: doubles, residuals: doubles, monitor: doubles, impulses: doubles,
    previous: doubles, starts: ints, touching: ints, rows: doubles.address, bodies: doubles.address,
    w: doubles.address,
):  # fmt: skip
    """Keep the iteration, or go back to the impulses before it with r-factors ν times as large."""
    if leads_away(change, record, residuals, monitor):
        for at in range(impulses.shape[0]):
            impulses[at] = previous[at]
        for k in range(impulses.shape[0] // 4):
            for c in range(ROW * k + RATES, ROW * k + RATES + 3):
                put_double(rows, c, record[FACTOR] * double_at(rows, c))
        for m in range(starts.shape[0] - 1):
            for c in range(BODY * m, BODY * m + 6):
                put_double(w, c, 0.0)
            for e in range(starts[m], starts[m + 1]):
                k, side = touching[e] // 2, touching[e] % 2
                n, s, t, r = impulses[4 * k], impulses[4 * k + 1], impulses[4 * k + 2], impulses[4 * k + 3]
                add_contact(w, bodies, m, rows, k, side, n, s, t, r)


@phase_kernel
def judge_matrix(
    begin, end, iteration, change: doubles, record: doubles, residuals: doubles, monitor: doubles, impulses: doubles,
    previous: doubles, rates: doubles,
):  # fmt: skip
    """The same where R stands beside A: R₁ = ν R₀ (3.13)."""
    if leads_away(change, record, residuals, monitor):
        for at in range(impulses.shape[0]):
            impulses[at] = previous[at]
            rates[at] *= record[FACTOR]


@phase_kernel
def judge_t(
    begin, end, iteration, change: doubles, record: doubles, residuals: doubles, monitor: doubles, impulses: doubles,
    previous: doubles, starts: ints, columns: ints, matrix: doubles, constant: doubles,
):  # fmt: skip
    """The same where R is inside: T₁ = 1 - ν (1 - T₀), the diagonal apart (3.17), and c₁ = ν c₀ (3.14)."""
    if leads_away(change, record, residuals, monitor):
        factor = record[FACTOR]
        for at in range(impulses.shape[0]):
            impulses[at] = previous[at]
            constant[at] *= factor
        for k in range(starts.shape[0] - 1):
            for e in range(starts[k], starts[k + 1]):
                for c in range(16):
                    matrix[16 * e + c] *= factor
                if columns[e] == k:
                    for c in range(4):
                        matrix[16 * e + 5 * c] += 1.0 - factor
