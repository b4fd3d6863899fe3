"""A small training loop in three parts, each begun when the file of its name appears in the directory given: alone (not
watched), watched, counted (with PyTorch's own profiler). Prints one JSON line after each part."""

import json
import os
import sys
import time

import torch
import torch.nn as nn

torch.manual_seed(0)
torch.backends.cudnn.benchmark = False
where, steps = sys.argv[1], int(sys.argv[2])
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


def wait_for(name):
    while not os.path.exists(os.path.join(where, name)):
        time.sleep(0.01)


for _ in range(20):
    step()
tell(part="alone", pid=os.getpid(), step_ms=1000 * min(train() for _ in range(3)))
wait_for("watched")
tell(part="watched", step_ms=1000 * min(train() for _ in range(3)))
wait_for("counted")
from torch.profiler import ProfilerActivity, profile  # noqa: E402

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
    train()
counts = {}
for e in p.events():
    counts[e.name] = counts.get(e.name, 0) + 1
tell(part="counted", counts=counts)
wait_for("end")
