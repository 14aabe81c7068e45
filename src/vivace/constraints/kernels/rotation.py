"""The rotation nearest to a 3 x 3 matrix.

`nearest_rotation` works one matrix at a time through the eigenvectors of FᵀF, in float64. It returns a rotation for
every input, inverted, flat, collapsed to a line or to a point included, and the nearest one to within 1e-16 (σ₁/σ₂)².
`local_rotations` does four tetrahedra at once with Markley's closed
form [markley1993]: for B with singular values σ (the smallest signed like det B) and λ = σ₁ + σ₂ + σ₃,

    R = ((κ + ‖B‖²) B + λ cof(B) - B Bᵀ B) / ζ,     κ = (λ² - ‖B‖²)/2,     ζ = κ λ - det B = Π (σ_i + σ_j)

and λ is the largest root of the quartic (λ² - ‖B‖²)² - 8 λ det B - 4 ‖cof B‖². ζ vanishes where the nearest rotation is
not unique (σ₂ = -σ₃, some inverted shapes); near there, and where Newton has not converged, it goes to the slow way.
[fratarcangeli2018, section 2.3] takes the invariants of FᵀF for the same purpose, which squares F's condition.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import floats, ints, phase_kernel, rows
from ...backends.cpu.compiling import carray, compiled, function, inlined
from ...backends.cpu.memory import nine_doubles
from ...backends.cpu.simd import (
    any_greater4,
    at,
    lane4,
    load4,
    load4_flat,
    make4,
    splat4,
    sqrt4,
    store4,
    transpose4,
)
from ...backends.cpu.vectors import cross, dot, larger

LABEL = "local passes"  # what phases of these kernels are reported under


@compiled
def _eigenvectors(s, v):
    """Jacobi's method: turn symmetric s (3 x 3, float64) diagonal in place; v gets the eigenvectors as columns."""
    for i in range(3):
        for j in range(3):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(12):
        off = s[0, 1] * s[0, 1] + s[0, 2] * s[0, 2] + s[1, 2] * s[1, 2]
        if off <= 1e-30 * (s[0, 0] * s[0, 0] + s[1, 1] * s[1, 1] + s[2, 2] * s[2, 2]):
            return
        for p in range(2):
            for q in range(p + 1, 3):
                if s[p, q] == 0.0:
                    continue
                theta = (s[q, q] - s[p, p]) / (2.0 * s[p, q])
                t = 1.0 / (abs(theta) + np.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / np.sqrt(t * t + 1.0)
                n = t * c
                for k in range(3):
                    a, b = s[k, p], s[k, q]
                    s[k, p], s[k, q] = c * a - n * b, n * a + c * b
                for k in range(3):
                    a, b = s[p, k], s[q, k]
                    s[p, k], s[q, k] = c * a - n * b, n * a + c * b
                    a, b = v[k, p], v[k, q]
                    v[k, p], v[k, q] = c * a - n * b, n * a + c * b


@compiled
def signed_svd(f, u, sigma, v):
    """f = u diag(sigma) vᵀ with u and v rotations: σ₁ ≥ σ₂ ≥ |σ₃|, and σ₃ has the sign of det f."""
    s = carray(nine_doubles(), (3, 3))
    w = carray(nine_doubles(), (3, 3))
    for i in range(3):
        for j in range(3):
            s[i, j] = f[0, i] * f[0, j] + f[1, i] * f[1, j] + f[2, i] * f[2, j]
    _eigenvectors(s, w)
    first, last = 0, 0
    for k in range(1, 3):
        if s[k, k] > s[first, first]:
            first = k
        if s[k, k] <= s[last, last]:
            last = k
    if first == last:
        first, last = 0, 2
    middle = 3 - first - last
    b = carray(nine_doubles(), (3, 3))
    for i in range(3):
        v[i, 0], v[i, 1] = w[i, first], w[i, middle]
    for i in range(3):  # the third axis by the right-hand rule, for both sides
        j, k = (i + 1) % 3, (i + 2) % 3
        v[i, 2] = v[j, 0] * v[k, 1] - v[k, 0] * v[j, 1]
    for i in range(3):
        for c in range(2):
            b[i, c] = f[i, 0] * v[0, c] + f[i, 1] * v[1, c] + f[i, 2] * v[2, c]
    size = np.sqrt(b[0, 0] * b[0, 0] + b[1, 0] * b[1, 0] + b[2, 0] * b[2, 0])
    if size > 1e-300:
        for i in range(3):
            u[i, 0] = b[i, 0] / size
    else:  # f is zero: every rotation is as near as any other, take the one that leaves things as they are
        for i in range(3):
            u[i, 0] = v[i, 0]
            b[i, 1] = v[i, 1]
    sigma[0] = size
    along = u[0, 0] * b[0, 1] + u[1, 0] * b[1, 1] + u[2, 0] * b[2, 1]
    for i in range(3):
        b[i, 1] -= along * u[i, 0]
    second = np.sqrt(b[0, 1] * b[0, 1] + b[1, 1] * b[1, 1] + b[2, 1] * b[2, 1])
    if second <= 1e-12 * size:  # collapsed to a line: any direction across it will do, v's own is the natural one
        for i in range(3):
            b[i, 1] = v[i, 1]
        along = u[0, 0] * b[0, 1] + u[1, 0] * b[1, 1] + u[2, 0] * b[2, 1]
        if abs(along) > 0.9:
            for i in range(3):
                b[i, 1] = v[i, 2]
            along = u[0, 0] * b[0, 1] + u[1, 0] * b[1, 1] + u[2, 0] * b[2, 1]
        for i in range(3):
            b[i, 1] -= along * u[i, 0]
        length = np.sqrt(b[0, 1] * b[0, 1] + b[1, 1] * b[1, 1] + b[2, 1] * b[2, 1])
        for i in range(3):
            u[i, 1] = b[i, 1] / length
    else:
        for i in range(3):
            u[i, 1] = b[i, 1] / second
    sigma[1] = second if size > 1e-300 else 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        u[i, 2] = u[j, 0] * u[k, 1] - u[k, 0] * u[j, 1]
    sigma[2] = 0.0
    for i in range(3):
        sigma[2] += u[i, 2] * (f[i, 0] * v[0, 2] + f[i, 1] * v[1, 2] + f[i, 2] * v[2, 2])


@compiled
def nearest_rotation(z, p):
    """p = the rotation nearest to z in the Frobenius norm. Transposing both changes nothing, so z may be F or Fᵀ."""
    f, u, v = carray(nine_doubles(), (3, 3)), carray(nine_doubles(), (3, 3)), carray(nine_doubles(), (3, 3))
    sigma = carray(nine_doubles(), (9,))
    for i in range(3):
        for j in range(3):
            f[i, j] = z[i, j]
    signed_svd(f, u, sigma, v)
    for i in range(3):
        for j in range(3):
            p[i, j] = u[i, 0] * v[j, 0] + u[i, 1] * v[j, 1] + u[i, 2] * v[j, 2]


# --- four at a time --------------------------------------------------------------------------------------------------


@inlined
def gradient(t, vertices, operator, q):
    """The columns of F of tetrahedron t."""
    x0 = load4(q, at(vertices, 4 * t))
    e1 = load4(q, at(vertices, 4 * t + 1)) - x0
    e2 = load4(q, at(vertices, 4 * t + 2)) - x0
    e3 = load4(q, at(vertices, 4 * t + 3)) - x0
    a = load4_flat(operator, 12 * t)
    b = load4_flat(operator, 12 * t + 4)
    c = load4_flat(operator, 12 * t + 8)
    return (
        lane4(a, 1) * e1 + lane4(a, 2) * e2 + lane4(a, 3) * e3,
        lane4(b, 1) * e1 + lane4(b, 2) * e2 + lane4(b, 3) * e3,
        lane4(c, 1) * e1 + lane4(c, 2) * e2 + lane4(c, 3) * e3,
    )


@inlined
def cofactors(f):
    """The columns of cof F = ∂ det F/∂F from those of F, and ‖cof F‖², which is never zero."""
    x, y, z = cross(f[1], f[2]), cross(f[2], f[0]), cross(f[0], f[1])
    return (x, y, z), larger(dot(x, x) + dot(y, y) + dot(z, z), np.float32(1e-20))


@inlined
def scatter(t, p, operator, weights, slots, out):
    """out[slot of corner k] = w Σ_r A_rk p_r for the four corners."""
    a = load4_flat(operator, 12 * t) * at(weights, t)
    b = load4_flat(operator, 12 * t + 4) * at(weights, t)
    c = load4_flat(operator, 12 * t + 8) * at(weights, t)
    store4(out, at(slots, 4 * t), lane4(a, 0) * p[0] + lane4(b, 0) * p[1] + lane4(c, 0) * p[2])
    store4(out, at(slots, 4 * t + 1), lane4(a, 1) * p[0] + lane4(b, 1) * p[1] + lane4(c, 1) * p[2])
    store4(out, at(slots, 4 * t + 2), lane4(a, 2) * p[0] + lane4(b, 2) * p[1] + lane4(c, 2) * p[2])
    store4(out, at(slots, 4 * t + 3), lane4(a, 3) * p[0] + lane4(b, 3) * p[1] + lane4(c, 3) * p[2])


@inlined
def one_by_one(f, nearest):
    """The slow, certain way for one matrix given by its columns: `nearest(z, p)` in float64."""
    z = carray(nine_doubles(), (3, 3))
    p = carray(nine_doubles(), (3, 3))
    z[0, 0], z[0, 1], z[0, 2] = lane4(f[0], 0), lane4(f[0], 1), lane4(f[0], 2)
    z[1, 0], z[1, 1], z[1, 2] = lane4(f[1], 0), lane4(f[1], 1), lane4(f[1], 2)
    z[2, 0], z[2, 1], z[2, 2] = lane4(f[2], 0), lane4(f[2], 1), lane4(f[2], 2)
    nearest(z, p)
    zero = np.float32(0.0)
    return (
        make4(np.float32(p[0, 0]), np.float32(p[0, 1]), np.float32(p[0, 2]), zero),
        make4(np.float32(p[1, 0]), np.float32(p[1, 1]), np.float32(p[1, 2]), zero),
        make4(np.float32(p[2, 0]), np.float32(p[2, 1]), np.float32(p[2, 2]), zero),
    )


@function
def rotation(f):
    """The rotation nearest to the matrix f, one matrix at a time in float64; see `one_by_one`."""
    return one_by_one(f, nearest_rotation)


@inlined
def rotations4(a, b, c, d):
    """Markley's closed form for four matrices, each given by its three columns (float4).

    Returns whether all four are beyond doubt, and their rotations in the same form.
    """
    # one lane a matrix: columns f, g, h of F
    fx, fy, fz, _ = transpose4(a[0], b[0], c[0], d[0])
    gx, gy, gz, _ = transpose4(a[1], b[1], c[1], d[1])
    hx, hy, hz, _ = transpose4(a[2], b[2], c[2], d[2])
    # columns of cof(F): g x h, h x f, f x g
    px, py, pz = gy * hz - gz * hy, gz * hx - gx * hz, gx * hy - gy * hx
    qx, qy, qz = hy * fz - hz * fy, hz * fx - hx * fz, hx * fy - hy * fx
    rx, ry, rz = fy * gz - fz * gy, fz * gx - fx * gz, fx * gy - fy * gx
    # the symmetric FᵀF
    ff, gg, hh = fx * fx + fy * fy + fz * fz, gx * gx + gy * gy + gz * gz, hx * hx + hy * hy + hz * hz
    fg, fh, gh = fx * gx + fy * gy + fz * gz, fx * hx + fy * hy + fz * hz, gx * hx + gy * hy + gz * hz
    norm = ff + gg + hh
    det = fx * px + fy * py + fz * pz
    cofactors = px * px + py * py + pz * pz + qx * qx + qy * qy + qz * qz + rx * rx + ry * ry + rz * rz
    # Newton on the quartic, from above: λ ≤ √3 ‖F‖
    four, eight = splat4(np.float32(4.0)), splat4(np.float32(8.0))
    lam = sqrt4(splat4(np.float32(3.0)) * norm)
    step = lam
    for _ in range(6):
        square = lam * lam - norm
        step = (square * square - eight * lam * det - four * cofactors) / (four * lam * square - eight * det)
        lam = lam - step
    kappa = splat4(np.float32(0.5)) * (lam * lam - norm)
    zeta = kappa * lam - det
    # near σ₂ + σ₃ = 0, unfinished Newton, or not a number
    doubtful = any_greater4(splat4(np.float32(0.02)) * norm * sqrt4(norm), zeta)
    doubtful = doubtful or any_greater4(step * step, splat4(np.float32(1e-8)) * norm)
    scale = splat4(np.float32(1.0)) / zeta
    own = (kappa + norm) * scale
    lam = lam * scale
    ff, gg, hh = own - ff * scale, own - gg * scale, own - hh * scale
    fg, fh, gh = fg * scale, fh * scale, gh * scale
    # R = F (own I - FᵀF/ζ) + (λ/ζ) cof F, column by column
    ux = fx * ff - gx * fg - hx * fh + lam * px
    uy = fy * ff - gy * fg - hy * fh + lam * py
    uz = fz * ff - gz * fg - hz * fh + lam * pz
    vx = gx * gg - fx * fg - hx * gh + lam * qx
    vy = gy * gg - fy * fg - hy * gh + lam * qy
    vz = gz * gg - fz * fg - hz * gh + lam * qz
    wx = hx * hh - fx * fh - gx * gh + lam * rx
    wy = hy * hh - fy * fh - gy * gh + lam * ry
    wz = hz * hh - fz * fh - gz * gh + lam * rz
    zero = splat4(np.float32(0.0))
    a0, b0, c0, d0 = transpose4(ux, uy, uz, zero)
    a1, b1, c1, d1 = transpose4(vx, vy, vz, zero)
    a2, b2, c2, d2 = transpose4(wx, wy, wz, zero)
    return not doubtful, (a0, a1, a2), (b0, b1, b2), (c0, c1, c2), (d0, d1, d2)


@inlined
def in_fours(begin, end, vertices, operator, weights, slots, q, out, four, one):
    """A local pass over tetrahedra [begin, end), with the arrays that every local pass has (see `local`).

    `four` projects four gradients at once and says whether it is certain of them; `one` is the slow way for the others.
    Groups start at multiples of four, as chunks do, so that results do not depend on the number of threads.
    """
    t = begin
    while t < end:
        certain = False
        if t % 4 == 0 and t + 4 <= end:
            certain, a, b, c, d = four(
                gradient(t, vertices, operator, q),
                gradient(t + 1, vertices, operator, q),
                gradient(t + 2, vertices, operator, q),
                gradient(t + 3, vertices, operator, q),
            )
            if certain:
                scatter(t, a, operator, weights, slots, out)
                scatter(t + 1, b, operator, weights, slots, out)
                scatter(t + 2, c, operator, weights, slots, out)
                scatter(t + 3, d, operator, weights, slots, out)
                t += 4
        if not certain:  # the rest of a group, one by one
            last = min(end, t - t % 4 + 4)
            while t < last:
                scatter(t, one(gradient(t, vertices, operator, q)), operator, weights, slots, out)
                t += 1


@phase_kernel(items="weights")
def local_rotations(
    begin, end, iteration, vertices: ints, operator: floats, weights: floats, slots: ints, q: rows, out: rows
):
    """The local pass of tet-strain."""
    in_fours(begin, end, vertices, operator, weights, slots, q, out, rotations4, rotation)
