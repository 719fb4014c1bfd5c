# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""dist-verify finds no fault in packages of many kinds, says what it has proved, and names what is wrong in packages that are; most mistakes that
a compiler could make are found without running, and all others by the exact check. Packages that case.py trains are verified there."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
import case

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Network, mesh and optimizer; those that no other test verifies stand for their families.
CASES = [("gpt2", "pp2xdp2+micro2+merge4", "adamw"), ("mlp", "dp2xtp2", "adamw"), ("mlp", "dp4+zero2+slices2every", "sgd")]
# Those that mistakes are made in for the table of docs/reference/verify.md, where MESHWRIGHT_TEST_ROUNDS is set.
CAMPAIGN = [("gpt2", "pp2xdp2+micro2+merge4", "adamw"), ("gpt2", "dp2xtp2+sequence+zero3", "adamw"), ("mlp", "dp2xtp2", "adamw"), ("mlp", "dp4+zero2+slices2every", "sgd"),
            ("resnet", "dp2xtp2", "sgd"), ("gpt2", "pp2xdp2+micro4", "clip"), ("gpt2", "dp2xtp2+zero1", "bf16"), ("gpt2", "pp2xtp2+micro4", "adamw")]


def call(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def expect(condition, what):
    if not condition:
        sys.exit(what)


def make_case(folder, network, mesh, optimizer, *targets):
    """Compiles a network, in f32 with an optimizer in bf16; the package, and the words of verify-mutants about it."""
    package = folder / f"{network}-{mesh}-{optimizer}"
    is_mixed = optimizer == "bf16"
    (folder / "strategy.textproto").write_text(case.make_strategy(case.NETWORKS[network], mesh, optimizer))
    case.run("dist-opt", case.FIXTURES / (f"{network}-tiny.mlir" if is_mixed else f"{network}-tiny-f64.mlir"), f"--strategy={folder}/strategy.textproto",
             f"--emit={package}", "--quiet", "--target=x86-64-v3", "--target=exact", *targets)
    reference = case.FIXTURES / "reference" / f"{network}-tiny-{'bf16' if is_mixed else 'f64'}"
    return package, f"--case={package},{reference}/init.safetensors,{reference}/batch0.safetensors"


def main():
    folder = pathlib.Path(sys.argv[1])
    # A run that was killed may have left a damaged package.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = []
    for network, mesh, optimizer in CASES:
        package, word = make_case(folder, network, mesh, optimizer)
        report = json.loads(case.run("dist-verify", package, "--json"))
        expect(report["ok"] and all(report["proved"].values()) and not report["findings"], f"{package} is refused: {report['findings']}")
        for program in report["programs"]:
            device = program["device"]
            expect(program["unread"] == 0 and program["assumed"] == 0, f"{package}: {program['name']} has notes")
            # Arenas end with the last byte that is used, up to their alignment, and hold what is live.
            expect(device["live"] <= device["highest"] <= device["arena"] < device["highest"] + 64, f"{package}: {device}")
        words.append(word)
    # The proof shares the schema with what it judges, and nothing else.
    included = {line for path in (ROOT / "verify").rglob("*.[ch]*") for line in path.read_text().splitlines() if line.startswith("#include")}
    foreign = [line for line in included if "/" in line and "meshwright/verify/" not in line and not re.search("<(fmt|google|sys)/", line)]
    links = re.findall("target_link_libraries\\(MWVerify (.*)\\)", (ROOT / "verify" / "CMakeLists.txt").read_text())
    expect(not foreign and links == ["PUBLIC MWPackageProto fmt::fmt"], f"verify/ includes {foreign} and links {links}")
    text = case.run("dist-verify", package)
    expect(len(re.findall("^proved: ", text, re.M)) == 3 and "not proved: kernels read and write" in text, text)

    damaged = call("dist-verify", folder)
    expect(damaged.returncode == 1 and "error: cannot open" in damaged.stdout, damaged.stdout)
    content = bytearray((package / "package.pb").read_bytes())
    content[len(content) // 2] ^= 1
    (package / "package.pb").write_bytes(content)
    damaged = call("dist-verify", package)
    expect(damaged.returncode == 1 and "the file is damaged: its content has the hash" in damaged.stdout, damaged.stdout)
    for arguments, message in (([], "a package or two graphs are wanted"), (["--jsn"], "there is no option --jsn"), (["a", "b", "c"], "a package or two graphs are wanted, and c is given, too"),
                               (["a", "--max-findings=x"], '"x" is no whole number')):
        wrong = call("dist-verify", *arguments)
        expect(wrong.returncode == 2 and message in wrong.stdout, wrong.stdout)
    expect("usage: dist-verify PACKAGE" in case.run("dist-verify", "--help"), "no help")

    # The last package is no case any more.
    words = words[:-1]
    count = ["--count=300"]
    if os.environ.get("MESHWRIGHT_TEST_ROUNDS"):
        words = [make_case(folder, *each, *(["--target=twin"] if each[2] == "bf16" else []))[1] for each in CAMPAIGN]
        count = ["--count=10000", "--seed=11"]
    campaign = call("verify-mutants", folder / "mutants", *words, "--least=0.9", *count)
    expect(campaign.returncode == 0, campaign.stdout)
    print(campaign.stdout)


if __name__ == "__main__":
    main()
