# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks for images: ResNet-18 and a UNet in Flax, and ViT of transformers."""

import logging
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from network import Network, in_type

# Transformers warns that no PyTorch was found; its Flax classes do not need it.
logging.getLogger("transformers").setLevel(logging.ERROR)
from transformers import FlaxViTForImageClassification, ViTConfig  # noqa: E402


class ResidualBlock(nn.Module):
    """Two convolutions and what goes past them, as in ResNet-18 and -34."""

    width: int
    strides: int
    dtype: Any

    @nn.compact
    def __call__(self, x):
        convolution = lambda *arguments, **options: nn.Conv(*arguments, use_bias=False, dtype=self.dtype, **options)
        # The statistics of the whole batch, in training; running ones are of evaluation.
        norm = lambda name: nn.BatchNorm(use_running_average=False, dtype=self.dtype, name=name)
        strides = (self.strides, self.strides)
        y = nn.relu(norm("norm1")(convolution(self.width, (3, 3), strides, padding=1, name="conv1")(x)))
        y = norm("norm2")(convolution(self.width, (3, 3), padding=1, name="conv2")(y))
        if x.shape != y.shape:
            x = norm("norm_past")(convolution(self.width, (1, 1), strides, name="conv_past")(x))
        return nn.relu(x + y)


class ResNet(nn.Module):
    """ResNet-18: four stages of two blocks, the first `width` wide, the others twice as wide as the one before."""

    width: int
    classes: int
    dtype: Any

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.width, (7, 7), (2, 2), padding=3, use_bias=False, dtype=self.dtype, name="stem")(x)
        x = nn.relu(nn.BatchNorm(use_running_average=False, dtype=self.dtype, name="stem_norm")(x))
        x = nn.max_pool(x, (3, 3), (2, 2), padding=((1, 1), (1, 1)))
        for stage in range(4):
            for block in range(2):
                strides = 2 if stage > 0 and block == 0 else 1
                x = ResidualBlock(self.width << stage, strides, self.dtype, name=f"stage{stage}_block{block}")(x)
        return nn.Dense(self.classes, dtype=self.dtype, name="head")(x.mean((1, 2)))


class Down(nn.Module):
    """A convolution of 3 x 3, a norm over the channels and places of each image, and a SiLU."""

    width: int
    strides: int
    dtype: Any

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.width, (3, 3), (self.strides, self.strides), padding=1, use_bias=False, dtype=self.dtype, name="conv")(x)
        return nn.silu(nn.GroupNorm(2, dtype=self.dtype, name="norm")(x))


class Up(nn.Module):
    """A transposed convolution to twice the size, joined with what was of that size on the way down."""

    width: int
    dtype: Any

    @nn.compact
    def __call__(self, x, past):
        x = nn.ConvTranspose(self.width, (2, 2), (2, 2), dtype=self.dtype, name="up")(x)
        return Down(self.width, 1, self.dtype, name="joined")(jnp.concatenate([x, past], -1))


class UNet(nn.Module):
    """Two levels down and up; `channels` in and out."""

    width: int
    channels: int
    dtype: Any

    @nn.compact
    def __call__(self, x):
        large = Down(self.width, 1, self.dtype, name="block0")(x)
        middle = Down(2 * self.width, 2, self.dtype, name="block1")(large)
        x = Down(4 * self.width, 2, self.dtype, name="block2")(middle)
        x = Up(2 * self.width, self.dtype, name="block3")(x, middle)
        x = Up(self.width, self.dtype, name="block4")(x, large)
        return nn.Conv(self.channels, (1, 1), dtype=self.dtype, name="head")(x)


def images(size, classes, batch, dtype):
    """The inputs of a classifier of images, and how to draw them."""

    def draw(rng):
        return {"x": rng.standard_normal((batch, size, size, 3)).astype(dtype),
                "y": rng.integers(0, classes, (batch,), dtype="int32")}

    inputs = {"x": jax.ShapeDtypeStruct((batch, size, size, 3), dtype), "y": jax.ShapeDtypeStruct((batch,), jnp.int32)}
    return inputs, draw


def resnet(width, classes, size, batch, dtype):
    model = ResNet(width, classes, dtype)
    inputs, draw = images(size, classes, batch, dtype)
    variables = jax.eval_shape(lambda: model.init(jax.random.PRNGKey(0), jnp.zeros(inputs["x"].shape, dtype)))

    def loss(p, x, y):
        statistics = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, dtype), variables["batch_stats"])
        logits, _ = model.apply({"params": p, "batch_stats": statistics}, x, mutable=["batch_stats"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    return Network(loss, in_type(variables["params"], dtype), inputs, draw)


def unet(width, channels, size, batch, dtype):
    """Predicts an image from another one."""
    model, shape = UNet(width, channels, dtype), jax.ShapeDtypeStruct((batch, size, size, channels), dtype)
    parameters = jax.eval_shape(lambda: model.init(jax.random.PRNGKey(0), jnp.zeros(shape.shape, dtype)))["params"]

    def loss(p, x, y):
        return jnp.mean((model.apply({"params": p}, x) - y) ** 2)

    draw = lambda rng: {name: rng.standard_normal(shape.shape).astype(dtype) for name in ("x", "y")}
    return Network(loss, in_type(parameters, dtype), {"x": shape, "y": shape}, draw)


def vit(layers, width, heads, classes, size, patch, batch, dtype):
    config = ViTConfig(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * width,
        image_size=size, patch_size=patch, num_labels=classes, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0)
    model = FlaxViTForImageClassification(config, _do_init=False, dtype=dtype)
    inputs, draw = images(size, classes, batch, dtype)
    parameters = jax.eval_shape(lambda: model.init_weights(jax.random.PRNGKey(0), inputs["x"].shape))

    def loss(p, x, y):
        # The model takes channels first, and moves them behind.
        logits = model(x.transpose(0, 3, 1, 2), params=p, train=False).logits
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    return Network(loss, in_type(parameters, dtype), inputs, draw)
