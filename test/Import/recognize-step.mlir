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
