"""What PyTorch does for tests/gpu/gpu-suite, one sub-command each:

    gpu_torch.py eager|compile|graphs DIR [wait]  under PyTorch's own profiler: DIR/trace.json is what that saw, DIR/window.json the
                                                  stretch of CLOCK_MONOTONIC between its two marks; with "wait", says {"ready": PID}
                                                  when warm and waits for a line before that stretch
    gpu_torch.py oom|hidden-sync|leak DIR         does what the name says at a line of this file, which DIR/window.json tells
    gpu_torch.py cost                             says {"ready": PID}; for each line "launch" or "train" on stdin the time it took
    gpu_torch.py spin                             launches until it is killed, and says how often"""

import ctypes
import json
import os
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, record_function

torch.manual_seed(0)
cuda = torch.device("cuda")


def tell(**what):
    print(json.dumps(what), flush=True)


def write(where, **what):
    with open(f"{where}/window.json", "w") as f:
        json.dump(dict(what, pid=os.getpid()), f)


def line_of(mark):
    """The number and the text of the line of this file that ends with this comment."""
    for number, text in enumerate(open(__file__), 1):
        if text.rstrip().endswith("# mark: " + mark):
            return number, text.split("#")[0].strip()


def quiet():
    """Nothing is under way, and clocks that differ by a little do not matter."""
    torch.cuda.synchronize()
    time.sleep(0.02)


# --- compared with the profiler ---

def conv_net():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(8), nn.Flatten(),
        nn.Linear(64 * 64, 256), nn.ReLU(), nn.Linear(256, 10)).to(cuda)


def eager():
    """A conv net in training, products, reductions, copies of all kinds, memory that comes and goes."""
    net = conv_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    a, b = torch.randn(1024, 1024, device=cuda), torch.empty(1024, 1024, device=cuda)
    half, pinned = a.bfloat16(), torch.randn(1 << 20).pin_memory()

    def step():
        x, y = torch.randn(64, 3, 32, 32).to(cuda), torch.randint(0, 10, (64,)).to(cuda)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    def work():
        for _ in range(50):
            step()
        for _ in range(20):
            torch.matmul(a, a, out=b)
            half @ half
        for _ in range(10):
            (a.sum() + a.std() + a.softmax(1).amax()).item()
        for _ in range(5):
            pinned.copy_(pinned.to(cuda, non_blocking=True), non_blocking=True)
            b.copy_(a)
        torch.cuda.synchronize()
        pieces = [torch.empty(64 << 20, dtype=torch.uint8, device=cuda) for _ in range(4)]
        del pieces
        torch.cuda.empty_cache()

    return work, {}


def small_net():
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 256)).to(cuda).eval()


def compiled():
    net, x = torch.compile(small_net()), torch.randn(512, 256, device=cuda)

    @torch.no_grad()
    def work():
        for _ in range(50):
            net(x).sum()

    return work, {}


def graphs():
    net, x, graph = small_net(), torch.randn(512, 256, device=cuda), torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    quiet()
    with torch.no_grad():
        with torch.cuda.stream(side):
            for _ in range(3):
                net(x)
        quiet()
        begin = time.monotonic_ns()
        with torch.cuda.graph(graph):
            net(x)
        end = time.monotonic_ns()

    def work():
        for _ in range(100):
            graph.replay()

    return work, {"capture": [begin, end], "kept": [net, x]}


def profiled(make, where, wait):
    def once():
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
            quiet()
            begin = time.monotonic_ns()
            with record_function("window"):
                time.sleep(0.02)
                work()
                quiet()
            end = time.monotonic_ns()
            quiet()
        return p, [begin, end]

    work, more = make()
    work()  # what is compiled or loaded at first use
    once()  # and the profiler's own beginnings
    if wait:
        tell(ready=os.getpid())
        sys.stdin.readline()
    p, window = once()
    p.export_chrome_trace(f"{where}/trace.json")
    more.pop("kept", None)  # what a graph works on had to live until here
    write(where, window=window, **more)
    tell(done=True)


# --- found by their lines ---

def oom(where):
    hoard, x = [], torch.zeros(64, device=cuda)
    try:
        while True:
            hoard.append(torch.empty(4 << 30, dtype=torch.uint8, device=cuda))  # mark: hoard
    except torch.cuda.OutOfMemoryError:
        held = len(hoard)
    hoard.clear()
    torch.cuda.empty_cache()
    after = time.monotonic_ns()
    for _ in range(100):
        x.add_(1)
    quiet()
    write(where, line=line_of("hoard")[0], held=held, after_ns=after, launches_after=100)


def hidden_sync(where):
    x = torch.randn(512, 512, device=cuda)
    (x @ x).sum().item()
    quiet()
    begin = time.monotonic_ns()
    for i in range(200):
        total = (x @ x).sum()
        if total.item() == 0.5:  # mark: item
            print("what?")
        if i % 20 == 0:
            torch.cuda.synchronize()
    quiet()
    line, text = line_of("item")
    write(where, line=line, text=text, times=200, window=[begin, time.monotonic_ns()])


def leak(where):
    torch.zeros(64, device=cuda)
    runtime, kept = ctypes.CDLL("libcudart.so.13"), []  # the one that PyTorch has loaded
    for _ in range(5):
        runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(3 << 20))  # mark: raw
    for _ in range(4):
        kept.append(torch.empty(64 << 20, dtype=torch.uint8, device=cuda))  # mark: kept
    for _ in range(100):  # the job goes on: lines of Python can be read as long as it does
        torch.ones(64, device=cuda).sum().item()
        time.sleep(0.02)
    quiet()
    write(where, leaks={"cudaMalloc": {"line": line_of("raw")[0], "count": 5, "bytes": 5 * 3 << 20},
                        "tensors": {"line": line_of("kept")[0], "count": 4, "bytes": 4 * 64 << 20}})
    os._exit(0)  # nothing is freed by the way


# --- what watching costs ---

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """About 300 million parameters: with 16 texts of 1024 words a step is near 100 ms on an H200."""

    def __init__(self, width=1024, layers=22, heads=16, words=16384):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, x):
        return self.head(self.blocks(self.words(x)))


def timed(work, times):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        work()
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - start) / times


def cost():
    model = Transformer().to(cuda, torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    text, x = torch.randint(0, 16384, (16, 1025), device=cuda), torch.zeros(64, device=cuda)

    def train():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        optimizer.step()

    def launch():
        for _ in range(20000):
            x.add_(1)

    loads = {"launch": lambda: statistics.median(timed(launch, 1) for _ in range(3)),
             "train": lambda: timed(train, 8)}
    for load in loads.values():
        load()
    tell(ready=os.getpid())
    for line in sys.stdin:
        if line.strip() not in loads:
            break
        tell(ms=loads[line.strip()]())


def spin():
    x, n = torch.zeros(64, device=cuda), 0
    tell(ready=os.getpid())
    while True:
        for _ in range(100):
            x.add_(1)
        torch.cuda.synchronize()
        n += 100
        tell(launches=n)
        time.sleep(0.05)


what, more = sys.argv[1], sys.argv[2:]
windows = {"eager": eager, "compile": compiled, "graphs": graphs}
if what in windows:
    profiled(windows[what], more[0], "wait" in more)
else:
    {"oom": oom, "hidden-sync": hidden_sync, "leak": leak, "cost": cost, "spin": spin}[what](*more)
