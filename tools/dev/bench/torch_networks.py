# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of step_time in PyTorch, the way its users write them: families by name, each a function of sizes.

Each returns a module that computes the loss of a batch, and the batch. Attention is `scaled_dot_product_attention`, images are in the format
"channels last", a recurrent layer is `torch.nn.LSTM`.
"""

import torch
import torch.nn.functional as F
from torch import nn


def next_token_loss(logits, ids):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())


def token_batch(vocabulary, batch, sequence):
    return (torch.randint(0, vocabulary, (batch, sequence)),)


def image_batch(size, classes, batch):
    return torch.randn(batch, 3, size, size).to(memory_format=torch.channels_last), torch.randint(0, classes, (batch,))


class Attention(nn.Module):
    """Attention of several heads; `turn`, if any, turns queries and keys by their positions."""

    def __init__(self, width, heads, bias, causal, turn=None):
        super().__init__()
        self.heads, self.causal, self.turn = heads, causal, turn
        self.inputs, self.output = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width, bias=bias)

    def forward(self, x):
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.inputs(x).chunk(3, -1))
        if self.turn is not None:
            query, key = self.turn(query), self.turn(key)
        return self.output(F.scaled_dot_product_attention(query, key, value, is_causal=self.causal).transpose(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    """Attention and a feed-forward layer, each after a layer norm."""

    def __init__(self, width, heads, causal, gelu, epsilon):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width, epsilon) for _ in range(2)])
        self.attention = Attention(width, heads, True, causal)
        self.up, self.down, self.gelu = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), gelu

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.down(F.gelu(self.up(self.norms[1](x)), approximate=self.gelu))


class Gpt2(nn.Module):
    def __init__(self, layers, width, heads, vocabulary, sequence):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Parameter(0.02 * torch.randn(sequence, width))
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.blocks = nn.Sequential(*(TransformerBlock(width, heads, True, "tanh", 1e-5) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        return next_token_loss(F.linear(self.norm(self.blocks(self.tokens(ids) + self.places)), self.tokens.weight), ids)


def gpt2(layers, width, heads, vocabulary, sequence, batch):
    return Gpt2(layers, width, heads, vocabulary, sequence), token_batch(vocabulary, batch, sequence)


class Rotary(nn.Module):
    """Turns pairs of features by angles that grow with the position."""

    def __init__(self, sequence, features):
        super().__init__()
        half = features // 2
        angles = torch.arange(sequence)[:, None] * 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("cosine", angles.cos().repeat(1, 2))
        self.register_buffer("sine", torch.cat([-angles.sin(), angles.sin()], -1))

    def forward(self, x):
        left, right = x.chunk(2, -1)
        return x * self.cosine + torch.cat([right, left], -1) * self.sine


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, hidden, turn):
        super().__init__()
        self.norms = nn.ModuleList([nn.RMSNorm(width, 1e-6) for _ in range(2)])
        self.attention = Attention(width, heads, False, True, turn)
        self.gate, self.up, self.down = (nn.Linear(*sizes, bias=False) for sizes in ((width, hidden), (width, hidden), (hidden, width)))

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        y = self.norms[1](x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers, width, heads, hidden, vocabulary, sequence):
        super().__init__()
        self.tokens, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)
        turn = Rotary(sequence, width // heads)
        self.blocks = nn.Sequential(*(LlamaBlock(width, heads, hidden, turn) for _ in range(layers)))
        self.norm = nn.RMSNorm(width, 1e-6)

    def forward(self, ids):
        return next_token_loss(self.head(self.norm(self.blocks(self.tokens(ids)))), ids)


def llama(layers, width, heads, hidden, vocabulary, sequence, batch):
    return Llama(layers, width, heads, hidden, vocabulary, sequence), token_batch(vocabulary, batch, sequence)


class Classifier(nn.Module):
    """The cross entropy of what a body says of `x`."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x, y):
        return F.cross_entropy(self.body(x), y)


