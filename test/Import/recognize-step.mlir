// RUN: dist-opt %s --split-input-file --dist-import-recognize-step | FileCheck %s

// Tests that what depends on backward, and what only that reads, is the update; that state is told by what it depends on, and finds its parameter
// by the end of its name; and that the value of backward from which a parameter is updated is its gradient.
// CHECK: net.variable parameter @p.a.w : tensor<4xf32>
// CHECK: net.variable optimizer_state @s.mu.a.w : tensor<4xf32> = <constant, 0.000000e+00, 0.000000e+00> like @p.a.w
// CHECK: net.variable optimizer_state @s.size.a.w : tensor<2xf32> = <constant, 0.000000e+00, 0.000000e+00>{{$}}
// CHECK: net.variable counter @s.count : tensor<i32> = <constant, 0.000000e+00, 0.000000e+00>
// CHECK: net.variable buffer @stats.mean : tensor<4xf32>{{$}}
// CHECK: net.variable buffer @rate : tensor<f32>{{$}}
net.variable parameter @p.a.w : tensor<4xf32>
net.variable buffer @s.mu.a.w : tensor<4xf32>
net.variable buffer @s.size.a.w : tensor<2xf32>
net.variable buffer @s.count : tensor<i32>
net.variable buffer @stats.mean : tensor<4xf32>
net.variable buffer @rate : tensor<f32>
// CHECK-LABEL: func.func public @step
func.func public @step(%x: tensor<4xf32> {net.name = "x"}) -> (tensor<f32> {net.name = "loss"}, tensor<f32> {net.name = "norm"}) {
  // CHECK-DAG: net.read @p.a.w {net.role = #net.role<forward>}
  // CHECK-DAG: net.read @s.mu.a.w {net.role = #net.role<optimize>}
  // CHECK-DAG: net.read @rate {net.role = #net.role<optimize>}
  // CHECK-DAG: net.read @stats.mean {net.role = #net.role<forward>}
  %w = net.read @p.a.w {net.role = #net.role<forward>} : tensor<4xf32>
  %mu = net.read @s.mu.a.w {net.role = #net.role<forward>} : tensor<4xf32>
  %size = net.read @s.size.a.w {net.role = #net.role<forward>} : tensor<2xf32>
  %count = net.read @s.count {net.role = #net.role<forward>} : tensor<i32>
  %mean = net.read @stats.mean {net.role = #net.role<forward>} : tensor<4xf32>
  %rate = net.read @rate {net.role = #net.role<forward>} : tensor<f32>
  %product = net.multiply %w, %x {net.role = #net.role<forward>} : tensor<4xf32>
  %loss = net.reduce sum %product dims = [0] {net.role = #net.role<forward>} : tensor<4xf32> -> tensor<f32>
  // CHECK: net.add %{{.*}}, %{{.*}} {net.role = #net.role<forward>} : tensor<4xf32>
  %newMean = net.add %mean, %x {net.role = #net.role<forward>} : tensor<4xf32>
  // CHECK: %[[G:.*]] = net.multiply %{{.*}}, %{{.*}} {net.name = "grad/p.a.w", net.role = #net.role<backward>}
  %g = net.multiply %x, %x {net.role = #net.role<backward>} : tensor<4xf32>
  // CHECK: net.reduce sum %{{.*}} dims = [0] {net.role = #net.role<optimize>}
  %square = net.multiply %g, %g {net.role = #net.role<forward>} : tensor<4xf32>
  %norm = net.reduce sum %square dims = [0] {net.role = #net.role<forward>} : tensor<4xf32> -> tensor<f32>
  %norms = net.broadcast %norm dims = [] {net.role = #net.role<forward>} : tensor<f32> -> tensor<4xf32>
  %clipped = net.divide %g, %norms {net.role = #net.role<forward>} : tensor<4xf32>
  %newMu = net.add %mu, %clipped {net.role = #net.role<forward>} : tensor<4xf32>
  %rates = net.broadcast %rate dims = [] {net.role = #net.role<forward>} : tensor<f32> -> tensor<4xf32>
  // CHECK: net.multiply %{{.*}} {net.role = #net.role<optimize>}
  %decay = net.multiply %w, %rates {net.role = #net.role<forward>} : tensor<4xf32>
  %change = net.multiply %newMu, %rates {net.role = #net.role<forward>} : tensor<4xf32>
  %less = net.subtract %w, %decay {net.role = #net.role<forward>} : tensor<4xf32>
  %newW = net.subtract %less, %change {net.role = #net.role<forward>} : tensor<4xf32>
  %sizes = net.broadcast %norm dims = [] {net.role = #net.role<forward>} : tensor<f32> -> tensor<2xf32>
  %newSize = net.add %size, %sizes {net.role = #net.role<forward>} : tensor<2xf32>
  %one = net.constant {net.role = #net.role<forward>} dense<1> : tensor<i32>
  %newCount = net.add %count, %one {net.role = #net.role<forward>} : tensor<i32>
  // CHECK: net.assign @p.a.w, %{{.*}} {net.role = #net.role<optimize>}
  net.assign @p.a.w, %newW : tensor<4xf32>
  net.assign @s.mu.a.w, %newMu : tensor<4xf32>
  net.assign @s.size.a.w, %newSize : tensor<2xf32>
  net.assign @s.count, %newCount : tensor<i32>
  net.assign @stats.mean, %newMean : tensor<4xf32>
  return %loss, %norm : tensor<f32>, tensor<f32>
}

// -----

// Tests that without a word about parameters those are the floats that forward reads and gradients update.
// CHECK: net.variable parameter @w : tensor<4xf32>
// CHECK: net.variable optimizer_state @m.w : tensor<4xf32> = <constant, 0.000000e+00, 0.000000e+00> like @w
net.variable buffer @w : tensor<4xf32>
net.variable buffer @m.w : tensor<4xf32>
func.func public @step(%x: tensor<4xf32> {net.name = "x"}) -> (tensor<4xf32> {net.name = "y"}) {
  %w = net.read @w : tensor<4xf32>
  %m = net.read @m.w : tensor<4xf32>
  %y = net.multiply %w, %x : tensor<4xf32>
  // CHECK: net.name = "grad/w"
  %g = net.multiply %x, %x {net.role = #net.role<backward>} : tensor<4xf32>
  %newM = net.add %m, %g : tensor<4xf32>
  %newW = net.subtract %w, %newM : tensor<4xf32>
  net.assign @w, %newW : tensor<4xf32>
  net.assign @m.w, %newM : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Tests that a value of backward that two updates read is the gradient of neither, and that a network without backward stays as it is.
net.variable parameter @a : tensor<4xf32>
net.variable parameter @b : tensor<4xf32>
// CHECK-LABEL: func.func public @shared
// CHECK-NOT: grad/
// CHECK: return
func.func public @shared(%x: tensor<4xf32> {net.name = "x"}) {
  %a = net.read @a : tensor<4xf32>
  %b = net.read @b : tensor<4xf32>
  %g = net.multiply %a, %x {net.role = #net.role<backward>} : tensor<4xf32>
  %h = net.multiply %b, %x {net.role = #net.role<backward>} : tensor<4xf32>
  %sum = net.add %g, %h : tensor<4xf32>
  %newA = net.subtract %a, %sum : tensor<4xf32>
  %newB = net.subtract %b, %sum : tensor<4xf32>
  net.assign @a, %newA : tensor<4xf32>
  net.assign @b, %newB : tensor<4xf32>
  return
}

// -----

net.variable buffer @mean : tensor<4xf32>
// CHECK: net.variable buffer @mean
// CHECK-LABEL: func.func public @forward
// CHECK-NOT: optimize
// CHECK: return
func.func public @forward(%x: tensor<4xf32> {net.name = "x"}) {
  %mean = net.read @mean : tensor<4xf32>
  %new = net.add %mean, %x : tensor<4xf32>
  net.assign @mean, %new : tensor<4xf32>
  return
}

// -----

// Tests that the flow of data tells backward where no scope does: the gradient is what products and reductions make and elementwise operations update with, a clip of
// the gradient and the decay of weights are of the update, and what forward keeps for backward stays forward.
// CHECK: net.variable optimizer_state @s.w : tensor<4x3xf32> = <constant, 0.000000e+00, 0.000000e+00> like @p.w
// CHECK: net.variable optimizer_state @s.last : tensor<f32> = <constant, 0.000000e+00, 0.000000e+00>{{$}}
net.variable parameter @p.w : tensor<4x3xf32>
net.variable buffer @s.w : tensor<4x3xf32>
net.variable buffer @s.last : tensor<f32>
// CHECK-LABEL: func.func public @unscoped
func.func public @unscoped(%x: tensor<8x4xf32> {net.name = "x"}) -> (tensor<f32> {net.name = "loss"}) {
  // CHECK: net.read @p.w {net.role = #net.role<forward>}
  // CHECK: net.read @s.w {net.role = #net.role<optimize>}
  %w = net.read @p.w {net.role = #net.role<forward>} : tensor<4x3xf32>
  %s = net.read @s.w {net.role = #net.role<forward>} : tensor<4x3xf32>
  // CHECK: net.dot {{.*}}net.role = #net.role<forward>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<8x4xf32>, tensor<4x3xf32> -> tensor<8x3xf32>
  // CHECK: net.cosine {{.*}}net.role = #net.role<forward>
  // CHECK: net.sine {{.*}}net.role = #net.role<forward>
  %kept = net.cosine %y {net.role = #net.role<forward>} : tensor<8x3xf32>
  %sine = net.sine %y {net.role = #net.role<forward>} : tensor<8x3xf32>
  %loss = net.reduce sum %sine dims = [0, 1] {net.role = #net.role<forward>} : tensor<8x3xf32> -> tensor<f32>
  // CHECK: net.transpose {{.*}}net.role = #net.role<backward>
  // CHECK: net.dot {{.*}}{net.name = "grad/p.w", net.role = #net.role<backward>}
  %t = net.transpose %x dims = [1, 0] {net.role = #net.role<forward>} : tensor<8x4xf32> -> tensor<4x8xf32>
  %g = net.dot %t, %kept batch = [] x [] contract = [1] x [0] {net.role = #net.role<forward>} : tensor<4x8xf32>, tensor<8x3xf32> -> tensor<4x3xf32>
  // CHECK: net.reduce {{.*}}net.role = #net.role<optimize>
  // CHECK-COUNT-5: net.role = #net.role<optimize>
  %norm = net.reduce sum %g dims = [0, 1] {net.role = #net.role<forward>} : tensor<4x3xf32> -> tensor<f32>
  %norms = net.broadcast %norm dims = [] {net.role = #net.role<forward>} : tensor<f32> -> tensor<4x3xf32>
  %clipped = net.divide %g, %norms {net.role = #net.role<forward>} : tensor<4x3xf32>
  %newS = net.add %s, %clipped {net.role = #net.role<forward>} : tensor<4x3xf32>
  %decay = net.add %newS, %w {net.role = #net.role<forward>} : tensor<4x3xf32>
  %newW = net.subtract %w, %decay {net.role = #net.role<forward>} : tensor<4x3xf32>
  net.assign @p.w, %newW {net.role = #net.role<forward>} : tensor<4x3xf32>
  net.assign @s.w, %newS {net.role = #net.role<forward>} : tensor<4x3xf32>
  net.assign @s.last, %norm {net.role = #net.role<forward>} : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Tests that the gradient of a tied weight is the sum of its two parts, in the type of the weight.
net.variable parameter @p.w : tensor<4x3xf32>
// CHECK-LABEL: func.func public @tied
func.func public @tied(%x: tensor<8x4xbf16> {net.name = "x"}, %y: tensor<8x3xbf16> {net.name = "y"}) {
  // CHECK: net.add {{.*}}{net.name = "grad/p.w", net.role = #net.role<backward>} : tensor<4x3xf32>
  %w = net.read @p.w : tensor<4x3xf32>
  %t = net.transpose %x dims = [1, 0] : tensor<8x4xbf16> -> tensor<4x8xbf16>
  %a = net.dot %t, %y batch = [] x [] contract = [1] x [0] : tensor<4x8xbf16>, tensor<8x3xbf16> -> tensor<4x3xbf16>
  %b = net.dot %x, %y batch = [] x [] contract = [0] x [0] : tensor<8x4xbf16>, tensor<8x3xbf16> -> tensor<4x3xbf16>
  %wideA = net.convert %a : tensor<4x3xbf16> -> tensor<4x3xf32>
  %wideB = net.convert %b : tensor<4x3xbf16> -> tensor<4x3xf32>
  %g = net.add %wideA, %wideB : tensor<4x3xf32>
  %new = net.subtract %w, %g : tensor<4x3xf32>
  net.assign @p.w, %new : tensor<4x3xf32>
  return
}
