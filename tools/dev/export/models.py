# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks of the fixtures.

Flax models are built with `_do_init=False` and their parameters by `jax.eval_shape`, so that no weight is made.
"""

import contextlib
import logging

import jax
import jax.numpy as jnp
import optax

from images import resnet, unet, vit
from llama import llama
from mixture import mixture
from network import Network, in_type, next_token_loss, token_batch, tokens, with_keys
from recurrent import lstm, scan_gpt

# Transformers warns that no PyTorch was found; its Flax classes do not need it.
logging.getLogger("transformers").setLevel(logging.ERROR)
from transformers import (  # noqa: E402
    BertConfig, FlaxBertForMaskedLM, FlaxGPT2LMHeadModel, FlaxOPTForCausalLM, FlaxT5ForConditionalGeneration, GPT2Config, OPTConfig,
    T5Config)


def gpt2(layers, width, heads, vocabulary, sequence, batch, dtype, dropout=0.0, generator="threefry2x32"):
    """With dropout the loss takes the raw key of the step, for JAX's generator of that name, as its last input."""
    config = GPT2Config(
        vocab_size=vocabulary, n_positions=sequence, n_embd=width, n_layer=layers, n_head=heads,
        resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout)
    model = FlaxGPT2LMHeadModel(config, _do_init=False, dtype=dtype)
    parameters = jax.eval_shape(lambda: model.init_weights(jax.random.PRNGKey(0), (1, sequence)))

    def loss(p, ids, key=None):
        if key is not None:
            key = jax.random.wrap_key_data(key, impl=generator)
        return next_token_loss(model(ids, params=p, train=key is not None, dropout_rng=key).logits, ids)

    inputs = {"ids": tokens(batch, sequence)}
    draw = token_batch(vocabulary, batch, sequence)
    if dropout > 0:
        inputs["key"] = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=generator)))
        draw = with_keys(draw, inputs["key"].size)
    return Network(loss, in_type(parameters, dtype), inputs, draw)


