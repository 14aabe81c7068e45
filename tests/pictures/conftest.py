import numpy as np
import pytest


def wavy_grid(cells=100, phase=0.0):
    """A square sheet of 2 cells² triangles, hanging from its corners; the front faces up."""
    u, v = np.meshgrid(np.linspace(-1, 1, cells + 1), np.linspace(-1, 1, cells + 1), indexing="ij")
    height = 0.12 * np.sin(5 * u + 1.5 * v + phase) * np.cos(4 * v) + 0.35 * (u**2 + v**2)
    number = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    a, b, c, d = (number[rows, columns].ravel() for rows, columns in CORNERS)
    triangles = np.concatenate([np.stack([a, c, b], axis=1), np.stack([a, d, c], axis=1)])
    return np.stack([u, height, v], axis=-1).reshape(-1, 3), triangles


FIRST, LAST = slice(None, -1), slice(1, None)
CORNERS = ((FIRST, FIRST), (LAST, FIRST), (LAST, LAST), (FIRST, LAST))


@pytest.fixture(scope="session")
def sheet():
    return wavy_grid()


@pytest.fixture(scope="session")
def small_sheet():
    return wavy_grid(12)


@pytest.fixture
def small_frames():
    return [wavy_grid(12, phase)[0] for phase in (0.0, 0.7, 1.4, 2.1, 2.8)]
