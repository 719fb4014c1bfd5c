# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that hosts on which the same names stand for other things stop before the first step, and say what differs: packages, files of data, initial
values, checkpoints, kernels. Here a host is a folder.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import numpy as np

from commands import PATIENCE, run

folder = pathlib.Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
TOKEN = {"MESHWRIGHT_TOKEN": "a token for this test alone"}
HASH = "[0-9a-f]{16}"
values = (np.arange(96) % 13 - 5).astype("f4") / 3
for host in (0, 1):
    (folder / str(host)).mkdir(parents=True)
    run("make-test-package", folder / str(host) / "same")
    run("make-test-package", folder / str(host) / "stale", ("none", "wrong-scale")[host])
    run("make-test-package", folder / str(host) / "step-2")
    np.save(folder / str(host) / "x.npy", values)
    np.save(folder / str(host) / "other.npy", values + (np.arange(96) == 50 + host))
    np.save(folder / str(host) / "longer.npy", np.resize(values, 96 + 32 * host))
    # More than is hashed as a whole; they differ in the last element.
    large = np.zeros(5 << 20, "f4")
    large[-1] = host
    large.tofile(folder / str(host) / "large.f32")


def start_all(*options, environments=({}, {})):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        rendezvous = f"--rendezvous=127.0.0.1:{free.getsockname()[1]}"
    return [subprocess.Popen(["dist-run", *options, "--quiet", "--nproc=2", "--nnodes=2", f"--node-rank={host}", rendezvous], cwd=folder / str(host),
                             env={**os.environ, **TOKEN, **environments[host]}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for host in (0, 1)]


def expect(status, pattern, *options, environments=({}, {})):
    launchers = start_all(*options, environments=environments)
    errors = [launcher.communicate(timeout=60 * PATIENCE)[1] for launcher in launchers]
    if [launcher.returncode for launcher in launchers] != [status, status] or not re.search(pattern, errors[0]) or errors[1]:
        sys.exit(f"{options}: exits {[launcher.returncode for launcher in launchers]} where {status} is wanted, with {pattern}:\n{errors}")
    return re.findall(HASH, errors[0])


expect(0, "^$", "same", "--data=x=x.npy")
shown = [re.search(f"(?m)^hash ({HASH})$", run("dist-run", folder / str(host) / "stale", "--show"))[1] for host in (1, 0)]
said = expect(1, f"all processes of a run have one package, but stale has hash {HASH} at process 2 and {HASH} at process 0", "stale", "--data=x=x.npy")
if said != shown or shown[0] == shown[1]:
    sys.exit(f"the hashes that are said are {said}, those that --show shows {shown}")
expect(1, f"all processes of a run read the same files, but other.npy is 512 bytes with hash {HASH} at process 2 and 512 bytes with hash {HASH} at process 0",
       "same", "--data=x=other.npy")
expect(1, "but longer.npy is 640 bytes with hash .* at process 2 and 512 bytes with hash .* at process 0", "same", "--data=x=longer.npy")
expect(1, f"but large.f32 is 20971520 bytes with hash {HASH} at process 2 and", "same", "--data=x=large.f32:f32")
os.remove(folder / "1/longer.npy")
expect(1, "but longer.npy is no file that can be opened .No such file or directory. at process 2", "same", "--data=x=longer.npy")

# Initial values, and checkpoints of one step with other values.
for host in (0, 1):
    run("dist-run", folder / str(host) / "same", f"--data=x={folder}/{host}/x.npy", f"--seed={host}", f"--save={folder}/{host}/init",
        f"--checkpoint={folder}/{host}/c", "--quiet")
expect(1, f"but init is .* bytes with hash {HASH} at process 2", "same", "--data=x=x.npy", "--init=init")
expect(1, "all processes of a run go on from one checkpoint, but process 2 has .* of step 1, whose index is .* and process 0 .* of step 1, whose index is .*",
       "same", "--data=x=x.npy", "--steps=2", "--resume=c")

# Other instructions: refused, and allowed.
mixed = ({}, {"ONEDNN_MAX_CPU_ISA": "SSE41"})
expect(2, rf"process 2 computes with kernels for test \(hash {HASH}\) and oneDNN .* for .*, but process 0 with kernels for test \(hash {HASH}\) and oneDNN .*, "
       "so replicas would differ in their last bits; --kernels=TARGET and ONEDNN_MAX_CPU_ISA make them the same, --mixed-kernels allows it",
       "same", "--data=x=x.npy", environments=mixed)
expect(0, "^$", "same", "--data=x=x.npy", "--mixed-kernels", environments=mixed)
