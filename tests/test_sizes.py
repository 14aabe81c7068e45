"""What no memory holds is refused by its numbers, before anything of it is made."""

import tracemalloc

import pytest

from vivace import InputError, checks, mesh
from vivace.checks import NUMBERED, check_room, many
from vivace.scenes import load_scene, make_scene

MOST = 20e6  # bytes that a refusal may take
HUGE = 10**5
SIZES = {
    "cloth": lambda: mesh.cloth(HUGE, HUGE),
    "irregular cloth": lambda: mesh.cloth(HUGE, HUGE, irregular=True),
    "endless cloth": lambda: mesh.cloth(10**30, 2),
    "unprintable cloth": lambda: mesh.cloth(10**5000, 2),
    "noodle": lambda: mesh.noodle(n=10**9, across=9),
    "bar": lambda: mesh.bar(10**6, 10**6, 10**6),
    "cube": lambda: mesh.cube(10**6),
    "torus": lambda: mesh.torus(segments=10**9),
    "rings": lambda: mesh.torus(rings=10**9),
    "section": lambda: mesh.torus(section=(6, 10**12)),
    "ball": lambda: mesh.ball(10**5),
    "body": lambda: mesh.body(10**5),
    "double helix": lambda: mesh.double_helix(10**5),
    "box scene": lambda: make_scene("box", resolution=10**6),
    "rabbit": lambda: mesh.rabbit(10**12),
    "inside of a rabbit": lambda: mesh.rabbit(100, 10**12),
    "tablecloth": lambda: make_scene("tablecloth", resolution=HUGE),
    "bar scene": lambda: make_scene("bar", resolution=10**6),
    "long bar": lambda: make_scene("bar", length=1e6, thickness=1e-12),
    "armadillo": lambda: make_scene("armadillo", resolution=10**6),
    "s0": lambda: make_scene("s0", scale=1e12),
    "s1": lambda: make_scene("s1", scale=1e12),
    "s2": lambda: make_scene("s2", scale=1e12),
    "falling-cube": lambda: make_scene("falling-cube", scale=1e18),
    "noodles": lambda: make_scene("noodles", scale=1e12),
    "cloth-heap": lambda: make_scene("cloth-heap", scale=1e12),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_without_room_are_refused_before_anything_is_allocated(name):
    tracemalloc.start()
    try:
        with pytest.raises(
            InputError, match=r"would have .* vertices and .* (triangles|tetrahedra)[;,].* make it coarser"
        ):
            SIZES[name]()
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


def test_in_scene_files_too(tmp_path):
    (tmp_path / "big.toml").write_text('[mesh]\ngenerator = "bar"\nnx = 1000000\nny = 1000000\nnz = 1000000\n')
    with pytest.raises(
        InputError, match=r"a bar of 1,000,000 x 1,000,000 x 1,000,000 vertices would have about 10\^18"
    ):
        load_scene(tmp_path / "big.toml")


def test_memory_is_the_limit_below_the_numbers(monkeypatch):
    """500 bytes an element: 2 million fit into a gigabyte, one more does not; nothing fits into no memory at all."""
    monkeypatch.setattr(checks, "memory", lambda: 10**9)
    check_room("it", 10**6, 2_000_000, corners=4, each=500)
    with pytest.raises(InputError, match=r"it would have 1,000,000 vertices .* takes 1 GB to make; there are 1 GB"):
        check_room("it", 10**6, 2_000_001, corners=4, each=500)
    monkeypatch.setattr(checks, "memory", lambda: 1000)
    with pytest.raises(InputError, match="a cloth of 4 x 4 vertices"):
        mesh.cloth(4, 4)


def test_numbers_are_the_limit_below_the_memory(monkeypatch):
    monkeypatch.setattr(checks, "memory", lambda: 10**30)
    check_room("it", NUMBERED - 1, 10, corners=3)
    check_room("it", 10, NUMBERED // 4 - 1, corners=4)
    for vertices, elements in ((NUMBERED, 10), (10, NUMBERED // 4)):
        with pytest.raises(InputError, match="numbered with 32 bits, up to 2,147,483,648"):
            check_room("it", vertices, elements, corners=4)


def test_there_is_memory():
    assert 2**27 < checks.memory() <= 2**63


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "each"),
    [
        (lambda: mesh.cloth(400, 400), 160),
        (lambda: mesh.cube(25), 270),
        (lambda: mesh.torus(segments=200, rings=6), 330),
    ],
)
def test_estimates_are_about_what_it_takes(make, each):
    """What numpy allocates at most while a mesh is being made, by element, is at most the estimate, and half of it."""
    tracemalloc.start()
    try:
        made = make()
        peak = tracemalloc.get_traced_memory()[1] / (len(made.tets) or len(made.triangles))
    finally:
        tracemalloc.stop()
    assert 0.5 * each < peak < 1.2 * each


def test_counts_in_words():
    assert many(12_345) == "12,345"
    assert many(10**18) == "about 10^18"
    assert many(10**5000) == "about 10^5000"
