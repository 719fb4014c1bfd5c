#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes everything in test/fixtures anew. Needs a Python with the packages of requirements.txt:
#   python3 -m venv .venv && .venv/bin/pip install -r tools/dev/export/requirements.txt
#   PYTHON=.venv/bin/python tools/dev/export/fixtures.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../../test/fixtures}
python=${PYTHON:-python3}
export JAX_PLATFORMS=cpu

export_text() { # NETWORK SUFFIX OPTIONS...
  local network=$1 suffix=$2
  shift 2
  "$python" "$here/export.py" "$network" "$@" -o "$out/$network$suffix.mlir"
  echo "$network$suffix.mlir"
}

for network in gpt2-12 gpt2-24-f64 gpt2-8 gpt2-small gpt2-tiny gpt2-tiny-f64 gpt2-tiny-bf16 bert-tiny bert-tiny-f64 mlp-tiny mlp-tiny-f64; do
  export_text "$network" ""
done
for network in gpt2-dropout-tiny-f64 gpt2-rbg-tiny-f64; do
  export_text "$network" ""
  "$python" "$here/reference.py" "$network" "$out/reference/$network" --optimizers adamw --small
done
for network in t5-tiny-f64 llama-tiny-f64 opt-tiny-f64 mixture-tiny-f64 scan-gpt-tiny-f64 lstm-tiny-f64; do
  export_text "$network" ""
  "$python" "$here/reference.py" "$network" "$out/reference/$network" --optimizers adamw
done
export_text llama-tiny-bf16 ""
"$python" "$here/reference.py" llama-tiny-bf16 "$out/reference/llama-tiny-bf16" --optimizers ""
export_text vit-tiny-f64 ""
"$python" "$here/reference.py" vit-tiny-f64 "$out/reference/vit-tiny-f64" --optimizers adamw
export_text unet-tiny-f64 ""
"$python" "$here/reference.py" unet-tiny-f64 "$out/reference/unet-tiny-f64" --optimizers adamw
export_text resnet-tiny-f64 ""
"$python" "$here/reference.py" resnet-tiny-f64 "$out/reference/resnet-tiny-f64" --optimizers momentum
for network in gpt2-tiny-f64 bert-tiny-f64 mlp-tiny-f64 llama-checkpoint-tiny-f64; do
  export_text "$network" .gradient --gradient
done
export_text gpt2-tiny .no-names --no-names
export_text gpt2-tiny .generic --generic
export_text gpt2-small .generic --generic
export_text mlp-tiny .generic-no-names --generic --no-names
"$python" "$here/shard_maps.py" "$out"
"$python" "$here/shard_map_steps.py" "$out"
for network in gpt2-tiny gpt2-adamw-step; do "$python" "$here/partitioned.py" --network "$network" -o "$out/partitioned/$network.xla.mlir"; done
"$python" "$here/operations.py" "$out"
"$python" "$here/random_bits.py" "$out"
"$python" "$here/float8.py" "$out"
"$python" "$here/derivatives.py" "$out"
"$python" "$here/windows.py" "$out"

for network in gpt2-tiny-f64 mlp-tiny-f64; do
  "$python" "$here/reference.py" "$network" "$out/reference/$network"
done
"$python" "$here/reference.py" bert-tiny-f64 "$out/reference/bert-tiny-f64" --optimizers adamw
"$python" "$here/reference.py" mlp-tiny "$out/reference/mlp-tiny-bf16" --bf16 --optimizers bf16
"$python" "$here/reference.py" gpt2-tiny "$out/reference/gpt2-tiny-bf16" --bf16 --optimizers bf16
"$python" "$here/loss_scale.py" "$out/reference/mlp-tiny-f16"
"$python" "$here/reference.py" mlp-tiny-f64 "$out/reference/mlp-tiny-f64" --long --optimizers lion,lamb,rmsprop,adagrad,adafactor,muon,l2,groups,clip-value,clip-tensor
# Signs of gradients that are zero but for rounding would be compared otherwise.
"$python" "$here/reference.py" gpt2-tiny-f64 "$out/reference/gpt2-tiny-f64" --long --optimizers lamb,rmsprop,adagrad,adafactor,muon,l2
"$python" "$here/reference.py" gpt2-tiny-f64 "$out/reference/gpt2-tiny-f64" --merge --optimizers adamw
"$python" "$here/reference.py" mlp-tiny-f64 "$out/reference/mlp-tiny-f64" --merge --optimizers clip,adamw
"$python" "$here/optimizers.py" "$out/reference/optimizers"
# With the packages of requirements-torch.txt, which take some gigabytes: PYTORCH=.torch/bin/python.
if [ -n "${PYTORCH:-}" ]; then
  "$PYTORCH" "$here/torch_networks.py" "$out"
  "$PYTORCH" "$here/torch_derivatives.py" "$out"
  "$PYTORCH" "$here/torch_steps.py" "$out"
fi
if [ -n "${TENSORFLOW:-}" ]; then "$TENSORFLOW" "$here/tensorflow_network.py" "$out"; fi
# Both read batches that were written above.
"$python" "$here/steps.py" "$out"
"$python" "$here/evaluation.py" "$out"
# The other styles differ in their annotations alone (test/python/annotations.py).
for network in gpt2-tiny-f64 llama-tiny-f64; do "$python" "$here/annotated.py" "$out" --only "$network" sequence; done
