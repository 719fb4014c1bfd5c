# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import jax, optax, meshwright.jax
from transformers import FlaxGPT2LMHeadModel, GPT2Config

jax.config.update("jax_num_cpu_devices", 4)
model = FlaxGPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=96, n_positions=32), input_shape=(1, 32))
optimizer = optax.adamw(1e-3)

def train(params, opt_state, ids):
    def loss(params):
        logits = model(ids, params=params).logits[:, :-1]
        return optax.softmax_cross_entropy_with_integer_labels(logits, ids[:, 1:]).mean()
    value, gradients = jax.value_and_grad(loss)(params)
    updates, opt_state = optimizer.update(gradients, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, value

batches = jax.random.randint(jax.random.PRNGKey(0), (5, 8, 32), 0, 96)
strategy = {"model": {"batch": {"inputs": "ids"}}, "data": {"axes": "dp"}, "zero": {"axes": "dp", "stage": 2}}
state = (model.params, optimizer.init(model.params))
in_jax, in_ranks = (meshwright.jax.distribute(train, strategy, mesh={"dp": 4}, engine=engine)(*state, batches[0]) for engine in ("jax", "meshwright"))
print(in_jax.package.explain())
for ids in batches:
    *state, alone = jax.jit(train)(*state, ids)
    print(f"loss {in_jax(ids):.7f} in JAX on 4 devices, {in_ranks(ids):.7f} on 4 ranks, {alone:.7f} in JAX on one")
