# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports whole training steps, with loss, gradients and optimizer in one function: `steps.py FIXTURES`.

STEP.mlir                   the step as StableHLO text; for mlp-state-step also mlp-state.evaluation.mlir, which reads the same state
reference/STEP.safetensors  `losses` and `norms` of the gradients of 5 steps, and the variables after them that have at most 600 elements

Initial parameters and batches are those of the network's own folder under reference/; mlp-state-step has reference/mlp-state-step.init.safetensors, and in
its numbers `evaluations`, after each step on the first batch.
"""

import argparse
import dataclasses
import pathlib
from typing import Any, Callable

import jax
import numpy as np
import optax
from safetensors.numpy import load_file, save_file

STEPS = 5
SMALL = 600


@dataclasses.dataclass
class Step:
    """`step(*state, *inputs)` gives back the state, in the same order, and metrics; `state` names its first arguments."""

    network: str
    function: Callable
    state: dict[str, Any]
    donated: bool
    evaluate: Callable | None = None
    # Whether arguments that the step does not read stay, which JAX leaves out otherwise.
    keep_unused: bool = False


def apart(network, loss, optimizer, parameters):
    """Parameters and state of the optimizer are arguments of their own, and donated."""

    def step(p, opt_state, *batch):
        value, gradients = jax.value_and_grad(loss)(p, *batch)
        updates, opt_state = optimizer.update(gradients, opt_state, p)
        return optax.apply_updates(p, updates), opt_state, value

    return Step(network, step, {"p": parameters, "opt_state": optimizer.init(parameters)}, True)


def whole(*arguments):
    """The same with all arguments, read or not."""
    return dataclasses.replace(apart(*arguments), keep_unused=True)


def together(network, loss, optimizer, parameters):
    """One tree holds all state, and is not donated; the step returns the norm of the gradients too."""

    def step(state, *batch):
        value, gradients = jax.value_and_grad(loss)(state["params"], *batch)
        updates, inner = optimizer.update(gradients, state["optimizer"], state["params"])
        new = {"params": optax.apply_updates(state["params"], updates), "optimizer": inner}
        return new, {"loss": value, "grad_norm": optax.global_norm(gradients)}

    return Step(network, step, {"state": {"params": parameters, "optimizer": optimizer.init(parameters)}}, False)


def averaged(network, loss, optimizer, parameters):
    """Parameters, their moving average and the optimizer's state are arguments of their own, and donated; the first two are trees with the same paths."""

    def step(p, ema, opt_state, *batch):
        value, gradients = jax.value_and_grad(loss)(p, *batch)
        updates, opt_state = optimizer.update(gradients, opt_state, p)
        p = optax.apply_updates(p, updates)
        return p, optax.incremental_update(p, ema, 0.1), opt_state, value

    return Step(network, step, {"p": parameters, "ema": parameters, "opt_state": optimizer.init(parameters)}, True)


def train_state():
    """A perceptron with batch normalization and dropout as users of Flax write it: one state with statistics and the key of the next step, a schedule."""
    import flax.linen as nn
    import jax.numpy as jnp
    from flax.training import train_state

    class Perceptron(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            # A bias in front of a normalization has a gradient of rounding errors alone.
            x = nn.Dense(24, use_bias=False, param_dtype=x.dtype)(x)
            x = nn.BatchNorm(use_running_average=not train, momentum=0.9, param_dtype=x.dtype)(x)
            x = nn.Dropout(0.1, deterministic=not train)(nn.relu(x))
            return nn.Dense(10, param_dtype=x.dtype)(x)

    class State(train_state.TrainState):
        batch_stats: Any
        key: Any

    network = Perceptron()
    variables = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), network.init(jax.random.PRNGKey(0), jnp.zeros((8, 12)), False))
    rate = optax.cosine_decay_schedule(1e-2, 100)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(lambda count: rate(count.astype(jnp.float64)), weight_decay=0.01))
    state = State.create(apply_fn=network.apply, params=variables["params"], tx=optimizer, batch_stats=variables["batch_stats"], key=jax.random.PRNGKey(7))
    cross_entropy = lambda logits, y: optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def step(state, x, y):
        key, dropout = jax.random.split(state.key)

        def loss(params):
            logits, new = network.apply({"params": params, "batch_stats": state.batch_stats}, x, True, rngs={"dropout": dropout}, mutable=["batch_stats"])
            return cross_entropy(logits, y), new["batch_stats"]

        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(state.params)
        return state.apply_gradients(grads=gradients, batch_stats=statistics, key=key), {"loss": value, "grad_norm": optax.global_norm(gradients)}

    def evaluate(state, x, y):
        return {"loss": cross_entropy(network.apply({"params": state.params, "batch_stats": state.batch_stats}, x, False), y)}

    return Step("mlp-tiny-f64", step, {"state": state}, True, evaluate)


