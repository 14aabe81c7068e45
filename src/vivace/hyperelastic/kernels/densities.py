"""Energy densities of isotropic materials: value, gradient and Hessian [fratarcangeli2018, Eqs. 39-43].

Of the invariants of C = FᵀF, in the form that needs no singular values:

    I1 = tr C     I2 = ((tr C)² - tr C²)/2     J = det F

The paper has I, II = tr C² and III = det C instead: I = I1, II = I1² - 2 I2, III = J². J tells an inverted element from
one that is not, which III cannot. `s` are the material's constants. Gradients are by (I1, I2, J), Hessians the six
entries 11, 22, JJ, 2J, 1J, 12. Two equations of the paper are not what it says they are, and are put right here as the
code that its authors published has them:

    Eq. 40   (I - 3)² has the factor s₀/8, not s₀/2: only then are s₀ and s₁ the Lamé parameters λ and μ.
    Eq. 41-43   the volume term is s₁ (III^½ - 1)², not s₁ (III^-½ - 1), whose slope at rest is -s₁: nothing made of
                that would keep its shape.

And s₀ of Eq. 41 is half the shear modulus, s₁ half the bulk modulus. Those of invariants are written with nothing but
what `backends.cpu.lanes` has, so that their arguments may be those of eight elements at once.
"""

from __future__ import annotations

import numpy as np


def stvk(i1, i2, j, s):
    """s₀/8 (I - 3)² + s₁/4 (II - 2 I + 3)   (Eq. 40)."""
    return 0.125 * s[0] * (i1 - 3.0) * (i1 - 3.0) + 0.25 * s[1] * (i1 * i1 - 2.0 * i2 - 2.0 * i1 + 3.0)


def stvk_gradient(i1, i2, j, s):
    """Its slopes."""
    return 0.25 * s[0] * (i1 - 3.0) + 0.5 * s[1] * (i1 - 1.0), -0.5 * s[1], 0.0


def stvk_hessian(i1, i2, j, s):
    """Its curvatures."""
    return 0.25 * s[0] + 0.5 * s[1], 0.0, 0.0, 0.0, 0.0, 0.0


def neo_hookean(i1, i2, j, s):
    """s₀ (III^-⅓ I - 3) + s₁ (III^½ - 1)²   (Eq. 41)."""
    return s[0] * (i1 / np.cbrt(j * j) - 3.0) + s[1] * (j - 1.0) * (j - 1.0)


def neo_hookean_gradient(i1, i2, j, s):
    """Its slopes."""
    a = 1.0 / np.cbrt(j * j)
    return s[0] * a, 0.0, -2.0 / 3.0 * s[0] * a * i1 / j + 2.0 * s[1] * (j - 1.0)


def neo_hookean_hessian(i1, i2, j, s):
    """Its curvatures."""
    a = 1.0 / np.cbrt(j * j)
    return 0.0, 0.0, 10.0 / 9.0 * s[0] * a * i1 / (j * j) + 2.0 * s[1], 0.0, -2.0 / 3.0 * s[0] * a / j, 0.0


def mooney_rivlin(i1, i2, j, s):
    """s₀ (III^-⅓ I - 3) + s₁ (III^½ - 1)² + s₂ (½ III^-⅔ (I² - II) - 3)   (Eq. 42)."""
    a = 1.0 / np.cbrt(j * j)
    return s[0] * (a * i1 - 3.0) + s[1] * (j - 1.0) * (j - 1.0) + s[2] * (a * a * i2 - 3.0)


def mooney_rivlin_gradient(i1, i2, j, s):
    """Its slopes."""
    a = 1.0 / np.cbrt(j * j)
    by_j = (-2.0 / 3.0 * s[0] * i1 - 4.0 / 3.0 * s[2] * a * i2) * a / j + 2.0 * s[1] * (j - 1.0)
    return s[0] * a, s[2] * a * a, by_j


