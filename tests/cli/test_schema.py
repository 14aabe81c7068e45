"""What commands print with --json is what `vivace schema` says."""

import pytest

from vivace.cli.schema import schemas

TYPES = {
    "integer": int, "number": (int, float), "string": str, "boolean": bool, "object": dict, "array": list,
    "null": type(None),
}  # fmt: skip


def fits(value, schema):
    """A small part of JSON Schema: all that ours use."""
    if "oneOf" in schema:
        return sum(fits(value, one) for one in schema["oneOf"]) == 1
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[kind]) and (kind == "boolean" or value is not True) for kind in kinds):
        return False
    if isinstance(value, list):
        return all(fits(item, schema["items"]) for item in value)
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        if set(schema.get("required", ())) - set(value) or (others is False and set(value) - set(known)):
            return False
        return all(fits(v, known.get(k, others)) for k, v in value.items() if k in known or isinstance(others, dict))
    return True


def test_fits_can_fail():
    one = schemas()["replay"]
    good = {"frames": 1, "recorded": 1, "scene": "x", "bits": "0", "written": [], "notes": []}
    assert fits(good, one)
    for bad in ({"frames": None}, {"written": [1]}, {"more": 1}, {"frames": True}):
        assert not fits(good | bad, one)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("tablecloth", "--set", "resolution=5", "--iterations", 2, "--frames", 2),
        ("cloth-heap", "--set", "scale=0.005", "--iterations", 2, "--frames", 2),
        ("box-stack", "--set", "n=2", "--frames", 2),
    ],
)
def test_runs_print_what_the_schema_says(vivace, command):
    assert fits(vivace("run", *command, "--json").json, vivace("schema", "run").json)