def make_steps():
    import models
    import reference

    def make(form, network, make_optimizer):
        model = models.NETWORKS[network]()
        parameters = reference.draw_parameters(model.parameters, seed=1)
        return model, form(network, model.loss, make_optimizer(parameters), parameters)

    clip = lambda _: optax.chain(optax.clip_by_global_norm(0.3), optax.sgd(0.1, momentum=0.9))
    return {
        "gpt2-adamw-step": make(apart, "gpt2-tiny-f64", lambda p: reference.optimizers(p, None)["adamw"]),
        "gpt2-adafactor-step": make(apart, "gpt2-tiny-f64", lambda _: reference.adafactor(1e-2)),
        "mlp-finite-step": make(apart, "mlp-tiny-f64", lambda _: optax.apply_if_finite(optax.adam(1e-2), 3)),
        "mlp-multi-step": make(
            whole, "mlp-tiny-f64", lambda _: optax.MultiSteps(optax.adam(1e-2), 2, should_skip_update_fn=optax.skip_not_finite, accumulator_dtype=np.float64)),
        "mlp-average-step": make(averaged, "mlp-tiny-f64", lambda _: optax.sgd(0.1, momentum=0.9)),
        "mlp-clip-step": make(together, "mlp-tiny-f64", clip),
        "mlp-state-step": (models.NETWORKS["mlp-tiny-f64"](), train_state()),
    }


def with_names(function, state, inputs):
    """The step with its inputs as arguments of their own, called as the network calls them."""
    names = [*state, *inputs]
    scope = {"function": function}
    exec(f"def step({', '.join(names)}): return function({', '.join(names)})", scope)
    return scope["step"]


def export(model, step, function, donated, path):
    named_function = with_names(function, step.state, model.inputs)
    donated = tuple(range(len(step.state))) if donated else ()
    text = jax.jit(named_function, donate_argnums=donated, keep_unused=step.keep_unused).lower(*step.state.values(), *model.inputs.values()).as_text(debug_info=True)
    path.write_text(text if text.endswith("\n") else text + "\n")
    return len(text)


def named(tree):
    """The leaves of the state by the names that an argument has: its path, joined by dots."""

    def text(key):
        for attribute in ("key", "name", "idx"):
            if hasattr(key, attribute):
                return str(getattr(key, attribute))
        raise TypeError(key)

    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {".".join(text(key) for key in path): np.asarray(leaf) for path, leaf in leaves}


def run(step, folder):
    """The losses, the norms of the gradients where the step returns them, and the small variables after all steps."""
    state, metrics, evaluations = list(step.state.values()), [], []
    function = jax.jit(step.function)
    for index in range(STEPS):
        batch = load_file(folder / "reference" / step.network / f"batch{index}.safetensors")
        *state, metric = function(*state, *batch.values())
        metrics.append(metric if isinstance(metric, dict) else {"loss": metric})
        if step.evaluate:
            first = load_file(folder / "reference" / step.network / "batch0.safetensors")
            evaluations.append(step.evaluate(*state, *first.values())["loss"])
    result = {"losses": np.asarray([metric["loss"] for metric in metrics])}
    if "grad_norm" in metrics[0]:
        result["norms"] = np.asarray([metric["grad_norm"] for metric in metrics])
    if evaluations:
        result["evaluations"] = np.asarray(evaluations)
    variables = named(dict(zip(step.state, state)))
    # Of shape 1 are what optax leaves where a moment is factored, or is not; no step reads them, and JAX drops them.
    return result | {name: value for name, value in variables.items() if value.size <= SMALL and value.shape != (1,)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    # Where in libraries an operation was made takes most of a text, and nobody looks it up.
    jax.config.update("jax_traceback_in_locations_limit", 0)
    for name, (model, step) in make_steps().items():
        size = export(model, step, step.function, step.donated, arguments.folder / f"{name}.mlir")
        if step.evaluate:
            export(model, step, step.evaluate, False, arguments.folder / f"{name.removesuffix('-step')}.evaluation.mlir")
            save_file(named(step.state), arguments.folder / "reference" / f"{name}.init.safetensors")
        numbers = run(step, arguments.folder)
        save_file(numbers, arguments.folder / "reference" / f"{name}.safetensors")
        print(f"{name}: {size} characters;", *(f"{loss:.12f}" for loss in numbers["losses"]))


if __name__ == "__main__":
    main()
