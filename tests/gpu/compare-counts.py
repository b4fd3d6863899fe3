"""Compares what snoop counted between two looks with what PyTorch's profiler counted meanwhile."""

import json
import sys

where = sys.argv[1]


def load(name):
    lines = [json.loads(line) for line in open(f"{where}/{name}")]
    counts = {}
    for line in lines:
        if line["type"] == "latency":
            counts[line["function"]] = counts.get(line["function"], 0) + line["count"]
    return counts


before, after = load("before"), load("after")
seen = {name: n - before.get(name, 0) for name, n in after.items()}
theirs = json.load(open(f"{where}/counts"))["counts"]
layer = "driver" if "cuLaunchKernel" in seen else "runtime"

# Ours, and what the profiler calls the same thing; the driver's calls are the runtime's of every copy, shared or linked in.
same = {
    "runtime": {"addmm": ["aten::addmm"], "convolution": ["aten::convolution"], "linear": ["aten::linear"],
                "convolution_backward": ["aten::convolution_backward"], "log_softmax": ["aten::_log_softmax"],
                "cross_entropy_loss": ["aten::cross_entropy_loss"], "batch_norm": ["aten::batch_norm"],
                "mm": ["aten::mm"], "item": ["aten::item"], "copy_": ["aten::copy_"], "to_copy": ["aten::_to_copy"]},
    "driver": {"cuLaunchKernel": ["cudaLaunchKernel", "cuLaunchKernel"],
               "cuLaunchKernelEx": ["cudaLaunchKernelExC", "cuLaunchKernelEx"],
               "cuMemAlloc_v2": ["cudaMalloc"], "cuMemFree_v2": ["cudaFree"],
               "cuStreamSynchronize": ["cudaStreamSynchronize"]},
}[layer]
equal = 0
for name, others in same.items():
    n = sum(theirs.get(o, 0) for o in others)
    m = seen.get(name, 0)
    equal += n == m
    print(f"{'ok' if n == m else 'not equal'} - {name}: snoop {m}, profiler {n} ({' + '.join(others)})")
print(f"# {equal} of {len(same)} equal")
if layer == "runtime":
    for name in sorted(seen):
        if name.startswith("cuda") and seen[name]:
            print(f"# {name}: snoop {seen[name]} in the shared runtime, profiler {theirs.get(name, 0)} in all copies")
