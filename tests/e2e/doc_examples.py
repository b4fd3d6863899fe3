#!/usr/bin/env python3
"""The examples of the documentation: commands in ```console blocks, and the output that stands below each.

  doc_examples.py list PAGE             the line number of each command, a tab, the command
  doc_examples.py check PAGE LINE FILE  whether FILE has the shape of the output below the command of that line
  doc_examples.py within PAGE OTHER     whether every example of PAGE stands in OTHER, too

Two outputs have the same shape when they have the same words in the same lines. Numbers with their units, times of day and
process ids count as equal, and so does what depends on the machine (SHAPES). A line "..." in the page stands for any number of
lines. What the fixtures print for the tests about themselves is left out.
"""
import difflib
import re
import sys

PROMPT = re.compile(r"^[#$] (.*)")
UNIT = r"(?: ?(?:ns|us|ms|s|[kKMG]?B(?:/s)?|[kM]?/s|%)(?![A-Za-z]))?"
OF_FIXTURES = re.compile(r'^\{"type":"(?:truth|self)"')

# What differs from run to run or from machine to machine, and what it becomes.
SHAPES = [
    (re.compile(r"\|[@ ]{40}\|"), "BAR"),
    (re.compile(r"^clock: .*"), "clock: CLOCK"),
    (re.compile(r"(?<=attached by )[a-z_.]+(?:, [a-z_.]+)*(?=, \d)"), "RUNG"),
    (re.compile(r"\b0x[0-9a-f]+"), "N"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:\.\d+)?"), "N"),
    (re.compile(r"(?<![\w.])<?[+-]?\d+(?:,\d{3})*(?:\.\d+)?" + UNIT), "N"),
    (re.compile(r"(?<=N)[?=]"), ""),
    (re.compile(r"\b(?:faster|slower|same|mixed|undecided)$"), "VERDICT"),
    (re.compile(r"\s+"), " "),
]


def shape(line):
    for pattern, text in SHAPES:
        line = pattern.sub(text, line)
    return line.strip()


def lines_in_blocks(page):
    """(line number, whether it is in a console block, text) of every line inside a fence."""
    fence = None
    with open(page, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if line.startswith("```"):
                fence = line[3:].strip() if fence is None else None
                if fence is None:
                    yield number, False, None
            elif fence is not None:
                yield number, fence == "console", line


def examples(page):
    """[line number, command, lines of output] of each command of the page."""
    found, continued = [], False
    for number, console, line in lines_in_blocks(page):
        prompt = line is not None and PROMPT.match(line)
        if not console:
            if prompt and re.match("funcscope [a-z]", prompt[1]):
                sys.exit(f"{page}:{number}: a command outside a ```console block")
            found.append(None)
        elif continued:
            found[-1][1] += "\n" + line
        elif prompt:
            found.append([number, prompt[1], []])
        elif not found or found[-1] is None:
            sys.exit(f"{page}:{number}: output without a command")
        else:
            found[-1][2].append(line)
        continued = console and line.endswith("\\") and (continued or bool(prompt))
    return [example for example in found if example]


def without_blank_ends(lines):
    return "\n".join(lines).strip("\n").split("\n")


def check(page, wanted_line, output):
    expected = next(e[2] for e in examples(page) if e[0] == int(wanted_line))
    with open(output, encoding="utf-8", errors="replace") as file:
        printed = [line for line in file.read().splitlines() if not OF_FIXTURES.match(line)]
    want = [line if line == "..." else shape(line) for line in without_blank_ends(expected)]
    got = [shape(line) for line in without_blank_ends(printed)]
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in want)
    if re.fullmatch(pattern, "\n".join(got) + "\n"):
        return 0
    print(f"{page}:{wanted_line}: the page shows (-) what the command does not print (+):")
    print("\n".join(list(difflib.unified_diff(want, got, lineterm="", n=1))[2:]))
    return 1


def within(page, other):
    known = [e[1:] for e in examples(other)]
    strange = [e for e in examples(page) if e[1:] not in known]
    for number, command, _ in strange:
        print(f"{page}:{number}: {other} does not have this example: {command}")
    return 1 if strange else 0


def main(verb, page, *rest):
    if verb == "list":
        for number, command, _ in examples(page):
            print(number, command.replace("\\\n", " "), sep="\t")
        return 0
    return {"check": check, "within": within}[verb](page, *rest)


sys.exit(main(*sys.argv[1:]))
