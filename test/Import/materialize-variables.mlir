// RUN: dist-opt %s --dist-import-materialize-variables="parameters=p.* init=*.kernel:normal:0:0.02,*.scale:constant:1:0,*:uniform:-0.1:0.1" | FileCheck %s
// RUN: dist-opt %s --dist-import-materialize-variables="parameters=p.?.kernel" | FileCheck %s --check-prefix=ONE

// Tests that parameters become variables and are read at the entry, with the first initializer that matches.

// CHECK-DAG: net.variable parameter @p.ln.scale : tensor<8xf32> = <constant, 1.000000e+00, 0.000000e+00>
// CHECK-DAG: net.variable parameter @p.mlp.kernel : tensor<4x8xf32> = <normal, 0.000000e+00, 2.000000e-02>
// CHECK-DAG: net.variable parameter @"p.a\\.b" : tensor<8xf32> = <uniform, -1.000000e-01, 1.000000e-01>
// CHECK: func.func public @step(%[[X:.*]]: tensor<4xf32> {net.name = "x"}) -> (tensor<8xf32> {net.name = "out"})
// CHECK-NEXT: %[[KERNEL:.*]] = net.read @p.mlp.kernel
// CHECK-NEXT: %[[SCALE:.*]] = net.read @p.ln.scale
// CHECK-NEXT: net.read @"p.a\\.b"
// CHECK-NEXT: net.dot %[[X]], %[[KERNEL]]
// CHECK-NEXT: net.multiply %{{.*}}, %[[SCALE]]

// Without a rule the value comes from a file. What is no variable stays an input.
// ONE: net.variable parameter @p.mlp.kernel : tensor<4x8xf32>{{$}}
// ONE-NOT: net.variable
// ONE: func.func public @step(%{{.*}}: tensor<8xf32> {net.name = "p.ln.scale"}, %{{.*}}: tensor<4xf32> {net.name = "x"}
// CHECK-NOT: mhlo
module attributes {mhlo.is_dynamic = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32> {net.name = "p.mlp.kernel", mhlo.memory_kind = "device"}, %arg1: tensor<8xf32> {net.name = "p.ln.scale"},
                         %arg2: tensor<4xf32> {net.name = "x", mhlo.memory_kind = "device"}, %arg3: tensor<8xf32> {net.name = "p.a\\.b"})
      -> (tensor<8xf32> {net.name = "out", mhlo.layout_mode = "default"}) {
    %0 = net.dot %arg2, %arg0 batch = [] x [] contract = [0] x [0] : tensor<4xf32>, tensor<4x8xf32> -> tensor<8xf32>
    %1 = net.multiply %0, %arg1 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// RUN: dist-opt %S/Inputs/variable-called-step.mlir --dist-import-materialize-variables="parameters=*" | FileCheck %s --check-prefix=TAKEN

// Tests that the function makes way for a variable.
// TAKEN: net.variable parameter @step : tensor<i64>
// TAKEN: func.func public @main
// TAKEN-NEXT: net.read @step
