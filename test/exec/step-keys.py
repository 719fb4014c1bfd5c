# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests that `--data key=step:SEED` gives the keys that the batches of the reference hold, also after a run was resumed."""
import pathlib
import shutil
import subprocess
import sys

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
reference = fixtures / "reference" / "gpt2-dropout-tiny-f64"
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
strategy = folder / "strategy.textproto"
strategy.write_text('''
    mesh { axes { name: "dp" size: 2 } } data { axes: "dp" }
    model { parameters: "p.*" batch { inputs: "ids" } }
    train { sgd { lr { constant: 0.1 } } }
''')


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def train(name, steps, *more):
    """The bytes of all variables after a run."""
    run("dist-run", folder / "package", f"--init={fixtures}/reference/gpt2-tiny-f64/init.safetensors", f"--steps={steps}",
        f"--feed={reference}/batch{{step}}.safetensors", f"--save={folder}/{name}", "--quiet", *more)
    return (folder / name).read_bytes()


run("dist-opt", fixtures / "gpt2-dropout-tiny-f64.mlir", f"--strategy={strategy}", f"--emit={folder}/package", "--quiet")
fed = train("fed", 3)
assert train("made", 3, "--data=key=step:42") == fed, "keys made by the runtime are others than those that are fed"
assert train("other", 3, "--data=key=step:43") != fed, "another seed draws the same masks"
train("half", 2, "--data=key=step:42", f"--checkpoint={folder}/checkpoints")
resumed = train("resumed", 3, "--data=key=step:42", f"--checkpoint={folder}/checkpoints", "--resume")
assert resumed == fed, "a run that was resumed goes on with other keys"
