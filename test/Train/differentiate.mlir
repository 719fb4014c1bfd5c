// RUN: dist-opt %s -split-input-file --dist-train-differentiate="loss=0" --dist-train-fetch=values=grad/* --dist-train-simplify -verify-diagnostics | FileCheck %s

// Tests that gradients are named after their parameters and carry role and scope of what they belong to.

net.variable parameter @p.w : tensor<8x4xf64>
net.variable parameter @p.b : tensor<4xf64>

// CHECK-LABEL: func.func @linear_layer
// CHECK-SAME: %[[X:.*]]: tensor<3x8xf64>
// CHECK-SAME: net.name = "grad/p.b"
// CHECK-SAME: net.name = "grad/p.w"
func.func @linear_layer(%x: tensor<3x8xf64>) -> tensor<f64> {
  %w = net.read @p.w : tensor<8x4xf64>
  %b = net.read @p.b : tensor<4xf64>
  %d = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.scope = "fc"} : tensor<3x8xf64>, tensor<8x4xf64> -> tensor<3x4xf64>
  %bb = net.broadcast %b dims = [1] {net.scope = "fc"} : tensor<4xf64> -> tensor<3x4xf64>
  %z = net.add %d, %bb : tensor<3x4xf64>
  // CHECK: %[[Y:.*]] = net.tanh
  %y = net.tanh %z : tensor<3x4xf64>
  %loss = net.reduce sum %y dims = [0, 1] : tensor<3x4xf64> -> tensor<f64>
  // The result of tanh is used again; there is nothing for the input.
  // CHECK: %[[ONE:.*]] = net.constant
  // CHECK-NEXT: %[[MORE:.*]] = net.add %[[Y]], %[[ONE]]
  // CHECK-NEXT: %[[LESS:.*]] = net.subtract %[[ONE]], %[[Y]]
  // CHECK-NEXT: %[[G:.*]] = net.multiply %[[MORE]], %[[LESS]] {net.role = #net.role<backward>}
  // CHECK-NEXT: net.reduce sum %[[G]] dims = [0] {net.name = "grad/p.b", net.role = #net.role<backward>, net.scope = "fc"}
  // CHECK-NEXT: net.dot %[[X]], %[[G]] batch = [] x [] contract = [0] x [0] {net.name = "grad/p.w"
  // CHECK-NEXT: return
  return %loss : tensor<f64>
}

// -----

// Tests that the maximum of a softmax carries no gradient.

net.variable parameter @w : tensor<3x4xf64>

// CHECK-LABEL: func.func @softmax
func.func @softmax(%v: tensor<3x4xf64>) -> tensor<f64> {
  %z = net.read @w : tensor<3x4xf64>
  %m = net.reduce max %z dims = [1] : tensor<3x4xf64> -> tensor<3xf64>
  %mb = net.broadcast %m dims = [0] : tensor<3xf64> -> tensor<3x4xf64>
  %s = net.subtract %z, %mb : tensor<3x4xf64>
  // CHECK: %[[E:.*]] = net.exponential
  %e = net.exponential %s : tensor<3x4xf64>
  %t = net.reduce sum %e dims = [1] : tensor<3x4xf64> -> tensor<3xf64>
  %tb = net.broadcast %t dims = [0] : tensor<3xf64> -> tensor<3x4xf64>
  // CHECK: %[[P:.*]] = net.divide
  %p = net.divide %e, %tb : tensor<3x4xf64>
  %c = net.multiply %p, %v : tensor<3x4xf64>
  %loss = net.reduce sum %c dims = [0, 1] : tensor<3x4xf64> -> tensor<f64>
  // CHECK: %[[T:.*]] = net.divide {{.*}}backward
  // CHECK-NEXT: %[[TP:.*]] = net.multiply %[[T]], %[[P]]
  // CHECK-NOT: net.compare
  // CHECK: net.multiply {{.*}}, %[[E]] {net.name = "grad/w"
  return %loss : tensor<f64>
}

// -----

// Tests that it carries none where a product takes the exponentials and its result is divided by their sum; but where the
// product sums the rows that have a maximum each, it does.

