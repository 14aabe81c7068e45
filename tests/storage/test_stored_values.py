"""unpack(*pack(x)) is x: values, arrays to the bit, shared objects as one; and nothing but registered names is made."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest

import vivace as vv
from vivace.collisions import Box, Capsule, Collider, ConvexMesh, Plane, Sampled, Sphere
from vivace.rigid.bodies import Balls
from vivace.rigid.paths import Keyframes
from vivace.rigid.proximal import FRICTION_SETS, ConvexSet, Coupled, Disc, Ellipse, Frictionless, Polygon
from vivace.storage import STORABLES, Unstorable, pack, storable, unpack


def through(value):
    packed, arrays = pack(value)
    return unpack(json.loads(json.dumps(packed, allow_nan=False)), [array.copy() for array in arrays])


@storable("test-point")
@dataclass
class Point:
    x: float
    tag: str = ""
    others: tuple = ()
    made: int = field(default=7, init=False)


@storable("test-path")
def path(t):
    return np.array([t, 0.0, 0.0]), np.zeros(3)


@pytest.mark.parametrize(
    "value", [None, True, 3, 2**70, 0.1, -0.0, 1e-320, "ü", [1, [2.5]], (1, ("a",)), {"a": {"b": ()}}]
)
def test_plain_values(value):
    found = through(value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_numbers_that_json_has_not(value):
    assert through({"x": value}) == {"x": value}
    assert np.isnan(through(np.nan))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1", "?"])
def test_arrays_to_the_bit(dtype):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    for given in (array, array[:, ::2], array.T, array[:0], np.array(array[1, 1])):
        found = through([given])[0]
        assert found.dtype == given.dtype
        np.testing.assert_array_equal(found, given)


def test_what_is_there_twice_is_one_again():
    one = Point(1.0)
    numbers = np.arange(3)
    found = through([one, Point(2.0, others=(one, numbers)), numbers])
    assert found[0] is found[1].others[0]
    assert found[2] is found[1].others[1]
    assert found[0] is not found[1]


def test_functions_are_their_names():
    assert through(path) is path
    body = through(vv.Body(Sphere((0, 0, 0), 1.0), path=path))
    assert body.path is path
    with pytest.raises(Unstorable, match=r"path is the function .*lambda.*: a file holds data, not code"):
        pack(vv.Body(Sphere((0, 0, 0), 1.0), path=lambda t: path(t)))


@pytest.mark.parametrize("value", [object(), {1: 2}, 1j, np.array(["a"]), np.zeros(2, complex), int])
def test_what_is_no_data(value):
    with pytest.raises(Unstorable):
        pack([value])


def test_a_class_that_is_not_registered_here():
    packed, arrays = pack(Point(1.0))
    packed["objects"][0]["type"] = "test-pointe"
    with pytest.raises(vv.InputError, match=r"'test-pointe', which is not registered here.*did you mean 'test-point'"):
        unpack(packed, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda p: p["objects"].insert(0, {"type": "test-point", "values": {"x": {"$": "object", "at": 5}}}),
            "names the",
        ),
        (lambda p: p["objects"][0]["values"].update(extra=1), "may have changed since"),
        (lambda p: p["objects"][0]["values"].update(x={"$": "eval", "of": "1"}), "no known kind"),
        (lambda p: p["objects"][0].pop("values"), "no type or no values"),
        (lambda p: p.update(root={"$": "array", "at": -1}), "names the array"),
        (lambda p: p.pop("root"), "no objects"),
    ],
)
def test_what_nothing_can_be_made_of(change, message):
    packed, arrays = pack(Point(1.0))
    change(packed)
    with pytest.raises(vv.InputError, match=message):
        unpack(packed, arrays)


def test_values_in_values_in_values():
    nested = []
    for _ in range(200):
        nested = [nested]
    with pytest.raises(vv.InputError, match="nested more than"):
        unpack({"objects": [], "root": nested}, [])
    with pytest.raises(Unstorable, match="nested more than"):
        pack(nested)


def test_names_are_given_once():
    with pytest.raises(vv.InputError, match="registered already"):
        storable("test-point")(Point)
    with pytest.raises(vv.InputError, match="no dataclass"):
        storable("test-plain")(type("Plain", (), {}))


# --- what the package stores ------------------------------------------------------------------------------------------

COLLIDERS = [
    Plane((0, 0.3, 0), (0.3, 1.0, -0.2), friction=(0.5, 0.2)),
    Plane(normal=(np.sin(0.3), np.cos(0.3), 0)),
    Sphere((0.1, 0.2, 0.3), 0.7),
    Box((0, 1, 0), (0.1, 0.2, 0.3), rotate=(0.3, -0.2, 0.9), rounding=0.03),
    Capsule((0.1, 0, 0), (0, 0.7, 0.3), 0.11, friction=0.3),
    ConvexMesh(np.random.default_rng(0).normal(size=(20, 3)), rotate=(0.1, 0.2, 0.3), centre=(0, 1, 0)),
]


@pytest.mark.parametrize("collider", COLLIDERS, ids=lambda c: type(c).__name__)
def test_colliders_are_the_same_to_the_bit(collider):
    """Distances at points are the same bits, and so are masses and corners of what rigid bodies are made of."""
    found, points = through(collider), np.random.default_rng(1).normal(size=(50, 3))
    assert type(found) is type(collider)
    assert found.friction == collider.friction
    if not isinstance(collider, ConvexMesh):
        np.testing.assert_array_equal(found.encoded.shape, collider.encoded.shape)
        np.testing.assert_array_equal(found.distance(points), collider.distance(points))
    else:
        for name in ("vertices", "corners", "inertia", "rotate", "volume", "centre"):
            np.testing.assert_array_equal(getattr(found, name), getattr(collider, name))
        assert all(np.array_equal(*pair) for pair in zip(found.faces, collider.faces, strict=True))


@pytest.mark.slow
def test_samples_are_the_same_to_the_bit():
    collider = Sampled.of(Sphere((0, 0, 0), 0.3).surface(3), spacing=0.1, cache=False)
    found = through(collider)
    np.testing.assert_array_equal(found.samples, collider.samples)
    np.testing.assert_array_equal(found.encoded.bounds, collider.encoded.bounds)


def test_everything_that_a_model_may_hold_can_be_stored():
    """A new collider, friction set or term of the package is registered, or this says which is not."""
    kinds = {kind.thing for kind in STORABLES.values()}
    todo = [Collider, *FRICTION_SETS.values()]
    missing = []
    while todo:
        cls = todo.pop()
        todo += cls.__subclasses__()
        abstract = getattr(cls, "__abstractmethods__", None) or cls.__name__.startswith("_")
        if cls not in kinds and not abstract and cls.__module__.startswith("vivace."):
            missing.append(cls.__name__)
    assert missing == []


@pytest.mark.parametrize(
    "friction",
    [Frictionless(), Disc(0.4), Coupled(0.3, 0.1), Ellipse(0.2, 0.6), Polygon([[0.3, 0], [-0.2, 0.4], [0, -0.5]])],
)
def test_friction_sets(friction):
    found = through(friction)
    assert type(found) is type(friction)
    assert (found.mu_s, found.mu_t, found.spin) == (friction.mu_s, friction.mu_t, friction.spin)


def test_a_set_of_ones_own_is_stored_by_its_name():
    def square(dx, dy):
        return (0.3 if dx > 0 else -0.3), (0.3 if dy > 0 else -0.3)

    with pytest.raises(Unstorable, match="the function"):
        pack(ConvexSet(square))


def test_bodies():
    path = Keyframes([0, 1.0], shifts=[[0, 0, 0], [1, 2, 3]], repeat=True)
    body = through(vv.Body(Box((0, 0, 0), (1, 1, 1)), path=path, friction=Ellipse(0.1, 0.2), name="lid"))
    np.testing.assert_array_equal(body.path.shifts, path.shifts)
    assert (body.path.repeat, body.name, body.friction.mu_t) == (True, "lid", 0.2)
    balls = through(Balls(np.eye(3), 0.1, friction=0.2))
    np.testing.assert_array_equal(balls.radii, [0.1] * 3)
