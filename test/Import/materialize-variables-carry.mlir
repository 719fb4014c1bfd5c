// RUN: dist-opt %s --split-input-file --dist-import-materialize-variables="parameters=p.*" | FileCheck %s
// RUN: dist-opt %S/Inputs/whole-step.mlir --dist-import-materialize-variables="parameters=state.params.* carry=state.*=0.*,key=1 init=state.*:constant:2:0,*.mu.*:constant:3:0" | FileCheck %s --check-prefix=CARRY

// Tests that donated arguments are paired with results by their paths, whatever the exporter let them share memory with.
// CHECK: net.variable parameter @p.w : tensor<4xf32>
// CHECK: net.variable buffer @opt_state.0.mu.w : tensor<4xf32>
// CHECK: func.func public @step(%{{.*}}: tensor<4xf32> {net.name = "x"}) -> (tensor<f32> {net.name = "2"})
// CHECK-DAG: %[[W:.*]] = net.read @p.w
// CHECK-DAG: %[[MU:.*]] = net.read @opt_state.0.mu.w
// CHECK: %[[NEW_MU:.*]] = net.add %[[MU]], %{{.*}}
// CHECK: %[[NEW_W:.*]] = net.subtract %[[W]], %[[NEW_MU]]
// CHECK-DAG: net.assign @opt_state.0.mu.w, %[[NEW_MU]]
// CHECK-DAG: net.assign @p.w, %[[NEW_W]]
// CHECK: return %{{.*}} : tensor<f32>
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w", tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32> {net.name = "opt_state.0.mu.w", tf.aliasing_output = 1 : i32}, %arg2: tensor<4xf32> {net.name = "x"})
    -> (tensor<4xf32> {net.name = "0.0.mu.w"}, tensor<4xf32> {net.name = "1.w"}, tensor<f32> {net.name = "2"}) {
  %0 = net.add %arg1, %arg2 : tensor<4xf32>
  %1 = net.subtract %arg0, %0 : tensor<4xf32>
  %2 = net.reduce sum %1 dims = [0] : tensor<4xf32> -> tensor<f32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// Tests that a result which is called like the argument is its next value, and that what is given back as it came is only read.
// CHECK: net.variable parameter @p.w : tensor<4xf32>
// CHECK: net.variable buffer @count : tensor<i32>
// CHECK: func.func public @step() -> (tensor<i32> {net.name = "steps"})
// CHECK-NOT: net.assign @p.w
// CHECK: net.assign @count
// CHECK-NOT: net.assign @p.w
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w", tf.aliasing_output = 0 : i32}, %arg1: tensor<i32> {net.name = "count", jax.buffer_donor = true})
    -> (tensor<4xf32> {net.name = "w"}, tensor<i32> {net.name = "count"}, tensor<i32> {net.name = "steps"}) {
  %one = net.constant dense<1> : tensor<i32>
  %0 = net.add %arg1, %one : tensor<i32>
  return %arg0, %0, %0 : tensor<4xf32>, tensor<i32>, tensor<i32>
}

// -----

// Tests that the memory that an argument is donated to decides between two trees of results, and that a result below the tree of the optimizer's state
// whose argument the exporter left out is a variable that is written and not read.
// CHECK: net.variable parameter @p.w : tensor<4xf32>
// CHECK: net.variable buffer @ema.w : tensor<4xf32>
// CHECK: net.variable buffer @s.count : tensor<i32>
// CHECK: net.variable buffer @s.last : tensor<i1>
// CHECK: func.func public @step(%[[X:.*]]: tensor<4xf32> {net.name = "x"}) -> (tensor<f32> {net.name = "3"})
// CHECK: %[[P:.*]] = net.subtract
// CHECK: %[[EMA:.*]] = net.add
// CHECK-DAG: net.assign @p.w, %[[P]]
// CHECK-DAG: net.assign @ema.w, %[[EMA]]
// CHECK-DAG: net.assign @s.last, %{{.*}} : tensor<i1>
func.func public @main(%p: tensor<4xf32> {net.name = "p.w", tf.aliasing_output = 0 : i32}, %ema: tensor<4xf32> {net.name = "ema.w", tf.aliasing_output = 1 : i32},
    %count: tensor<i32> {net.name = "s.count", tf.aliasing_output = 2 : i32}, %x: tensor<4xf32> {net.name = "x"})
    -> (tensor<4xf32> {net.name = "0.w"}, tensor<4xf32> {net.name = "1.w"}, tensor<i32> {net.name = "2.count"}, tensor<i1> {net.name = "2.last"}, tensor<f32> {net.name = "3"}) {
  %0 = net.subtract %p, %x : tensor<4xf32>
  %1 = net.add %ema, %0 : tensor<4xf32>
  %2 = net.add %count, %count : tensor<i32>
  %3 = net.reduce sum %x dims = [0] : tensor<4xf32> -> tensor<f32>
  %4 = net.is_finite %3 : tensor<f32> -> tensor<i1>
  return %0, %1, %2, %4, %3 : tensor<4xf32>, tensor<4xf32>, tensor<i32>, tensor<i1>, tensor<f32>
}

// Tests that rules pair what was not donated, and that an initializer of parameters is not for other state.
// CARRY: net.variable parameter @state.params.w : tensor<4xf32> = <constant, 2.000000e+00, 0.000000e+00>
// CARRY: net.variable buffer @state.opt.mu.w : tensor<4xf32> = <constant, 3.000000e+00, 0.000000e+00>
// CARRY: net.variable buffer @key : tensor<2xui32>
// CARRY: func.func public @step(%{{.*}}: tensor<4xf32> {net.name = "x"}) -> (tensor<f32> {net.name = "2.loss"})
// CARRY-DAG: net.assign @state.params.w
// CARRY-DAG: net.assign @state.opt.mu.w
// CARRY-DAG: net.assign @key
