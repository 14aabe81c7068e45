"""The matrix of determinant one nearest to a 3 x 3 matrix, one at a time or four at once.

Both move the singular values σ of F to values a with Π a = 1 and keep its singular vectors. Four at once they come from
Jacobi's method on FᵀF = V σ² Vᵀ in float32, without branches, and G = F V diag(a/σ) Vᵀ needs no left vectors; matrices
that are inverted, nearly flat or far from their volume go one by one.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import floats, ints, phase_kernel, rows
from ...backends.cpu.compiling import carray, compiled, function, inlined
from ...backends.cpu.memory import nine_doubles
from ...backends.cpu.simd import any_greater4, copysign4, max4, splat4, sqrt4, transpose4
from .rotation import in_fours, one_by_one, signed_svd

LABEL = "local passes"  # what phases of these kernels are reported under


@compiled
def _moved(sigma, shift, minus):
    """The three a with a (a - σ) = shift; the smallest on the lower branch if `minus`."""
    a = 0.5 * (sigma[0] + np.sqrt(max(sigma[0] * sigma[0] + 4.0 * shift, 0.0)))
    b = 0.5 * (sigma[1] + np.sqrt(max(sigma[1] * sigma[1] + 4.0 * shift, 0.0)))
    root = np.sqrt(max(sigma[2] * sigma[2] + 4.0 * shift, 0.0))
    c = 0.5 * (sigma[2] - root) if minus else 0.5 * (sigma[2] + root)
    return a, b, c


@compiled
def nearest_unimodular(z, p):
    """p = a matrix of determinant 1 near z, with the singular vectors of z [bouaziz2014, appendix A].

    Singular values a at least distance from σ with Π a = 1 satisfy a_i (a_i - σ_i) = λ, one multiplier for the three.
    So a_i = (σ_i + √(σ_i² + 4λ))/2, whose product grows with λ from 0 or less, and one root is to be found: by halving,
    with Newton's step on log Π a where it stays inside. Stretched so much that even the least λ, -σ₃²/4, has a product
    above 1, the smallest value lies on the other branch. The result is stationary, and the nearest except that a matrix
    stretched evenly to more than twice its size would be nearer to an uneven one.
    """
    f, u, v = carray(nine_doubles(), (3, 3)), carray(nine_doubles(), (3, 3)), carray(nine_doubles(), (3, 3))
    sigma = carray(nine_doubles(), (9,))
    for i in range(3):
        for j in range(3):
            f[i, j] = z[i, j]
    signed_svd(f, u, sigma, v)
    least = -0.25 * sigma[2] * sigma[2] if sigma[2] > 0.0 else 0.0
    a, b, c = _moved(sigma, least, False)
    minus = a * b * c > 1.0
    low, high = least, 0.0
    if not minus:
        high = 1.0
        a, b, c = _moved(sigma, high, False)
        while a * b * c < 1.0:
            high *= 4.0
            a, b, c = _moved(sigma, high, False)
    shift = 0.5 * (low + high)
    for _ in range(60):
        a, b, c = _moved(sigma, shift, minus)
        product = a * b * c
        if abs(product - 1.0) < 1e-12 or high - low <= 1e-16 * (abs(low) + abs(high)):
            break
        if (product > 1.0) != minus:
            high = shift
        else:
            low = shift
        # d log a / dλ = 1 / (a (2 a - σ)); far from zero it leads inside the bracket within a few steps
        slope = 1.0 / (a * (2 * a - sigma[0])) + 1.0 / (b * (2 * b - sigma[1])) + 1.0 / (c * (2 * c - sigma[2]))
        shift = shift - np.log(max(product, 1e-300)) / slope
        if not (low < shift < high):
            shift = 0.5 * (low + high)
    scale = (a * b * c) ** (-1.0 / 3.0) if a * b * c > 0.0 else 1.0
    for i in range(3):
        for j in range(3):
            p[i, j] = scale * (a * u[i, 0] * v[j, 0] + b * u[i, 1] * v[j, 1] + c * u[i, 2] * v[j, 2])


@function
def unimodular(f):
    """The matrix of determinant 1 nearest to f, one matrix at a time in float64; see `one_by_one`."""
    return one_by_one(f, nearest_unimodular)


# --- four at a time --------------------------------------------------------------------------------------------------


@inlined
def _turn(app, aqq, apq):
    """Cosine, sine and tangent of Jacobi's rotation that makes apq vanish."""
    half = splat4(np.float32(0.5)) * (aqq - app)
    reach = sqrt4(half * half + apq * apq + splat4(np.float32(1e-30)))
    t = apq / (half + copysign4(reach, half))
    c = splat4(np.float32(1.0)) / sqrt4(splat4(np.float32(1.0)) + t * t)
    return c, t * c, t