def bert(layers, width, heads, vocabulary, sequence, batch, dtype):
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=4 * width, max_position_embeddings=sequence,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = FlaxBertForMaskedLM(config, _do_init=False, dtype=dtype)
    parameters = jax.eval_shape(lambda: model.init_weights(jax.random.PRNGKey(0), (1, sequence)))

    def loss(p, ids, mask, labels):
        """Mean cross entropy of the positions whose label is not -100."""
        logits = model(ids, attention_mask=mask, params=p, train=False).logits
        counted = labels != -100
        each = optax.softmax_cross_entropy_with_integer_labels(logits, jnp.where(counted, labels, 0))
        return jnp.where(counted, each, 0).sum() / counted.sum()

    def draw(rng):
        ids = rng.integers(0, vocabulary, (batch, sequence), dtype="int32")
        lengths = rng.integers(sequence // 2, sequence + 1, (batch, 1))
        mask = (jnp.arange(sequence)[None] < lengths).astype("int32")
        chosen = (rng.random((batch, sequence)) < 0.3) & (mask == 1)
        return {"ids": ids, "mask": mask, "labels": jnp.where(chosen, ids, -100).astype("int32")}

    inputs = {name: tokens(batch, sequence) for name in ("ids", "mask", "labels")}
    return Network(loss, in_type(parameters, dtype), inputs, draw)


def opt(layers, width, heads, vocabulary, sequence, batch, dtype):
    config = OPTConfig(
        vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, ffn_dim=4 * width,
        word_embed_proj_dim=width, max_position_embeddings=sequence, dropout=0.0)
    model = FlaxOPTForCausalLM(config, _do_init=False, dtype=dtype)
    parameters = jax.eval_shape(lambda: model.init_weights(jax.random.PRNGKey(0), (1, sequence)))

    def loss(p, ids):
        return next_token_loss(model(ids, params=p).logits, ids)

    return Network(loss, in_type(parameters, dtype), {"ids": tokens(batch, sequence)}, token_batch(vocabulary, batch, sequence))


@contextlib.contextmanager
def older_clip():
    """JAX 0.10 has dropped a name of `clip`'s arguments that this release of transformers uses."""
    clip = jnp.clip
    jnp.clip = lambda x, *bounds, a_max=None: clip(x, *bounds, max=a_max) if a_max is not None else clip(x, *bounds)
    try:
        yield
    finally:
        jnp.clip = clip


def t5(layers, width, heads, vocabulary, sequence, batch, dtype):
    """Encoder and decoder with gated GELU; the decoder predicts `labels` from those before them, for what `ids` holds."""
    config = T5Config(
        vocab_size=vocabulary, d_model=width, d_kv=width // heads, d_ff=2 * width, num_layers=layers, num_heads=heads,
        relative_attention_num_buckets=8, relative_attention_max_distance=16, dropout_rate=0.0,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0)
    with older_clip():
        model = FlaxT5ForConditionalGeneration(config, _do_init=False, dtype=dtype)
        parameters = jax.eval_shape(lambda: model.init_weights(jax.random.PRNGKey(0), (1, sequence)))

    def loss(p, ids, mask, labels):
        """Mean cross entropy of the positions whose label is not 0, which stands for padding."""
        before = jnp.pad(labels[:, :-1], ((0, 0), (1, 0)))
        with older_clip():
            logits = model(ids, attention_mask=mask, decoder_input_ids=before, params=p, train=False).logits
        each = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return jnp.where(labels != 0, each, 0).sum() / (labels != 0).sum()

    def draw(rng):
        def pad(ids):
            return ids * (jnp.arange(sequence)[None] < rng.integers(sequence // 2, sequence + 1, (batch, 1)))

        ids, labels = (pad(rng.integers(1, vocabulary, (batch, sequence), dtype="int32")) for _ in range(2))
        return {"ids": ids.astype("int32"), "mask": (ids != 0).astype("int32"), "labels": labels.astype("int32")}

    inputs = {name: tokens(batch, sequence) for name in ("ids", "mask", "labels")}
    return Network(loss, in_type(parameters, dtype), inputs, draw)


def mlp(widths, batch, dtype):
    """A perceptron with relu, and cross entropy over the last width."""

    def loss(p, x, y):
        for index in range(len(widths) - 1):
            layer = p[f"layer{index}"]
            x = x @ layer["kernel"] + layer["bias"]
            if index < len(widths) - 2:
                x = jax.nn.relu(x)
        return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=-1).mean()

    parameters = {
        f"layer{index}": {
            "kernel": jax.ShapeDtypeStruct((widths[index], widths[index + 1]), dtype),
            "bias": jax.ShapeDtypeStruct((widths[index + 1],), dtype)}
        for index in range(len(widths) - 1)}

    def draw(rng):
        return {"x": rng.standard_normal((batch, widths[0])).astype(dtype),
                "y": rng.integers(0, widths[-1], (batch,), dtype="int32")}

    inputs = {"x": jax.ShapeDtypeStruct((batch, widths[0]), dtype), "y": jax.ShapeDtypeStruct((batch,), jnp.int32)}
    return Network(loss, parameters, inputs, draw)


# Everything that can be exported. Names end in the element type unless it is f32.
NETWORKS = {
    "gpt2-12": lambda: gpt2(12, 768, 12, 50257, 128, 8, jnp.float32),
    "gpt2-24-f64": lambda: gpt2(24, 32, 4, 97, 8, 112, jnp.float64),
    "gpt2-12-f64": lambda: gpt2(12, 768, 12, 50257, 128, 8, jnp.float64),
    "gpt2-8": lambda: gpt2(8, 64, 8, 128, 16, 32, jnp.float32),
    "gpt2-small": lambda: gpt2(4, 256, 8, 512, 128, 8, jnp.float32),
    "gpt2-small-16": lambda: gpt2(4, 256, 8, 512, 128, 16, jnp.float32),
    "gpt2-tiny": lambda: gpt2(2, 32, 4, 97, 16, 8, jnp.float32),
    "gpt2-tiny-f64": lambda: gpt2(2, 32, 4, 97, 16, 8, jnp.float64),
    "gpt2-tiny-bf16": lambda: gpt2(2, 32, 4, 97, 16, 8, jnp.bfloat16),
    "gpt2-dropout-tiny-f64": lambda: gpt2(2, 32, 4, 97, 16, 8, jnp.float64, 0.1),
    "gpt2-rbg-tiny-f64": lambda: gpt2(2, 32, 4, 97, 16, 8, jnp.float64, 0.1, "rbg"),
    "gpt2-dropout-12": lambda: gpt2(12, 768, 12, 50257, 128, 8, jnp.float32, 0.1),
    "bert-tiny": lambda: bert(2, 32, 4, 89, 16, 8, jnp.float32),
    "bert-tiny-f64": lambda: bert(2, 32, 4, 89, 16, 8, jnp.float64),
    "opt-tiny-f64": lambda: opt(2, 16, 4, 61, 12, 8, jnp.float64),
    "t5-tiny-f64": lambda: t5(2, 16, 4, 61, 12, 8, jnp.float64),
    "llama-tiny-f64": lambda: llama(2, 16, 4, 2, 61, 12, 8, jnp.float64),
    "llama-tiny-bf16": lambda: llama(2, 16, 4, 2, 61, 12, 8, jnp.bfloat16),
    "llama-checkpoint-tiny-f64": lambda: llama(2, 16, 4, 2, 61, 12, 8, jnp.float64, checkpoint=True),
    "mixture-tiny-f64": lambda: mixture(1, 16, 4, 4, 61, 12, 8, jnp.float64),
    "scan-gpt-tiny-f64": lambda: scan_gpt(3, 16, 4, 61, 12, 8, jnp.float64),
    "lstm-tiny-f64": lambda: lstm(16, 61, 12, 8, jnp.float64),
    "mlp-tiny": lambda: mlp((12, 24, 16, 10), 8, jnp.float32),
    "mlp-tiny-f64": lambda: mlp((12, 24, 16, 10), 8, jnp.float64),
    "resnet-tiny-f64": lambda: resnet(2, 10, 20, 8, jnp.float64),
    "resnet-18": lambda: resnet(64, 1000, 224, 8, jnp.float32),
    "unet-tiny-f64": lambda: unet(4, 3, 12, 8, jnp.float64),
    "vit-tiny-f64": lambda: vit(2, 16, 4, 10, 16, 4, 8, jnp.float64),
}