net.variable parameter @w : tensor<3x4xf64>

// CHECK-LABEL: func.func @attention
func.func @attention(%v: tensor<4x2xf64>) -> tensor<f64> {
  %z = net.read @w : tensor<3x4xf64>
  %m = net.reduce max %z dims = [1] : tensor<3x4xf64> -> tensor<3xf64>
  %mb = net.broadcast %m dims = [0] : tensor<3xf64> -> tensor<3x4xf64>
  %s = net.subtract %z, %mb : tensor<3x4xf64>
  %e = net.exponential %s : tensor<3x4xf64>
  %t = net.reduce sum %e dims = [1] : tensor<3x4xf64> -> tensor<3xf64>
  %u = net.dot %e, %v batch = [] x [] contract = [1] x [0] : tensor<3x4xf64>, tensor<4x2xf64> -> tensor<3x2xf64>
  %tb = net.broadcast %t dims = [0] : tensor<3xf64> -> tensor<3x2xf64>
  %o = net.divide %u, %tb : tensor<3x2xf64>
  // CHECK-NOT: net.compare
  // CHECK: return
  %loss = net.reduce sum %o dims = [0, 1] : tensor<3x2xf64> -> tensor<f64>
  return %loss : tensor<f64>
}

// -----

net.variable parameter @w : tensor<3x4xf64>

// CHECK-LABEL: func.func @sum_over_rows
func.func @sum_over_rows(%v: tensor<3x2xf64>) -> tensor<f64> {
  %z = net.read @w : tensor<3x4xf64>
  %m = net.reduce max %z dims = [1] : tensor<3x4xf64> -> tensor<3xf64>
  %mb = net.broadcast %m dims = [0] : tensor<3xf64> -> tensor<3x4xf64>
  %s = net.subtract %z, %mb : tensor<3x4xf64>
  %e = net.exponential %s : tensor<3x4xf64>
  // CHECK: net.compare
  %u = net.dot %v, %e batch = [] x [] contract = [0] x [0] : tensor<3x2xf64>, tensor<3x4xf64> -> tensor<2x4xf64>
  %loss = net.reduce sum %u dims = [0, 1] : tensor<2x4xf64> -> tensor<f64>
  return %loss : tensor<f64>
}

// -----

// Tests that a maximum on which the loss does depend is differentiated.

net.variable parameter @w : tensor<3x4xf64>

// CHECK-LABEL: func.func @not_a_softmax
func.func @not_a_softmax() -> tensor<f64> {
  %z = net.read @w : tensor<3x4xf64>
  %m = net.reduce max %z dims = [1] : tensor<3x4xf64> -> tensor<3xf64>
  %mb = net.broadcast %m dims = [0] : tensor<3xf64> -> tensor<3x4xf64>
  %s = net.subtract %z, %mb : tensor<3x4xf64>
  %e = net.exponential %s : tensor<3x4xf64>
  %loss = net.reduce sum %e dims = [0, 1] : tensor<3x4xf64> -> tensor<f64>
  // CHECK: net.compare eq
  // CHECK: net.name = "grad/w"
  return %loss : tensor<f64>
}

// -----

// Tests that the cotangents of slices which tile a dimension are concatenated.

net.variable parameter @w : tensor<2x6xf64>

// CHECK-LABEL: func.func @fused
func.func @fused() -> tensor<f64> {
  %w = net.read @w : tensor<2x6xf64>
  %q = net.slice %w starts = [0, 0] limits = [2, 3] steps = [1, 1] : tensor<2x6xf64> -> tensor<2x3xf64>
  %k = net.slice %w starts = [0, 3] limits = [2, 6] steps = [1, 1] : tensor<2x6xf64> -> tensor<2x3xf64>
  // CHECK: %[[Q:.*]] = net.sine
  // CHECK: %[[K:.*]] = net.exponential
  %sq = net.sine %q : tensor<2x3xf64>
  %ek = net.exponential %k : tensor<2x3xf64>
  %y = net.add %sq, %ek : tensor<2x3xf64>
  %loss = net.reduce sum %y dims = [0, 1] : tensor<2x3xf64> -> tensor<f64>
  // CHECK: %[[C:.*]] = net.cosine
  // CHECK-NOT: net.pad
  // CHECK: net.concatenate %[[C]], %[[K]] dim = 1 {net.name = "grad/w"
  return %loss : tensor<f64>
}