class Vit(nn.Module):
    def __init__(self, layers, width, heads, patch, size, classes):
        super().__init__()
        self.patches, self.first = nn.Conv2d(3, width, patch, patch), nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2 + 1, width))
        self.blocks = nn.Sequential(*(TransformerBlock(width, heads, False, "none", 1e-12) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width, 1e-12), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


def vit(layers, width, heads, patch, size, classes, batch):
    return Classifier(Vit(layers, width, heads, patch, size, classes)), image_batch(size, classes, batch)


class Residual(nn.Module):
    """Two convolutions with a norm of 8 groups each, and a projection past them where the shape changes."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.first, self.second = nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.GroupNorm(8, width) for _ in range(2)])
        self.past = nn.Identity() if before == width and stride == 1 else nn.Conv2d(before, width, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.past(x) + self.norms[1](self.second(F.relu(self.norms[0](self.first(x))))))


def resnet(width, classes, size, batch):
    parts, before = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.ReLU(), nn.MaxPool2d(2)], width
    for stage in range(3):
        for block in range(2):
            parts.append(Residual(before, width << stage, 2 if stage and not block else 1))
            before = width << stage
    body = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))
    return Classifier(body).to(memory_format=torch.channels_last), image_batch(size, classes, batch)


def twice(before, width, count=2):
    parts = []
    for _ in range(count):
        parts += [nn.Conv2d(before, width, 3, 1, 1), nn.GroupNorm(8, width), nn.SiLU()]
        before = width
    return nn.Sequential(*parts)


class UNet(nn.Module):
    """Three levels down by strided convolutions and up by transposed ones, joined at equal sizes."""

    def __init__(self, width):
        super().__init__()
        self.large, self.middle, self.small = twice(3, width), twice(2 * width, 2 * width), twice(4 * width, 4 * width)
        self.down = nn.ModuleList([nn.Conv2d(n * width, 2 * n * width, 3, 2, 1) for n in (1, 2)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * n * width, n * width, 2, 2) for n in (2, 1)])
        self.join = nn.ModuleList([twice(2 * n * width, n * width, 1) for n in (2, 1)])
        self.out = nn.Conv2d(width, 3, 3, 1, 1)

    def forward(self, x, y):
        large = self.large(x)
        middle = self.middle(self.down[0](large))
        z = self.small(self.down[1](middle))
        z = self.join[0](torch.cat([self.up[0](z), middle], 1))
        z = self.join[1](torch.cat([self.up[1](z), large], 1))
        return F.mse_loss(self.out(z), y)


def unet(width, size, batch):
    model = UNet(width).to(memory_format=torch.channels_last)
    return model, tuple(torch.randn(batch, 3, size, size).to(memory_format=torch.channels_last) for _ in range(2))


class Lstm(nn.Module):
    def __init__(self, features, width, classes):
        super().__init__()
        self.layers, self.head = nn.LSTM(features, width, 2, batch_first=True), nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.layers(x)[0][:, -1])


def lstm(features, width, sequence, classes, batch):
    return Classifier(Lstm(features, width, classes)), (torch.randn(batch, sequence, features), torch.randint(0, classes, (batch,)))


class MixerBlock(nn.Module):
    def __init__(self, places, width, tokens, hidden):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.along = nn.Sequential(nn.Linear(places, tokens), nn.GELU(approximate="tanh"), nn.Linear(tokens, places))
        self.across = nn.Sequential(nn.Linear(width, hidden), nn.GELU(approximate="tanh"), nn.Linear(hidden, width))

    def forward(self, x):
        x = x + self.along(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.across(self.norms[1](x))


class Mixer(nn.Module):
    def __init__(self, layers, width, tokens, hidden, patch, size, classes):
        super().__init__()
        self.patches, self.head = nn.Conv2d(3, width, patch, patch), nn.Linear(width, classes)
        self.blocks = nn.Sequential(*(MixerBlock((size // patch) ** 2, width, tokens, hidden) for _ in range(layers)))

    def forward(self, x):
        return self.head(self.blocks(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


def mixer(layers, width, tokens, hidden, patch, classes, size, batch):
    return Classifier(Mixer(layers, width, tokens, hidden, patch, size, classes)), image_batch(size, classes, batch)


class LanguageModel(nn.Module):
    """Blocks over embedded tokens, each after a norm without a scale."""

    def __init__(self, blocks, width, vocabulary):
        super().__init__()
        self.embedding, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)
        self.blocks = nn.ModuleList(blocks)

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = x + block(x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5))
        return next_token_loss(self.head(x), ids)


class StateSpace(nn.Module):
    """A selective state space. PyTorch has no public associative scan: its states are sums of doubling length, log2(time) times."""

    def __init__(self, width, state):
        super().__init__()
        self.inputs, self.pace = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, width, bias=False)
        self.ports, self.out = nn.Linear(width, 2 * state, bias=False), nn.Linear(width, width, bias=False)
        self.decay = nn.Parameter(0.02 * torch.randn(width, state))

    def forward(self, x):
        u, gate = self.inputs(x).chunk(2, -1)
        pace = F.softplus(self.pace(u))
        write, read = self.ports(u).chunk(2, -1)
        decay, states = torch.exp(-pace[..., None] * self.decay.exp()), (pace * u)[..., None] * write[:, :, None]
        length = 1
        while length < x.shape[1]:
            later = states[:, length:] + decay[:, length:] * states[:, :-length]
            further = decay[:, length:] * decay[:, :-length]
            states, decay = torch.cat([states[:, :length], later], 1), torch.cat([decay[:, :length], further], 1)
            length *= 2
        return self.out(torch.einsum("btds,bts->btd", states, read) * F.silu(gate))


def state_space(layers, width, state, vocabulary, sequence, batch):
    return LanguageModel([StateSpace(width, state) for _ in range(layers)], width, vocabulary), token_batch(vocabulary, batch, sequence)


class Experts(nn.Module):
    """Every token goes to two experts, in the order of tokens, as long as they have room; rows are moved by their numbers."""

    def __init__(self, width, count):
        super().__init__()
        self.router, self.count = nn.Linear(width, count, bias=False), count
        self.up, self.down = (nn.Parameter(0.02 * torch.randn(count, *shape)) for shape in ((width, 2 * width), (2 * width, width)))

    def forward(self, x):
        t = x.flatten(0, 1)
        room = len(t) // 2
        weights, chosen = self.router(t).softmax(-1).topk(2)
        hot = F.one_hot(chosen.flatten(), self.count)
        place = ((hot.cumsum(0) - 1) * hot).sum(-1)
        kept = place < room
        seat = torch.where(kept, chosen.flatten() * room + place, self.count * room)
        sent = t.new_zeros(self.count * room + 1, t.shape[1]).index_copy(0, seat, t.repeat_interleave(2, 0))[:-1]
        inner = F.gelu(torch.bmm(sent.view(self.count, room, -1), self.up), approximate="tanh")
        outer = F.pad(torch.bmm(inner, self.down).flatten(0, 1), (0, 0, 0, 1))
        return (outer[seat].view(len(t), 2, -1) * (weights * kept.view(-1, 2))[..., None]).sum(1).view(x.shape)


def experts(layers, width, experts, vocabulary, sequence, batch):
    return LanguageModel([Experts(width, experts) for _ in range(layers)], width, vocabulary), token_batch(vocabulary, batch, sequence)


FAMILIES = {"gpt2": gpt2, "llama": llama, "vit": vit, "resnet": resnet, "unet": unet, "lstm": lstm, "mixer": mixer, "state_space": state_space,
            "experts": experts}
