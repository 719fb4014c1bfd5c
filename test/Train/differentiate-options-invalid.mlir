// RUN: not dist-opt %s --dist-train-differentiate="loss=los" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not dist-opt %s --dist-train-differentiate="loss=2" 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not dist-opt %s --dist-train-differentiate="loss=logits" 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not dist-opt %s --dist-train-differentiate="frozen=x.*" 2>&1 | FileCheck %s --check-prefix=FROZEN
// RUN: not dist-opt %s --dist-train-fetch="values=grad/*" 2>&1 | FileCheck %s --check-prefix=FETCH
// RUN: not dist-opt %s --dist-train-optimizer="train={adamw {decay: '*.kernel'}}" 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not dist-opt %s --dist-train-differentiate --dist-train-optimizer="train={sgd {lr {warmup_cosine {peak: 1 warmup: 5 total: 5}}}}" 2>&1 | FileCheck %s --check-prefix=SCHEDULE

net.variable parameter @w : tensor<2xf64>

// NAME: :[[@LINE+3]]:1: error: has no result "los" to be the loss; it has 2 results
// INDEX: :[[@LINE+2]]:1: error: has no result "2" to be the loss; it has 2 results
// SHAPE: :[[@LINE+1]]:1: error: result "logits" is of 'tensor<2xf64>' but a loss is a scalar of floats
func.func @step() -> (tensor<f64> {net.name = "loss"}, tensor<2xf64> {net.name = "logits"}) {
  %w = net.read @w : tensor<2xf64>
  %loss = net.reduce sum %w dims = [0] : tensor<2xf64> -> tensor<f64>
  return %loss, %w : tensor<f64>, tensor<2xf64>
}
// FROZEN: error: frozen glob "x.*" matches none of the parameters
// FETCH: error: fetch glob "grad/*" matches none of the named values
// DECAY: error: decay glob "*.kernel" matches none of the parameters
// SCHEDULE: error: a schedule of 5 updates with a warm-up of 5; the warm-up is part of it and is shorter
