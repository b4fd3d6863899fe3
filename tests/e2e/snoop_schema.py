#!/usr/bin/env python3
"""Holds the schema of snoop's configuration against the examples, and against files with one mistake each.

usage: snoop_schema.py SCHEMA BROKEN GOOD...

Comments, dots and trailing commas of GOOD files are taken out here, for the schema speaks of JSON. BROKEN is a
list of configurations, none of which may pass. Prints what is wrong; exits 1 then."""
import json
import re
import sys

import jsonschema

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|\.{3,}', re.S)


def strict(text):
    text = TOKEN.sub(lambda m: m[0] if m[0].startswith('"') else " ", text)
    parts = re.split(r'("(?:\\.|[^"\\])*")', text)
    parts[::2] = [re.sub(r",(?=\s*[}\]])", "", p) for p in parts[::2]]
    return "".join(parts)


def main(schema, broken, *good):
    with open(schema, encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failed = False
    for path in good:
        with open(path, encoding="utf-8-sig") as f:
            for error in validator.iter_errors(json.loads(strict(f.read()))):
                print(f"{path}: {error.json_path}: {error.message}")
                failed = True
    with open(broken, encoding="utf-8") as f:
        for config in json.load(f):
            if validator.is_valid(config):
                print(f"{broken}: {json.dumps(config)} passes")
                failed = True
    return failed


sys.exit(main(*sys.argv[1:]))
