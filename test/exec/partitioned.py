# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""dist-verify compares programs that others partitioned with serial ones: shard_maps as JAX prints them now and before Shardy, what XLA's partitioner
makes of GPT-2, its loss and a whole step, a program of replicas, and exports of this compiler. Right ones are accepted; of each wrong one the values that
differ are named. Inputs that do not fit have an error."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import case
from graph_comparison import expect_equal, expect_refused, list_edits

FOLDER = case.FIXTURES / "partitioned"
INPUTS = pathlib.Path(__file__).parent / "Inputs"
# What differs, by mistake: the first result, and the line of the last collective that it comes from.
MISTAKES = {
    "mlp": {"missing-psum": ('"0.b1" differs in 4 of 4 elements on rank 0, first [0]', "mlp.missing-psum.mlir:41)"),
            "other-axis": ('1 of 5 outputs differ', '"0.w2" differs in 16 of 16 elements on rank 0, first [0, 0]', "mlp.other-axis.mlir:51)"),
            "pmean": ("5 of 5 outputs differ", '"1" differs in 1 of 1 elements on rank 0', "and on 3 ranks more"),
            "double": ("1 of 5 outputs differ", '"0.b1" differs in 4 of 4 elements on rank 0', "mlp.double.mlir:61)"),
            "bias-per-rank": ("5 of 5 outputs differ", '"0.b2" differs in 4 of 4', "mlp.bias-per-rank.mlir:56)")},
    "ring": {"permutation": ('"result" differs in 8 of 16 elements on rank 0, first [2, 0]', "ring.permutation.mlir:50)"),
             "slice": ('"result" differs in 16 of 16 elements on rank 0, first [0, 0]', "ring.slice.mlir:50)")},
    "attention": {"no-exchange": ('"result" differs in 16 of 16', "it comes from no collective"), "other-heads": ('"result" differs in 16 of 16', "attention.other-heads.mlir:")},
    "shards": {"not-summed": ("1 of 3 outputs differ", '"0" differs in 16 of 16', "shards.not-summed.mlir:8)"), "twice-the-mean": ("1 of 3 outputs differ", '"0" differs in 16 of 16', "shards.twice-the-mean.mlir:25)")},
}
ROWS = "[dp tp,-]"
# An MLP that this compiler partitions and exports.
STRATEGY = """
mesh { axes { name: "dp" size: 2 } axes { name: "tp" size: 2 } }
model { batch { inputs: "x" dim: 0 } batch { inputs: "y" dim: 0 } }
data { axes: "dp" }
place { match: "p.layer0.kernel" dims: "[-, tp]" }
place { match: "p.layer1.kernel" dims: "[tp, -]" }
"""


def check_shard_maps():
    for network, mistakes in MISTAKES.items():
        serial = FOLDER / f"{network}.serial.mlir"
        expect_equal(serial, FOLDER / f"{network}.right.mlir")
        for mistake, parts in mistakes.items():
            expect_refused(parts, serial, FOLDER / f"{network}.{mistake}.mlir")
    # With names, in the order of the serial program or not; and in the form that names no mesh.
    expect_equal(FOLDER / "mlp.named-serial.mlir", FOLDER / "mlp.named.mlir", "--mesh=dp=2,tp=2", "--steps=1", "--seed=3")
    expect_equal(FOLDER / "mlp.serial.mlir", FOLDER / "mlp.older.mlir", "--mesh", "dp=2,tp=2")
    expect_refused(('"1" differs',), FOLDER / "mlp.serial.mlir", FOLDER / "mlp.older-missing-psum.mlir", "--mesh=dp=2,tp=2")


def check_xla(folder):
    """The loss of GPT-2, and a whole step with AdamW, as XLA's partitioner leaves them."""
    wrong = folder / "wrong.mlir"
    for network, number in (("gpt2-tiny", 1), ("gpt2-adamw-step", 30)):
        serial, partitioned = case.FIXTURES / f"{network}.mlir", FOLDER / f"{network}.xla.mlir"
        expect_equal(serial, partitioned, "--mesh=dp=2,tp=2", "--steps=1")
        # Without its last sum over dp, and with one over tp.
        text, groups = partitioned.read_text(), "replica_groups = dense<[[0, 2], [1, 3]]>"
        if text.count(groups) != number:
            sys.exit(f"{partitioned} has {text.count(groups)} sums over dp")
        head, _, tail = text.rpartition(groups)
        wrong.write_text(f"{head}replica_groups = dense<[[0, 1], [2, 3]]>{tail}")
        expect_refused(("on rank 0", "wrong.mlir:"), serial, wrong, "--mesh=dp=2,tp=2", "--steps=1")