// -----

// Tests that one operation bears the names of two gradients only with an operation of its own for the second.

net.variable parameter @a : tensor<4xf64>
net.variable parameter @b : tensor<4xf64>

// CHECK-LABEL: func.func @shared_gradient
func.func @shared_gradient(%x: tensor<4xf64>) -> tensor<f64> {
  %a = net.read @a : tensor<4xf64>
  %b = net.read @b : tensor<4xf64>
  %s = net.add %a, %b : tensor<4xf64>
  %y = net.multiply %s, %x : tensor<4xf64>
  %loss = net.reduce sum %y dims = [0] : tensor<4xf64> -> tensor<f64>
  // CHECK: net.name = "grad/a"
  // CHECK: net.reshape {{.*}} {net.name = "grad/b"
  return %loss : tensor<f64>
}

// -----

// Tests that a parameter without influence keeps its value, with a warning.

net.variable parameter @used : tensor<f64>
net.variable parameter @unused : tensor<f64>
// expected-warning @below {{the step does not read parameter unread, which keeps its value}}
net.variable parameter @unread : tensor<f64>

// CHECK-LABEL: func.func @step
func.func @step() -> (tensor<f64> {net.name = "loss"}, tensor<f64> {net.name = "other"}) {
  %0 = net.read @used : tensor<f64>
  // expected-warning @below {{the loss does not depend on parameter unused, which keeps its value}}
  %1 = net.read @unused : tensor<f64>
  %2 = net.exponential %0 : tensor<f64>
  // CHECK: net.name = "grad/used"
  return %2, %1 : tensor<f64>, tensor<f64>
}

// -----

// Tests that what a gather gives back is scattered into the other cotangents of a value.

net.variable parameter @table : tensor<5x3xf64>

// CHECK-LABEL: func.func @tied_embedding
func.func @tied_embedding(%ids: tensor<4x1xi32>, %x: tensor<2x3xf64>) -> tensor<f64> {
  %w = net.read @table : tensor<5x3xf64>
  %e = net.gather %w, %ids <offsetDims = [1], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 1> sizes = [1, 3] : tensor<5x3xf64>, tensor<4x1xi32> -> tensor<4x3xf64>
  %l = net.dot %x, %w batch = [] x [] contract = [1] x [1] : tensor<2x3xf64>, tensor<5x3xf64> -> tensor<2x5xf64>
  %s = net.sine %e : tensor<4x3xf64>
  %t = net.sine %l : tensor<2x5xf64>
  %a = net.reduce sum %s dims = [0, 1] : tensor<4x3xf64> -> tensor<f64>
  %b = net.reduce sum %t dims = [0, 1] : tensor<2x5xf64> -> tensor<f64>
  %loss = net.add %a, %b : tensor<f64>
  // CHECK: %[[DOT:.*]] = net.dot {{.*}}backward
  // CHECK: net.scatter add %[[DOT]], {{.*}}net.name = "grad/table"
  // CHECK-NEXT: return
  return %loss : tensor<f64>
}

// -----

// Tests that rows in 16 bit which may meet in a table are added in f32, beside the table's other cotangent.

net.variable parameter @table : tensor<5x3xbf16>

