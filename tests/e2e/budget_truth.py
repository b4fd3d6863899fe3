#!/usr/bin/env python3
"""budget_truth.py DATA TRUTH PREFIX: compares count's or time's JSON with what fixture crowd says it has called.

What was not demoted is exact, and what is called once or now and then is not demoted; what was seen of the others is no
more than the truth, and their estimates, if any, are no more than half off. Prints how many were demoted."""
import json
import sys

rows = [json.loads(line) for line in open(sys.argv[1])]
truth = {name: int(n) for name, n in (line.split() for line in open(sys.argv[2]) if line.startswith(sys.argv[3]))}
seen = {r["function"]: r for r in rows if r["type"] in ("count", "latency")}
demoted = {d["function"]: d for d in rows[-1].get("demoted", [])}

for name, n in truth.items():
    got = seen.get(name, {}).get("count", 0)
    if name in demoted:
        assert not name.startswith("crowd_once"), f"{name} is called {n} times and was demoted"
        assert got <= n, f"{name}: {got} seen, {n} called"
        assert seen[name].get("sampled") is True, f"{name} is not marked: {seen[name]}"
    else:
        assert got == n, f"{name}: {got} counted, {n} called"
        assert "sampled" not in seen[name], f"{name} is marked: {seen[name]}"
for name, d in demoted.items():
    assert d["since_s"] >= 0 and 0 <= d["armed_percent"] <= 100, d
    if "estimated_low" in d:
        low, high = d["estimated_low"], d["estimated_high"]
        assert seen[name]["count"] <= low <= high, d
        assert low / 1.5 <= truth[name] <= high * 1.5, f"{d}, {truth[name]} called"
print(len(demoted))
