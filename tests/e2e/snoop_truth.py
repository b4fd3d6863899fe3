"""Compares what snoop measured with what the schedule fixture measured itself. Prints what differs, nothing where all is right.

usage: snoop_truth.py REPORT TRUTH [SLOW]
  REPORT  JSON lines of a report: every function's row
  TRUTH   the fixture's
  SLOW    JSON lines with every slow call
A count is exact. A percentile, the least, the greatest and the sum lie between what was measured inside and around the same
calls, give or take 3 % and the floor. Slow calls are those that were slow for certain, and none that could not be; each has
its process, thread, arguments, duration and a stack that begins in the function.
"""
import json
import sys


def lines(path, kind):
    with open(path, encoding="utf-8") as f:
        return [j for j in map(json.loads, f) if j["type"] == kind]


def rows_of(path):
    rows = {}
    for row in lines(path, "latency"):
        if row["function"] in rows:
            print(f"{row['function']}: two rows")
        rows[row["function"]] = row
    return rows


def compare(name, truth, row):
    floor = row["floor_ns"]
    if row["count"] != truth["count"]:
        print(f"{name}: {row['count']} calls, {truth['count']} were made")
        return
    for key in ("min", "p50", "p90", "p99", "p999", "max", "total"):
        slack = floor * (row["count"] if key == "total" else 1)
        low, high = truth[f"low_{key}_ns"] * 0.97 - slack, truth[f"high_{key}_ns"] * 1.03 + slack
        if not low <= row[f"{key}_ns"] <= high:
            print(f"{name}: {key} is {row[f'{key}_ns']}, not between {low:.0f} and {high:.0f}")


def compare_slow(name, plan, row, calls):
    if not plan["slow_at_least"] <= row["slow"] <= plan["slow_at_most"]:
        print(f"{name}: {row['slow']} slow, expected {plan['slow_at_least']} to {plan['slow_at_most']}")
    if calls is None:
        return
    if len(calls) != row["slow"]:
        print(f"{name}: {len(calls)} slow calls are told of, {row['slow']} counted")
    for c in calls:
        planned = c["args"][:3] == [60000, 1, 0]
        whole = c["pid"] > 0 and c["tid"] > 0 and c["duration_ns"] >= 50e6 and c["ret"] == c["args"][2]
        if not (whole and (planned or len(calls) > plan["slow"]) and c.get("stack", ["?"])[0].startswith(name)):
            print(f"{name}: a slow call is not right: {json.dumps(c)}")


def main():
    rows = rows_of(sys.argv[1])
    truths = {t["function"]: t for t in lines(sys.argv[2], "truth")}
    plans = {p["function"]: p for p in lines(sys.argv[2], "schedule")}
    calls = [c for c in lines(sys.argv[3], "call") if c.get("slow")] if len(sys.argv) > 3 else None
    if sorted(truths) != sorted(rows):
        print(f"functions differ: {sorted(set(truths) ^ set(rows))}")
    for name in sorted(set(truths) & set(rows)):
        compare(name, truths[name], rows[name])
        compare_slow(name, plans[name], rows[name],
                     None if calls is None else [c for c in calls if c["function"] == name])


main()