def check_replicas(folder):
    serial, partitioned = INPUTS / "collectives.serial.mlir", INPUTS / "collectives.partitioned.mlir"
    places = ["--mesh=dp=2,tp=2", f"--place=arg0={ROWS}", f"--place=out0={ROWS}", f"--place=out1={ROWS}", "--place=out2=[dp tp]", f"--place=out4={ROWS}", f"--place=out5={ROWS}"]
    expect_equal(serial, partitioned, *places)
    # Each collective alone, wrong.
    for old, new, name in (("[[2, 0], [1, 3]]", "[[2, 0], [3, 1]]", "out0"), ("[[0, 1], [2, 3]]> : tensor<2x2xi64>}> :", "[[0, 1], [3, 2]]> : tensor<2x2xi64>}> :", "out1"),
                           ("add %rank", "subtract %rank", None), ("[[0, 2, 1, 3]]", "[[0, 1, 2, 3]]", "out3"), ("stablehlo.maximum", "stablehlo.minimum", "out4"),
                           ("[[0, 1, 2, 3]]", "[[0, 2, 1, 3]]", "out5")):
        wrong, text = folder / "wrong.mlir", partitioned.read_text()
        assert text.count(old) == 1, old
        wrong.write_text(text.replace(old, new))
        if name:
            expect_refused((f'1 of 6 outputs differ', f'"{name}" differs'), serial, wrong, *places)
        else:
            expect_equal(serial, wrong, *places)
    for arguments, parts in (
            (places[1:], ("stands in a program of one rank, but the graph of a serial network is wanted",)),
            ([places[0]], ("argument \"arg0\" is 'tensor<2x4xf32>' on a rank and 'tensor<8x4xf32>' in the serial program, but", "state its placement, as --place=arg0=[dp,-]")),
            ([places[0], "--place=arg0=[dp,-]"], ("makes it 'tensor<4x4xf32>'",)),
            ([places[0], "--place=arg0=[pp,-]"], ('the mesh has no axis "pp"',)),
            ([places[0], "--place=arg0=[dp tp]"], ("the dims mapping has 1 dimensions but the value has 2",)),
            ([*places, "--place=w=[-]"], ("--place=w=[-] names no argument or result of the serial program",)),
            (["--mesh=dp=2,tp"], ('mesh "dp=2,tp" is not a list of axes and their sizes; an example is dp=2,tp=4',)),
            (["--mesh=dp=1000000,tp=1000000"], ('mesh "dp=1000000,tp=1000000" does not have 1 to 65536 ranks',)),
            (["--mesh=dp=2,dp=2"], ('axis "dp" is empty or stands twice',))):
        expect_refused(parts, serial, partitioned, *arguments)


def check_order(folder):
    """Arguments correspond by their names: TensorFlow's inputs come first, and the variables of what dist-opt exports."""
    graph, exported, strategy = case.FIXTURES / "tensorflow-tiny-f64.mlir", folder / "exported.mlir", folder / "strategy.textproto"
    strategy.write_text(case.make_strategy(case.NETWORKS["tensorflow"], "dp2xtp2", "").replace("train { ", "# "))
    case.run("dist-opt", graph, f"--strategy={strategy}", f"--emit-stablehlo={exported}", "--quiet")
    expect_equal(graph, exported)


def check_own(folder):
    """What dist-opt exports, in both forms, and without the last sum of one."""
    serial, strategy = case.FIXTURES / "mlp-tiny.mlir", folder / "strategy.textproto"
    strategy.write_text(STRATEGY)
    places = [f"--place={place}" for place in ("p.layer0.kernel=[-,tp]", "p.layer1.kernel=[tp,-]", "x=[dp,-]", "y=[dp]")]
    for form, options in (("manual", []), ("replicas", ["--mesh=dp=2,tp=2", *places])):
        exported = folder / f"{form}.mlir"
        case.run("dist-opt", serial, f"--strategy={strategy}", f"--emit-stablehlo={exported}", f"--stablehlo-form={form}", "--quiet")
        expect_equal(serial, exported, *options)
        text = exported.read_text()
        assert text.count('"stablehlo.all_reduce"') > 1 and text.count("stablehlo.add") > 1
        head, last = text.rsplit('"stablehlo.all_reduce"', 1)
        wrong = folder / "wrong.mlir"
        wrong.write_text(head + '"stablehlo.all_reduce"' + last.replace("stablehlo.add", "stablehlo.maximum", 1))
        expect_refused(("1 of 1 output differs", "on rank 0"), serial, wrong, *options)


# Whole training steps: digits of a dimension, slices of a batch as a loop, an accumulation whose end is a conditional, parts of sums between steps, owners.
STEPS = [("gpt2", "dp2xtp2+sequence+zero1", "adamw", "manual"), ("gpt2", "dp2xtp2+sequence+zero3+slices2", "sgd", "replicas"), ("mlp", "dp2xtp2+merge2", "adamw", "manual"),
         ("gpt2", "dp2xtp2+merge2", "clip", "replicas"), ("gpt2", "dp4+zero1whole", "adamw", "manual")]


