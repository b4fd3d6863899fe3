"""Compares the events of `funcscope gpu -f json` with what is known otherwise, and prints one line a check: "ok - ..." or
"not ok - ..."; lines with # only tell.

    gpu_compare.py known|bandwidth EVENTS TRUTH          with what known.cu says
    gpu_compare.py eager|late|compile|graphs EVENTS DIR  with the profiler's DIR/trace.json in the stretch of DIR/window.json
    gpu_compare.py oom|hidden-sync|leak EVENTS DIR       with what gpu_torch.py says in DIR/window.json
    gpu_compare.py ended EVENTS                          whether a run that was cut short still ended with a summary
    gpu_compare.py cost TIMES                            lines "load mode milliseconds": prints a table, checks nothing"""

import collections
import fnmatch
import json
import re
import statistics
import sys

Counter = collections.Counter


def check(good, what):
    print(f"{'ok' if good else 'not ok'} - {what}")


def equal(what, ours, theirs, whose="expected"):
    check(ours == theirs, f"{what}: {ours}" if ours == theirs else f"{what}: funcscope {ours}, {whose} {theirs}")


def load_lines(path):
    """The objects of a file, and how many lines are none."""
    events, bad = [], 0
    for line in open(path, errors="replace"):
        try:
            events.append(json.loads(line))
        except ValueError:
            bad += 1
    return events, bad


def load_events(path):
    """All events; whether the file is whole is a check of its own."""
    events, bad = load_lines(path)
    last = events[-1] if events else {}
    lost = {k: n for k, n in (last.get("lost") or {}).items() if n}
    check(not bad and last.get("type") == "summary" and not lost,
          f"{len(events)} lines of JSON end with a summary, nothing lost"
          + (f"; but {bad} bad lines, last is {last.get('type')}, lost {lost}" if bad or lost or last.get("type") != "summary" else ""))
    return events


def inside(events, window, pid):
    begin, end = window
    return [e for e in events if e.get("pid") == pid and begin <= e.get("time_ns", -1) <= end]


# --- known.cu ---

def squeezed(name):
    return re.sub(r"\s+", "", name or "")


def field_matches(event, name, want):
    have = event.get(name)
    if name == "kernel":
        return squeezed(have) == squeezed(want)
    if isinstance(want, str) and want.endswith("*"):
        return isinstance(have, str) and fnmatch.fnmatchcase(have, want)
    return have == want


def matches(event, match):
    return all(field_matches(event, name, want) for name, want in match.items())


def nearest(events, match):
    """Which fields of the events of that type are not as expected: what a reader needs to see where a count differs."""
    differ = Counter()
    for e in events:
        if e.get("type") == match["type"]:
            wrong = [f"{n}={e.get(n)}" for n, want in match.items() if not field_matches(e, n, want)]
            if len(wrong) == 1:
                differ[wrong[0]] += 1
    return ", ".join(f"{n} with {what}" for what, n in differ.most_common(2))


def label(truth):
    skip = ("type", "kernel", "symbol", "stream", "grid", "block", "shared", "captured", "kind", "known", "async", "dst", "api")
    rest = [str(v) for k, v in truth["match"].items() if k not in skip]
    return " ".join([truth["name"]] + ([f"by {truth['via']}"] if "via" in truth else []) + ([f"({', '.join(rest)})"] if rest else []))


def compare_truth(events, truth, taken):
    found = [e for e in events if matches(e, truth["match"])]
    taken.update(id(e) for e in found)
    what = label(truth)
    if len(found) != truth["count"]:
        near = nearest([e for e in events if id(e) not in taken], truth["match"])
        check(False, f"{what}: funcscope {len(found)}, expected {truth['count']}" + (f"; but {near}" if near else ""))
        return
    same = sorted(e.get("address", "") for e in found) == sorted(truth.get("addresses", [e.get("address", "") for e in found]))
    check(same, f"{what}: {len(found)}" + ("" if same else ", at other addresses"))


def compare_leaks(events, leaks, pid):
    found = [e for e in events if e["type"] == "gpu_leak" and e.get("pid") == pid]
    for leak in leaks:
        by = [e for e in found if any(leak["function"] in frame for frame in e.get("stack", []))]
        seen = [(e.get("count"), e.get("bytes"), e.get("kind")) for e in by]
        equal(f"leaks of {leak['function']}", seen, [(leak["count"], leak["bytes"], leak["kind"])])
    equal("leaks in all", sum(e.get("count", 0) for e in found), sum(leak["count"] for leak in leaks))
    equal("stacks that leak", len(found), len(leaks))


