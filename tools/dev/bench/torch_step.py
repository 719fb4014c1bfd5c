# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a network of rows.py in PyTorch on a CPU: `torch_step.py ROW [--compile]` reads numbers of steps, a line each, takes so many steps,
and answers each line with one JSON object.

The step is the loss, its gradient and the fused AdamW; in mixed precision the loss is under `autocast`. Bytes are the growth of the resident
memory from before the parameters are made to the highest of a turn's steps but the first one, which compiles.
"""
import argparse
import json
import sys
import time

import rows
import torch
from torch_networks import FAMILIES


def status(key):
    """A figure of this process in bytes."""
    with open("/proc/self/status", encoding="utf-8") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(key + ":"))


class Trainer:
    def __init__(self, row, compiled):
        self.model, self.batch = FAMILIES[row.family](**row.sizes)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, fused=True)
        self.forward, self.bf16 = torch.compile(self.model) if compiled else self.model, row.bf16

    def step(self):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
            loss = self.forward(*self.batch)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("row", choices=rows.ROWS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    row = rows.find(args.row, args.quick)
    # Code that PyTorch loads with its first step is no memory of the network.
    Trainer(rows.find(args.row, True), False).step()
    before = status("VmRSS")
    trainer = Trainer(row, args.compile)
    count = sum(parameter.numel() for parameter in trainer.model.parameters()) - row.more_in_pytorch
    for line in sys.stdin:
        seconds = []
        for step in range(int(line)):
            if step == 1:
                # The highest resident memory counts from here on.
                with open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
                    file.write("5")
            begin = time.perf_counter()
            loss = trainer.step()
            seconds.append(time.perf_counter() - begin)
        print(json.dumps({"parameters": count, "seconds": seconds, "loss": loss.item(), "bytes": status("VmHWM") - before}), flush=True)


if __name__ == "__main__":
    main()
