"""A small training loop that is asked by lines on standard input: "time" for the time of a step, "count" for what PyTorch's own
profiler counts meanwhile. Answers each with one line of JSON."""

import json
import os
import sys
import time

import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile

torch.manual_seed(0)
torch.backends.cudnn.benchmark = False
steps = int(sys.argv[1])
device = torch.device("cuda")
model = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(8), nn.Flatten(),
    nn.Linear(64 * 64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_of = nn.CrossEntropyLoss()


def step():
    x = torch.randn(64, 3, 32, 32).to(device)
    y = torch.randint(0, 10, (64,)).to(device)
    optimizer.zero_grad()
    loss = loss_of(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def train():
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps


def tell(**what):
    print(json.dumps(what), flush=True)


def profiled():
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        train()
    counts = {}
    for e in p.events():
        counts[e.name] = counts.get(e.name, 0) + 1
    return counts


# Asked by lines on standard input: time, count, end.
for _ in range(20):
    step()
train()
tell(ready=os.getpid())
for line in sys.stdin:
    if line == "time\n":
        tell(step_ms=1000 * min(train() for _ in range(3)))
    elif line == "count\n":
        tell(counts=profiled())
    else:
        break
