"""Singular values of 3 x 3 matrices: ours against numpy.linalg.svd, in time and in accuracy.

    python benchmarks/svd.py [--count 1000000]

Half of the matrices are deformation gradients of moderate strain, as elements have them; the other half is random, of
any condition and partly inverted. Times are processor time, the best of three.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from vivace.hyperelastic import svd


def matrices(count):
    rng = np.random.default_rng(0)
    f = rng.standard_normal((count, 3, 3))
    f[::2] = np.eye(3) + 0.3 * f[::2]
    f[1::8] *= 10.0 ** rng.uniform(-12, 0, (len(f[1::8]), 1, 3))
    return f


def best(action):
    times = []
    for _ in range(3):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    count = parser.parse_args().count
    for dtype in (np.float64, np.float32):
        f = matrices(count).astype(dtype)
        svd(f[:1])
        mine, theirs = best(lambda f=f: svd(f)), best(lambda f=f: np.linalg.svd(f))
        u, sigma, v = svd(f)
        size = np.abs(f).max(axis=(1, 2))
        rebuilt = np.abs(np.einsum("mij,mj,mkj->mik", u, sigma, v) - f).max(axis=(1, 2)) / size
        values = np.abs(np.abs(sigma) - np.linalg.svd(f, compute_uv=False)).max(axis=1) / size
        turned = np.abs(np.swapaxes(u, 1, 2) @ u - np.eye(3)).max()
        print(
            f"{np.dtype(dtype).name}: {1e9 * mine / count:.0f} ns a matrix, NumPy {1e9 * theirs / count:.0f} ns, "
            f"{theirs / mine:.1f} times as long; reconstruction {rebuilt.max():.1e}, singular values "
            f"{values.max():.1e}, orthogonality {turned:.1e}"
        )


if __name__ == "__main__":
    main()
