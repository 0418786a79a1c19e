#!/usr/bin/env python3
"""Validates JSON documents against a schema.

usage: validate_json.py [--closed] SCHEMA.json DOCUMENT.json...

Profile dumps: serialization/megengine/profile_dump.schema.json.
Output of `--json`: docs/json.schema.json.
--closed: keys that the schema does not name are errors, so that all output is documented.
Exit code 0: all are valid, 1: not, 2: usage, 77: jsonschema is missing.
"""
import json
import os
import pathlib
import sys

SYSTEM_PYTHON = "/usr/bin/python3"  # has Debian's packages, which a virtual environment hides

try:
    import jsonschema
except ImportError:
    if sys.prefix != sys.base_prefix and os.access(SYSTEM_PYTHON, os.X_OK):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    print("the Python package jsonschema is missing (Debian: python3-jsonschema)")
    sys.exit(77)


def close(schema):
    """Forbids further keys in objects whose keys the schema names."""
    if isinstance(schema, dict):
        if "properties" in schema and "allOf" not in schema:
            schema.setdefault("additionalProperties", False)
        for key, value in schema.items():
            if key != "if":
                close(value)
    elif isinstance(schema, list):
        for value in schema:
            close(value)


def innermost(error):
    """Returns the error to show if no alternative fits: of the alternative with the fewest errors.
    """
    while error.context:
        alternatives = {}
        for inner in error.context:
            alternatives.setdefault(inner.schema_path[0], []).append(inner)
        error = min(alternatives.values(), key=len)[0]
    return error


def main(arguments):
    closed = arguments[:1] == ["--closed"]
    schema_path, *paths = arguments[closed:] or [None]
    if not paths:
        print(__doc__)
        return 2
    schema = json.loads(pathlib.Path(schema_path).read_text())
    if closed:
        close(schema)
    cls = jsonschema.validators.validator_for(schema)
    cls.check_schema(schema)
    errors = 0
    for path in paths:
        for error in cls(schema).iter_errors(json.loads(pathlib.Path(path).read_text())):
            error = innermost(error)
            errors += 1
            print(f"{path}: {'.'.join(map(str, error.absolute_path))}: {error.message[:300]}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
