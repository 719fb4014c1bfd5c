# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports networks of PyTorch, and what PyTorch itself makes of them: `torch_networks.py FOLDER [NETWORK ...] [--f32]`.

torch-NETWORK-tiny-f64.mlir           the loss, as meshwright.torch exports the module
reference/torch-NETWORK-tiny-f64/*    the files of reference.py, by PyTorch's own derivatives and torch.optim.AdamW

Networks come unmodified from transformers and torchvision, with random weights. Needs the packages of requirements-torch.txt.
"""

import argparse
import contextlib
import pathlib
import sys
import warnings

import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))
import meshwright.torch  # noqa: E402
from meshwright.torch import _tensors  # noqa: E402

VOCABULARY, WIDTH, HEADS, LENGTH, BATCH, CLASSES = 61, 16, 4, 12, 8, 10
STEPS = 5


@contextlib.contextmanager
def doubles():
    """Lets networks that compute parts in 32 bits, whatever their type, compute these in 64."""
    to, softmax = torch.Tensor.to, F.softmax
    real = torch.Tensor.float

    def wider(self, *args, **keywords):
        args = tuple(torch.float64 if each is torch.float32 else each for each in args)
        keywords = {key: torch.float64 if each is torch.float32 else each for key, each in keywords.items()}
        return to(self, *args, **keywords)

    torch.Tensor.to, torch.Tensor.float = wider, torch.Tensor.double
    F.softmax = lambda x, dim=None, dtype=None, **keywords: softmax(x, dim, **keywords)
    try:
        yield
    finally:
        torch.Tensor.to, torch.Tensor.float, F.softmax = to, real, softmax


def tokens(generator, padded=False):
    ids = torch.randint(1, VOCABULARY, (BATCH, LENGTH), generator=generator)
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (BATCH, 1), generator=generator)
    return ids * (torch.arange(LENGTH) < lengths) if padded else ids


def same_tokens(generator):
    ids = tokens(generator)
    return {"input_ids": ids, "labels": ids}


def images(size):
    return lambda generator: {"pixel_values": torch.randn(BATCH, 3, size, size, generator=generator, dtype=torch.get_default_dtype()),
                              "labels": torch.randint(0, CLASSES, (BATCH,), generator=generator)}


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=WIDTH, n_layer=2, n_head=HEADS, resid_pdrop=0, embd_pdrop=0,
                                      attn_pdrop=0, use_cache=False, attn_implementation="eager")), same_tokens


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=24, num_hidden_layers=2, num_attention_heads=HEADS,
                                        num_key_value_heads=2, max_position_embeddings=LENGTH, use_cache=False)), same_tokens


def vit():
    from transformers import ViTConfig, ViTForImageClassification

    return ViTForImageClassification(ViTConfig(hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS, intermediate_size=32, image_size=16,
                                               patch_size=4, num_labels=CLASSES, hidden_dropout_prob=0, attention_probs_dropout_prob=0)), images(16)


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    model = T5ForConditionalGeneration(T5Config(
        vocab_size=VOCABULARY, d_model=WIDTH, d_kv=4, d_ff=32, num_layers=1, num_heads=HEADS, relative_attention_num_buckets=8,
        relative_attention_max_distance=16, dropout_rate=0.0, feed_forward_proj="gated-gelu", tie_word_embeddings=True, decoder_start_token_id=0,
        pad_token_id=0, use_cache=False))

    def draw(generator):
        ids, labels = tokens(generator, padded=True), tokens(generator, padded=True)
        return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.where(labels == 0, -100, labels)}

    return model, draw


def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    return MixtralForCausalLM(MixtralConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=12, num_hidden_layers=1, num_attention_heads=HEADS, num_key_value_heads=2,
        num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=LENGTH, use_cache=False, output_router_logits=True)), same_tokens


def resnet():
    """ResNet-18 with channels 2, 4, 8, 16."""
    from torchvision.models.resnet import BasicBlock, ResNet

    class Narrow(ResNet):
        def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
            self.inplanes = 2 if planes == 64 else self.inplanes
            return super()._make_layer(block, planes // 32, blocks, stride, dilate)

    model = Narrow(BasicBlock, [2, 2, 2, 2])
    model.conv1, model.bn1 = torch.nn.Conv2d(3, 2, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(2)
    model.fc = torch.nn.Linear(16, CLASSES)
    return model, images(20)


NETWORKS = {"gpt2": gpt2, "llama": llama, "vit": vit, "t5": t5, "mixtral": mixtral, "resnet": resnet}


def draw_weights(model, generator):
    """Small normal values; scales of normalizations around 1. Large enough that no gradient is lost in rounding."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_scale = parameter.dim() == 1 and name.endswith("weight")
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * (0.1 if parameter.dim() < 4 else 0.3) + is_scale)


def loss_of(model, batch):
    if "labels" in batch and not hasattr(model, "config"):
        return F.cross_entropy(model(batch["pixel_values"]), batch["labels"])
    return model(**batch).loss


def export(model, batch, start):
    if not hasattr(model, "config"):
        exported = meshwright.torch.export(model, (batch["pixel_values"],), F.cross_entropy, targets={"labels": batch["labels"]})
    else:
        exported = meshwright.torch.export(model, batch)
    pathlib.Path(f"{start}.mlir").write_text(exported.text)
    return exported


def inputs_of(batch, exported):
    """A batch by the names of the graph's inputs, which are in the same order."""
    return dict(zip(exported.inputs, batch.values()))


def write_reference(model, exported, batches, folder):
    """Trains by AdamW and keeps what case.py compares with."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    folder.mkdir(parents=True, exist_ok=True)
    _tensors.save(folder / "init.safetensors", exported.state)
    losses = []
    for step, batch in enumerate(batches):
        _tensors.save(folder / f"batch{step}.safetensors", inputs_of(batch, exported))
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        losses.append(loss.detach())
        if step == 0:
            gradients = {f"grad/{name}": parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}
            _tensors.save(folder / "gradients.safetensors", {"loss": losses[0]} | gradients)
        optimizer.step()
    values = dict(model.named_parameters()) | dict(model.named_buffers())
    _tensors.save(folder / "torch-adamw.safetensors", {"losses": torch.stack(losses)} | {name: values[name] for name in exported.state})
    print(*(f"{loss:.12f}" for loss in losses))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--f32", action="store_true", help="in 32 bits, for a check that no fixture keeps")
    arguments = parser.parse_args()
    dtype = torch.float32 if arguments.f32 else torch.float64
    torch.set_default_dtype(dtype)
    for name in arguments.networks:
        generator = torch.Generator().manual_seed(1)
        model, draw = NETWORKS[name]()
        model = model.to(dtype).train()
        draw_weights(model, generator)
        batches = [draw(generator) for _ in range(STEPS)]
        title = f"torch-{name}-tiny-{'f32' if arguments.f32 else 'f64'}"
        with contextlib.nullcontext() if arguments.f32 else doubles():
            exported = export(model, batches[0], arguments.folder / title)
            print(title, len(exported.text), end=" ")
            if name == "mixtral":
                # PyTorch multiplies groups in 32 and 16 bits alone.
                model.set_experts_implementation("eager")
            write_reference(model, exported, batches, arguments.folder / "reference" / title)


if __name__ == "__main__":
    warnings.simplefilter("error", UserWarning)
    main()
