#!/usr/bin/env python3
"""Validates profile dumps against serialization/megengine/profile_dump.schema.json.

usage: validate_dump.py DUMP.json...    exit 0: all are valid, 1: not, 77: jsonschema is missing
"""
import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("the Python package jsonschema is missing (Debian: python3-jsonschema)")
    sys.exit(77)

SCHEMA = pathlib.Path(__file__).resolve().parent.parent / "serialization/megengine/profile_dump.schema.json"


def main(paths):
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
    validator.check_schema(validator.schema)
    errors = 0
    for path in paths:
        for error in validator.iter_errors(json.loads(pathlib.Path(path).read_text())):
            errors += 1
            print(f"{path}: {'.'.join(map(str, error.absolute_path))}: {error.message[:200]}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