@inlined
def unimodulars4(a, b, c, d):
    """Four matrices, each given by its columns (float4): whether all are certain, and those nearest to them."""
    fx, fy, fz, _ = transpose4(a[0], b[0], c[0], d[0])
    gx, gy, gz, _ = transpose4(a[1], b[1], c[1], d[1])
    hx, hy, hz, _ = transpose4(a[2], b[2], c[2], d[2])
    det = fx * (gy * hz - gz * hy) + fy * (gz * hx - gx * hz) + fz * (gx * hy - gy * hx)
    # FᵀF: diagonal k, m, n; off the diagonal u = (0, 1), v = (0, 2), w = (1, 2)
    k, m, n = fx * fx + fy * fy + fz * fz, gx * gx + gy * gy + gz * gz, hx * hx + hy * hy + hz * hz
    u, v, w = fx * gx + fy * gy + fz * gz, fx * hx + fy * hy + fz * hz, gx * hx + gy * hy + gz * hz
    norm = k + m + n
    one, zero = splat4(np.float32(1.0)), splat4(np.float32(0.0))
    v00, v01, v02 = one, zero, zero
    v10, v11, v12 = zero, one, zero
    v20, v21, v22 = zero, zero, one
    rough = splat4(np.float32(1e-13)) * norm * norm
    for _ in range(5):
        if not any_greater4(u * u + v * v + w * w, rough):
            break
        co, si, ta = _turn(k, m, u)
        k, m = k - ta * u, m + ta * u
        u, v, w = zero, co * v - si * w, si * v + co * w
        v00, v01 = co * v00 - si * v01, si * v00 + co * v01
        v10, v11 = co * v10 - si * v11, si * v10 + co * v11
        v20, v21 = co * v20 - si * v21, si * v20 + co * v21
        co, si, ta = _turn(k, n, v)
        k, n = k - ta * v, n + ta * v
        v, u, w = zero, co * u - si * w, si * u + co * w
        v00, v02 = co * v00 - si * v02, si * v00 + co * v02
        v10, v12 = co * v10 - si * v12, si * v10 + co * v12
        v20, v22 = co * v20 - si * v22, si * v20 + co * v22
        co, si, ta = _turn(m, n, w)
        m, n = m - ta * w, n + ta * w
        w, u, v = zero, co * u - si * v, si * u + co * v
        v01, v02 = co * v01 - si * v02, si * v01 + co * v02
        v11, v12 = co * v11 - si * v12, si * v11 + co * v12
        v21, v22 = co * v21 - si * v22, si * v21 + co * v22
    tiny = splat4(np.float32(1e-20))
    k, m, n = max4(k, tiny), max4(m, tiny), max4(n, tiny)
    s0, s1, s2 = sqrt4(k), sqrt4(m), sqrt4(n)
    # Newton on log Π a = 0, with log x ≈ 2 (x - 1)/(x + 1)
    half, two, four = splat4(np.float32(0.5)), splat4(np.float32(2.0)), splat4(np.float32(4.0))
    shift = zero
    # the branch ends at -σ²/4 of the smallest; log Π a is concave, so from its left end Newton does not overshoot again
    least = splat4(np.float32(0.2475)) * max4(max4(zero - k, zero - m), zero - n)
    r0, r1, r2 = s0, s1, s2
    a0, a1, a2 = s0, s1, s2
    product = a0 * a1 * a2
    for _ in range(12):
        off = product - one
        if not any_greater4(off * off, splat4(np.float32(1e-12))):
            break
        slope = one / (a0 * r0) + one / (a1 * r1) + one / (a2 * r2)
        shift = max4(shift - two * off / ((product + one) * slope), least)
        r0 = sqrt4(max4(k + four * shift, tiny))
        r1 = sqrt4(max4(m + four * shift, tiny))
        r2 = sqrt4(max4(n + four * shift, tiny))
        a0, a1, a2 = half * (s0 + r0), half * (s1 + r1), half * (s2 + r2)
        product = a0 * a1 * a2
    # inverted or nearly flat; not converged; at the end of the branch
    doubtful = any_greater4(splat4(np.float32(0.01)) * norm * sqrt4(norm), det)
    off = product - one
    doubtful = doubtful or any_greater4(off * off, splat4(np.float32(1e-10)))
    doubtful = doubtful or any_greater4(splat4(np.float32(1e-2)) * (s0 + s1 + s2), r0)
    doubtful = doubtful or any_greater4(splat4(np.float32(1e-2)) * (s0 + s1 + s2), r1)
    doubtful = doubtful or any_greater4(splat4(np.float32(1e-2)) * (s0 + s1 + s2), r2)
    k0, k1, k2 = a0 / s0, a1 / s1, a2 / s2
    h00 = k0 * v00 * v00 + k1 * v01 * v01 + k2 * v02 * v02
    h11 = k0 * v10 * v10 + k1 * v11 * v11 + k2 * v12 * v12
    h22 = k0 * v20 * v20 + k1 * v21 * v21 + k2 * v22 * v22
    h01 = k0 * v00 * v10 + k1 * v01 * v11 + k2 * v02 * v12
    h02 = k0 * v00 * v20 + k1 * v01 * v21 + k2 * v02 * v22
    h12 = k0 * v10 * v20 + k1 * v11 * v21 + k2 * v12 * v22
    a0, b0, c0, d0 = transpose4(
        fx * h00 + gx * h01 + hx * h02, fy * h00 + gy * h01 + hy * h02, fz * h00 + gz * h01 + hz * h02, zero
    )
    a1, b1, c1, d1 = transpose4(
        fx * h01 + gx * h11 + hx * h12, fy * h01 + gy * h11 + hy * h12, fz * h01 + gz * h11 + hz * h12, zero
    )
    a2, b2, c2, d2 = transpose4(
        fx * h02 + gx * h12 + hx * h22, fy * h02 + gy * h12 + hy * h22, fz * h02 + gz * h12 + hz * h22, zero
    )
    return not doubtful, (a0, a1, a2), (b0, b1, b2), (c0, c1, c2), (d0, d1, d2)


@phase_kernel(items="weights")
def local_volumes(
    begin, end, iteration, vertices: ints, operator: floats, weights: floats, slots: ints, q: rows, out: rows
):
    """The local pass of tet-volume."""
    in_fours(begin, end, vertices, operator, weights, slots, q, out, unimodulars4, unimodular)