def mooney_rivlin_hessian(i1, i2, j, s):
    """Its curvatures."""
    a = 1.0 / np.cbrt(j * j)
    by_jj = (10.0 / 9.0 * s[0] * i1 + 28.0 / 9.0 * s[2] * a * i2) * a / (j * j) + 2.0 * s[1]
    return 0.0, 0.0, by_jj, -4.0 / 3.0 * s[2] * a * a / j, -2.0 / 3.0 * s[0] * a / j, 0.0


def fung(i1, i2, j, s):
    """s₀ X + s₁ (III^½ - 1)² + s₂ (e^(s₃ X) - 1), X = III^-⅓ I - 3   (Eq. 43)."""
    x = i1 / np.cbrt(j * j) - 3.0
    return s[0] * x + s[1] * (j - 1.0) * (j - 1.0) + s[2] * np.expm1(s[3] * x)


def fung_gradient(i1, i2, j, s):
    """Its slopes."""
    a = 1.0 / np.cbrt(j * j)
    slope = s[0] + s[2] * s[3] * np.exp(s[3] * (a * i1 - 3.0))
    return slope * a, 0.0, -2.0 / 3.0 * slope * a * i1 / j + 2.0 * s[1] * (j - 1.0)


def fung_hessian(i1, i2, j, s):
    """Its curvatures."""
    a = 1.0 / np.cbrt(j * j)
    growth = s[2] * s[3] * np.exp(s[3] * (a * i1 - 3.0))
    slope, curvature = s[0] + growth, s[3] * growth
    by_j = -2.0 / 3.0 * a * i1 / j
    by_jj = 10.0 / 9.0 * slope * a * i1 / (j * j) + curvature * by_j * by_j + 2.0 * s[1]
    return curvature * a * a, 0.0, by_jj, 0.0, -2.0 / 3.0 * slope * a / j + curvature * a * by_j, 0.0


def stable_neo_hookean(i1, i2, j, s):
    """s₀/2 (I - 3) + s₁/2 (J - α)² - s₀/2 ln((I + 1)/4) - s₁/2 (1 - α)², α = 1 + 3 s₀/(4 s₁) [smith2018, Eqs. 13, 14].

    Their density but for a constant, so that it is zero at rest. It is defined for every F, inverted or not.
    """
    alpha = 1.0 + 0.75 * s[0] / s[1]
    return 0.5 * (s[0] * (i1 - 3.0 - np.log(0.25 * (i1 + 1.0))) + s[1] * (j - 1.0) * (j + 1.0 - 2.0 * alpha))


def stable_neo_hookean_gradient(i1, i2, j, s):
    """Its slopes."""
    return 0.5 * s[0] * i1 / (i1 + 1.0), 0.0, s[1] * (j - 1.0) - 0.75 * s[0]


def stable_neo_hookean_hessian(i1, i2, j, s):
    """Its curvatures."""
    return 0.5 * s[0] / ((i1 + 1.0) * (i1 + 1.0)), 0.0, s[1], 0.0, 0.0, 0.0


# --- of the principal stretches ---------------------------------------------------------------------------------------


def corotated(x, y, z, s):
    """s₀ Σ (σᵢ - 1)² + s₁/2 (Σ σᵢ - 3)² = s₀ ‖F - R‖² + s₁/2 tr(S - I)²: Eq. 28, and resistance to change of volume."""
    return s[0] * ((x - 1.0) ** 2 + (y - 1.0) ** 2 + (z - 1.0) ** 2) + 0.5 * s[1] * (x + y + z - 3.0) ** 2


def corotated_gradient(x, y, z, s):
    """Its slopes."""
    all_alike = s[1] * (x + y + z - 3.0)
    return 2.0 * s[0] * (x - 1.0) + all_alike, 2.0 * s[0] * (y - 1.0) + all_alike, 2.0 * s[0] * (z - 1.0) + all_alike


def corotated_hessian(x, y, z, s):
    """Its curvatures."""
    own = 2.0 * s[0] + s[1]
    return own, own, own, s[1], s[1], s[1]