def compare_known(events, path):
    lines, _ = load_lines(path)
    window = next(line for line in lines if line["type"] == "window")
    pid, taken = window["pid"], set()
    within = inside(events, (window["begin_ns"], window["end_ns"]), pid)
    truths = [line for line in lines if line["type"] == "truth"]
    for truth in truths:
        compare_truth(within, truth, taken)
    types = {truth["match"]["type"] for truth in truths}
    others = [e for e in within if e["type"] in types and id(e) not in taken]
    equal("events that were not expected", len(others), 0)
    for what, n in Counter(f"{e['type']} {e.get('api')} {e.get('bytes', e.get('kernel'))}" for e in others).most_common(5):
        print(f"#   {n} of {what}")
    told = [(e, t) for t in truths if "via" in t for e in within if matches(e, t["match"])]
    right = sum(e.get("via") == t["via"] for e, t in told)
    if any("via" in e for e in within):  # the runtime that is linked in has no names
        equal("events that name the runtime's call, and the right one", right, len(told))
    else:
        print("# no runtime's calls around the driver's: it is linked in")
    compare_leaks(events, [line for line in lines if line["type"] == "leak"], pid)


def compare_bandwidth(events, path):
    for truth in load_lines(path)[0]:
        found = [e["bandwidth"] for e in events if e["type"] == "gpu_copy" and e.get("pid") == truth["pid"]
                 and all(e.get(k) == truth[k] for k in ("direction", "host", "bytes"))]
        what = f"{truth['direction']} {truth['host']}"
        equal(f"copies {what}", len(found), truth["count"])
        if found:
            ours, theirs = statistics.median(found), truth["median"]
            check(abs(ours / theirs - 1) <= 0.05,
                  f"bandwidth {what}: {ours / 1e9:.2f} GB/s, by CUDA's events {theirs / 1e9:.2f} GB/s, ratio {ours / theirs:.3f}")


# --- the profiler of PyTorch ---

def plain(api):
    """cuMemAlloc_v2 and cudaMemcpyAsync_ptsz without what only the linker wants to know."""
    return re.sub(r"(_v\d+|_ptsz|_ptds)+$", "", api)


class Trace:
    """What the profiler saw between the marks: calls by name, and the activities of the GPU that these calls began."""

    def __init__(self, path):
        events = [e for e in json.load(open(path))["traceEvents"] if e.get("ph") == "X"]
        mark = next(e for e in events if e["name"] == "window" and e.get("cat") == "user_annotation")
        begin, end = mark["ts"], mark["ts"] + mark["dur"]
        calls = [e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver") and begin <= e["ts"] <= end]
        self.calls = Counter(plain(e["name"]) for e in calls)
        self.by_id = {e["args"]["correlation"]: plain(e["name"]) for e in calls if "correlation" in e.get("args", {})}
        self.work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
                     and e["args"].get("correlation") in self.by_id]

    def count(self, *names):
        return sum(self.calls[name] for name in names)

    def kernels(self, graphs):
        """Of graphs, or of launches."""
        return [e for e in self.work if e["cat"] == "kernel" and (self.by_id[e["args"]["correlation"]] in GRAPH_CALLS) == graphs]

    def copies(self):
        """One row a call: direction, kind of the host's memory, bytes."""
        rows = {}
        for e in self.work:
            m = re.match(r"Memcpy (\w)to(\w)(?: \((\w+) -> (\w+)\))?", e["name"])
            if e["cat"] != "gpu_memcpy" or not m or self.by_id[e["args"]["correlation"]] in GRAPH_CALLS:
                continue
            host = {"H": m[3], "D": m[4]}.get(m[1]) if m[1] != m[2] else None
            row = rows.setdefault(e["args"]["correlation"], [f"{m[1]}2{m[2]}", host.lower() if host else None, 0])
            row[2] += int(e["args"].get("bytes", 0))
        return list(rows.values())