def check_steps(folder):
    """Whole training steps that dist-opt exports agree with the step that it exports for one rank; wrong ones do not."""
    serial, exported, wrong, strategy = (folder / name for name in ("serial.mlir", "exported.mlir", "wrong.mlir", "strategy.textproto"))
    kinds = set()
    for network, mesh, optimizer, form in STEPS:
        graph = case.FIXTURES / f"{network}-tiny-f64.mlir"
        alone = "serial" + ("+merge2" if "merge2" in mesh else "")
        for spec, path, options in ((alone, serial, []), (mesh, exported, [f"--stablehlo-form={form}"])):
            strategy.write_text(case.make_strategy(case.NETWORKS[network], spec, optimizer))
            case.run("dist-opt", graph, f"--strategy={strategy}", f"--emit-stablehlo={path}", "--quiet", *options)
        words = ["--steps=4"]
        if form == "replicas":
            words.append("--mesh=" + mesh.split("+")[0].replace("x", ",").replace("dp", "dp=").replace("tp", "tp="))
        expect_equal(serial, exported, *words)
        text, edits = exported.read_text(), {}
        for kind, edited in list_edits(text):
            edits.setdefault(kind, []).append(edited)
        for kind, texts in edits.items():
            kinds.add(kind)
            wrong.write_text(texts[len(texts) // 2])
            expect_refused(("outputs differ", "on rank"), serial, wrong, *words)
    if kinds != {"reduction", "groups", "first", "branches", "hidden", "mask"}:
        sys.exit(f"only {kinds} are edited")


def check_comment(folder):
    """The comment of an exported module says how arrays store values; one that does not is an error at its place."""
    serial, exported, wrong, strategy = (folder / name for name in ("serial.mlir", "exported.mlir", "wrong.mlir", "strategy.textproto"))
    graph = case.FIXTURES / "gpt2-tiny-f64.mlir"
    for spec, path in (("serial", serial), ("dp2xtp2", exported)):
        strategy.write_text(case.make_strategy(case.NETWORKS["gpt2"], spec, "sgd"))
        case.run("dist-opt", graph, f"--strategy={strategy}", f"--emit-stablehlo={path}", "--quiet")
    head, body = exported.read_text().split("\n", 1)
    digits = '"digits":[[[3,32,2,16]]]'
    assert digits in head
    bias = 'argument "p.transformer.h.0.attn.c_attn.bias"'
    for old, new, parts in ((digits, '"digits":[[[1,96,2,48]]]', ("57 of 58 outputs differ",)),
                            (digits, '"digits":[[[3,32,2,17]]]', (bias, "is 'tensor<3x16xf64>' on a rank, but", "makes it 'tensor<51xf64>'")),
                            (digits, '"digits":[[[5,32,2,16]]]', (bias, "digit 5 does not divide the 96 indices")),
                            (digits, '"digits":[[[3,32,2]]]', ("the comment at the beginning does not say how the array of number 0 among arguments stores its value",)),
                            ('"sharding":[[],["tp"]]', '"sharding":[[],["pp"]]', (bias, 'the mesh has no axis "pp"')),
                            ('"shape":[96]', '"shape":[48]', (bias, "says that it has shape [48], but in the serial program it is 'tensor<96xf64>'")),
                            ('"results":[', '"others":[', ("the comment at the beginning has no list of results",)),
                            ('"arguments":[', '"arguments":[7,', ("the array of number 0 among arguments",)),
                            ('"results":[', '"results":[{"shape":[],"sharding":[]},', ("the comment at the beginning has 29 arguments and 59 results, but the program 29 and 58",)),
                            ("}", "", ("the comment with arguments and results is no JSON",))):
        assert old in head, old
        wrong.write_text(head.replace(old, new, 1) + "\n" + body)
        expect_refused(parts, serial, wrong)
    # A stated placement goes before what the comment says.
    expect_refused((bias, "tensor<3x16xf64>"), serial, exported, "--place=p.transformer.h.0.attn.c_attn.bias=[tp]")


def check_usage(folder):
    serial, right = FOLDER / "mlp.serial.mlir", FOLDER / "mlp.right.mlir"
    expect_refused(("the partitioned program has 2 arguments, but the serial one 6",), serial, FOLDER / "shards.right.mlir")
    expect_refused(("the partitioned program names no mesh; state one, as --mesh=dp=2,tp=4",), serial, serial)
    expect_refused(("cannot read",), serial, folder / "none.mlir")
    expect_refused(("--check-exact",), serial, right, "--steps=0", status=2)
    expect_refused(("--json is for packages, and two graphs are given",), serial, right, "--json", status=2)
    expect_refused(("--mesh is for two graphs, and a package is given",), serial, "--mesh=dp=2", status=2)
    expect_refused(("a package or two graphs are wanted, and",), serial, right, right, status=2)
    for options, message in ((["--mesh=dp=2"], "--mesh and --place are of the program that --partitioned names; a strategy has a mesh of its own"),
                             ([f"--partitioned={right}", "--no-serial"], "--partitioned takes no strategy, evaluation graph, plan, first stage or package without serial program"),
                             ([f"--partitioned={right}", "--place=w"], "takes NAME=DIMS")):
        wrong = subprocess.run(["dist-opt", serial, *options], stderr=subprocess.PIPE, text=True, check=False)
        if wrong.returncode != 2 or message not in wrong.stderr:
            sys.exit(f"dist-opt {options}: {wrong.stderr}")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    check_shard_maps()
    check_xla(folder)
    check_replicas(folder)
    check_order(folder)
    check_own(folder)
    check_steps(folder)
    check_comment(folder)
    check_usage(folder)


if __name__ == "__main__":
    main()