// CHECK-LABEL: func.func @tied_embedding_in_16_bit
func.func @tied_embedding_in_16_bit(%ids: tensor<4x1xi32>, %x: tensor<2x3xbf16>) -> tensor<bf16> {
  %w = net.read @table : tensor<5x3xbf16>
  %e = net.gather %w, %ids <offsetDims = [1], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 1> sizes = [1, 3] : tensor<5x3xbf16>, tensor<4x1xi32> -> tensor<4x3xbf16>
  %l = net.dot %x, %w batch = [] x [] contract = [1] x [1] : tensor<2x3xbf16>, tensor<5x3xbf16> -> tensor<2x5xbf16>
  %s = net.sine %e : tensor<4x3xbf16>
  %t = net.sine %l : tensor<2x5xbf16>
  %a = net.reduce sum %s dims = [0, 1] : tensor<4x3xbf16> -> tensor<bf16>
  %b = net.reduce sum %t dims = [0, 1] : tensor<2x5xbf16> -> tensor<bf16>
  %loss = net.add %a, %b : tensor<bf16>
  // CHECK: %[[DOT:.*]] = net.dot {{.*}}backward
  // CHECK: %[[WIDE:.*]] = net.convert %[[DOT]] {dist.defer_reduction{{.*}} -> tensor<5x3xf32>
  // CHECK-NEXT: %[[SUM:.*]] = net.scatter add %[[WIDE]], {{.*}} tensor<4x3xf32> -> tensor<5x3xf32>
  // CHECK-NEXT: net.convert %[[SUM]] {dist.defer_reduction, net.name = "grad/table"{{.*}} -> tensor<5x3xbf16>
  // CHECK-NEXT: return
  return %loss : tensor<bf16>
}

// -----

// Tests that boxes which cannot meet, one of every batch, are added in the type they have.

net.variable parameter @logits : tensor<4x5xbf16>

// CHECK-LABEL: func.func @picked
func.func @picked(%ids: tensor<4x1xi32>) -> tensor<bf16> {
  %w = net.read @logits : tensor<4x5xbf16>
  %p = net.gather %w, %ids <collapsedDims = [1], operandBatchingDims = [0], indicesBatchingDims = [0], startIndexMap = [1], indexVectorDim = 1> sizes = [1, 1] : tensor<4x5xbf16>, tensor<4x1xi32> -> tensor<4xbf16>
  %loss = net.reduce sum %p dims = [0] : tensor<4xbf16> -> tensor<bf16>
  // CHECK: net.scatter add {{.*}}"grad/logits"{{.*}} -> tensor<4x5xbf16>
  // CHECK-NEXT: return
  return %loss : tensor<bf16>
}

// -----

// Tests that one maximum may serve a softmax and a logsumexp, which replaces it where it is not finite.

net.variable parameter @w : tensor<3x4xf64>

// CHECK-LABEL: func.func @shared_maximum
func.func @shared_maximum(%v: tensor<3x4xf64>) -> tensor<f64> {
  %z = net.read @w : tensor<3x4xf64>
  %m = net.reduce max %z dims = [1] : tensor<3x4xf64> -> tensor<3xf64>
  %zero = net.constant dense<0.0> : tensor<3xf64>
  %f = net.is_finite %m : tensor<3xf64> -> tensor<3xi1>
  %k = net.select %f, %m, %zero : tensor<3xi1>, tensor<3xf64>
  %kb = net.broadcast %k dims = [0] : tensor<3xf64> -> tensor<3x4xf64>
  %ks = net.subtract %z, %kb : tensor<3x4xf64>
  %ke = net.exponential %ks : tensor<3x4xf64>
  %kt = net.reduce sum %ke dims = [1] : tensor<3x4xf64> -> tensor<3xf64>
  %kl = net.log %kt : tensor<3xf64>
  %lse = net.add %kl, %k : tensor<3xf64>
  %mb = net.broadcast %m dims = [0] : tensor<3xf64> -> tensor<3x4xf64>
  %s = net.subtract %z, %mb : tensor<3x4xf64>
  %e = net.exponential %s : tensor<3x4xf64>
  %t = net.reduce sum %e dims = [1] : tensor<3x4xf64> -> tensor<3xf64>
  %tb = net.broadcast %t dims = [0] : tensor<3xf64> -> tensor<3x4xf64>
  %p = net.divide %e, %tb : tensor<3x4xf64>
  %c = net.multiply %p, %v : tensor<3x4xf64>
  %a = net.reduce sum %c dims = [0, 1] : tensor<3x4xf64> -> tensor<f64>
  %b = net.reduce sum %lse dims = [0] : tensor<3xf64> -> tensor<f64>
  %loss = net.add %a, %b : tensor<f64>
  // CHECK-NOT: net.compare
  // CHECK: net.name = "grad/w"
  return %loss : tensor<f64>
}