GRAPH_CALLS = ("cudaGraphLaunch", "cuGraphLaunch")
# What it is, the driver's calls that funcscope tells, what the profiler calls the same.
SAME = [
    ("launches by cuLaunchKernel", ["cuLaunchKernel"], ["cudaLaunchKernel", "cuLaunchKernel"]),
    ("launches by cuLaunchKernelEx", ["cuLaunchKernelEx"], ["cudaLaunchKernelExC", "cuLaunchKernelEx"]),
    ("cooperative launches", ["cuLaunchCooperativeKernel"], ["cudaLaunchCooperativeKernel", "cuLaunchCooperativeKernel"]),
    ("launches of graphs", ["cuGraphLaunch"], GRAPH_CALLS),
    ("cudaMalloc", ["cuMemAlloc"], ["cudaMalloc"]),
    ("cudaFree", ["cuMemFree"], ["cudaFree"]),
    ("cudaHostAlloc", ["cuMemHostAlloc", "cuMemAllocHost"], ["cudaHostAlloc", "cudaMallocHost"]),
    ("copies", ["cuMemcpy*"], ["cudaMemcpyAsync", "cudaMemcpy", "cudaMemcpy2DAsync", "cudaMemcpy2D"]),
    ("memsets", ["cuMemset*"], ["cudaMemsetAsync", "cudaMemset"]),
    ("waits for a stream", ["cuStreamSynchronize"], ["cudaStreamSynchronize"]),
    ("waits for the device", ["cuCtxSynchronize"], ["cudaDeviceSynchronize"]),
    ("waits for an event", ["cuEventSynchronize"], ["cudaEventSynchronize"]),
]
TYPES = ("gpu_launch", "gpu_alloc", "gpu_free", "gpu_copy", "gpu_memset", "gpu_sync")


def compare_counts(ours, trace):
    apis = Counter(plain(e["api"]) for e in ours if e["type"] in TYPES)
    for what, patterns, names in SAME:
        n = sum(count for api, count in apis.items() if any(fnmatch.fnmatchcase(api, p) for p in patterns))
        if n or trace.count(*names):
            equal(what, n, trace.count(*names), "profiler")
    known = [p for _, patterns, _ in SAME for p in patterns]
    for api, n in apis.items():
        if not any(fnmatch.fnmatchcase(api, p) for p in known):
            print(f"# {api}: funcscope {n}, not compared")


def compare_copies(ours, trace, late):
    copies, theirs = [e for e in ours if e["type"] == "gpu_copy"], trace.copies()
    for way in sorted({row[0] for row in theirs} | {e["direction"] for e in copies}):
        mine = [e["bytes"] for e in copies if e["direction"] == way]
        yours = [row[2] for row in theirs if row[0] == way]
        equal(f"copies {way}, number and bytes", (len(mine), sum(mine)), (len(yours), sum(yours)), "profiler")
    hosts = Counter((e["direction"], e.get("host")) for e in copies if e["direction"] in ("H2D", "D2H"))
    told = Counter((row[0], row[1]) for row in theirs if row[1])
    if late:  # memory that was pinned before may not be known as such
        print(f"# kind of the host's memory: funcscope {dict(hosts)}, profiler {dict(told)}")
    else:
        equal("kind of the host's memory", dict(sorted(hosts.items())), dict(sorted(told.items())), "profiler")


def our_name(e):
    """The profiler leaves mangled names of more than 1024 characters as they are."""
    symbol = e.get("symbol") or ""
    return squeezed(symbol if len(symbol) > 1024 else e.get("kernel"))


def compare_names(launches, kernels, what="launches", times=1):
    named = sum(bool(e.get("kernel")) and not e["kernel"].startswith(("[", "0x")) for e in launches)
    share = 100 * named / len(launches) if launches else 0
    check(launches and named == len(launches), f"{what} with a kernel's name: {named} of {len(launches)}, {share:.2f} %")
    ours, theirs = Counter(), Counter()
    for e in launches:
        ours[(our_name(e), tuple(e["grid"]), tuple(e["block"]))] += times
    for e in kernels:
        theirs[(squeezed(e["name"]), tuple(e["args"]["grid"]), tuple(e["args"]["block"]))] += 1
    both, total = sum((ours & theirs).values()), max(sum(ours.values()), sum(theirs.values()))
    check(total and both == total, f"{what} whose name, grid and block the profiler has, too: {both} of {total}, "
          f"{100 * both / total if total else 0:.2f} %; {len(theirs)} different")
    for whose, rest in ("funcscope", ours - theirs), ("profiler", theirs - ours):
        for (name, grid, block), n in rest.most_common(3):
            print(f"#   only {whose}, {n} times: {name[:150]} {grid} {block}")


def profiled(what, events, where):
    window, trace = json.load(open(f"{where}/window.json")), Trace(f"{where}/trace.json")
    ours = inside(events, window["window"], window["pid"])
    compare_counts(ours, trace)
    compare_copies(ours, trace, what == "late")
    launches = [e for e in ours if e["type"] == "gpu_launch" and e["kind"] != "graph"]
    if what == "graphs":
        captured = inside(events, window["capture"], window["pid"])
        captured = [e for e in captured if e["type"] == "gpu_launch" and e.get("captured")]
        compare_names(captured, trace.kernels(graphs=True), "captured launches, times 100,", 100)
        return
    compare_names(launches, trace.kernels(graphs=False))
    owners = Counter(e.get("owner") for e in launches)
    print("# launches by owner: " + ", ".join(f"{owner} {n}" for owner, n in owners.most_common(6)))
    if what == "compile":
        triton = sum(e["kernel"].startswith("triton_") for e in launches if e.get("kernel"))
        check(triton, f"launches of Triton's kernels: {triton}")


