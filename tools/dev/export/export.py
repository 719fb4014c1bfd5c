# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports a network as StableHLO text: `export.py NETWORK [--gradient | --step] [--no-names] [--generic] [-o FILE]`."""

import argparse
import sys

import jax


def lower(network, gradient):
    """The lowering of the loss, or of the loss and its gradient."""
    function = jax.value_and_grad(network.loss) if gradient else network.loss
    return jax.jit(function).lower(network.parameters, *network.inputs.values())


def lower_step(network):
    """The lowering of a whole step of AdamW, whose parameters and state are donated."""
    import optax

    optimizer = optax.adamw(1e-3)

    def step(p, opt_state, *batch):
        loss, gradients = jax.value_and_grad(network.loss)(p, *batch)
        updates, opt_state = optimizer.update(gradients, opt_state, p)
        return optax.apply_updates(p, updates), opt_state, loss

    state = jax.eval_shape(optimizer.init, network.parameters)
    return jax.jit(step, donate_argnums=(0, 1)).lower(network.parameters, state, *network.inputs.values())


def text(lowered, names, generic):
    if not generic:
        return lowered.as_text(debug_info=names)
    module = lowered.compiler_ir("stablehlo")
    return module.operation.get_asm(enable_debug_info=names, print_generic_op_form=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network")
    parser.add_argument("--gradient", action="store_true", help="the loss and its gradient, instead of the loss")
    parser.add_argument("--step", action="store_true", help="a whole training step with AdamW, instead of the loss")
    parser.add_argument("--no-names", action="store_true", help="without locations, and so without names")
    parser.add_argument("--generic", action="store_true", help="in MLIR's generic form")
    parser.add_argument("-o", default="-", help="the file; - is standard output")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", arguments.network.endswith("-f64"))
    # Locations name files as packages do, not as the machine that exported did.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(site-packages|dev)/")
    import models

    if arguments.network not in models.NETWORKS:
        parser.error(f"there is no network {arguments.network}; there are {', '.join(models.NETWORKS)}")
    network = models.NETWORKS[arguments.network]()
    lowered = lower_step(network) if arguments.step else lower(network, arguments.gradient)
    result = text(lowered, not arguments.no_names, arguments.generic)
    with sys.stdout if arguments.o == "-" else open(arguments.o, "w") as file:
        file.write(result if result.endswith("\n") else result + "\n")


if __name__ == "__main__":
    main()