# --- lines of Python ---

def line_in(event, file="gpu_torch.py"):
    """The innermost line of that file, or None."""
    for frame in event.get("python") or []:
        m = re.search(r"([^/\s(]+\.py):(\d+)", frame)
        if m and m[1] == file:
            return int(m[2])
    return None


def compare_oom(events, where):
    w = json.load(open(f"{where}/window.json"))
    ours = [e for e in events if e.get("pid") == w["pid"]]
    errors = [e for e in ours if e["type"] == "gpu_error" and e["op"] == "alloc" and e["code"] == 2]
    check(errors, f"allocations that failed: {len(errors)}, {Counter((e['error'], e.get('bytes')) for e in errors).most_common(2)}")
    equal("line of Python that failed", sorted({line_in(e) for e in errors}, key=str), [w["line"]])
    oom = [e for e in ours if e["type"] == "gpu_oom"]
    check(oom, f"reports of memory that ran out: {len(oom)}")
    for e in oom[:1]:
        print(f"#   {json.dumps(e)[:700]}")
    hoard = [e for e in ours if e["type"] == "gpu_alloc" and line_in(e) == w["line"]]
    equal("allocations by that line until then", len(hoard), w["held"])
    after = [e for e in ours if e["type"] == "gpu_launch" and e["time_ns"] >= w["after_ns"]]
    check(len(after) >= w["launches_after"], f"launches afterwards: {len(after)}, at least {w['launches_after']} made")


def compare_sync(events, where):
    w = json.load(open(f"{where}/window.json"))
    waits = [e for e in inside(events, w["window"], w["pid"]) if e["type"] == "gpu_sync"]
    lines, spent = Counter(line_in(e) for e in waits), Counter()
    for e in waits:
        spent[line_in(e)] += e.get("duration_ns", 0)
    top = lines.most_common(1)[0][0] if lines else None
    equal(f"line of Python that waits most often ({w['text']})", top, w["line"])
    equal("waits at that line", lines[w["line"]], w["times"])
    for line, n in lines.most_common(3):
        print(f"#   line {line}: {n} waits, {spent[line] / 1e6:.2f} ms")


def compare_leak(events, where):
    w = json.load(open(f"{where}/window.json"))
    leaks = [e for e in events if e["type"] == "gpu_leak" and e.get("pid") == w["pid"]]
    for name, want in w["leaks"].items():
        there = [e for e in leaks if line_in(e) == want["line"]]  # PyTorch's own frames below it can differ from call to call
        seen = (sum(e["count"] for e in there), sum(e["bytes"] for e in there))
        equal(f"leak of {name}, count and bytes at line {want['line']}", seen, (want["count"], want["bytes"]))
    rest = [e for e in leaks if line_in(e) not in [want["line"] for want in w["leaks"].values()]]
    print(f"# leaks elsewhere: {len(rest)}, {sum(e['bytes'] for e in rest)} bytes (PyTorch keeps what it has until the end)")


# --- cost ---

def cost(path):
    rows = collections.defaultdict(dict)
    for line in open(path):
        load, mode, ms = line.rsplit(None, 1)[0].split(None, 1) + [float(line.rsplit(None, 1)[1])]
        rows[load].setdefault(mode, []).append(ms)
    for load, modes in rows.items():
        alone = statistics.median(modes["alone"])
        for mode, times in modes.items():
            middle = statistics.median(times)
            print(f"# {load:8} {mode:18} median of {len(times)}: {middle:9.3f} ms ({min(times):.3f} to {max(times):.3f})  "
                  f"{100 * (middle / alone - 1):+6.2f} %")
        noise = 100 * (max(modes["alone"]) - min(modes["alone"])) / alone
        print(f"# {load:8} alone differs by {noise:.2f} % from round to round; the goal for training is 2 %")


def main(what, path, *more):
    if what == "cost":
        return cost(path)
    events = load_events(path)
    run = {"known": compare_known, "bandwidth": compare_bandwidth, "oom": compare_oom, "hidden-sync": compare_sync,
           "leak": compare_leak, "ended": lambda _: None}.get(what)
    return run(events, *more) if run else profiled(what, events, *more)


try:
    main(*sys.argv[1:])
except Exception as e:  # what is missing or not as agreed on is a result, too
    where = e.__traceback__
    while where.tb_next:
        where = where.tb_next
    check(False, f"comparison of {sys.argv[1]}: {e!r}, line {where.tb_lineno}")
