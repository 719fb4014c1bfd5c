// RUN: not dist-opt %s --dist-import-materialize-variables="parameters=p.* init=p.*:gauss:0:1" 2>&1 | FileCheck %s --check-prefix=BADKIND
// RUN: not dist-opt %s --dist-import-materialize-variables="parameters=p.* init=p.*:normal:0" 2>&1 | FileCheck %s --check-prefix=BADCOUNT
// RUN: not dist-opt %s --dist-import-materialize-variables="parameters=p.* init=p.v:normal:0:1" 2>&1 | FileCheck %s --check-prefix=NOMATCH

// BADKIND: error: initializer "p.*:gauss:0:1" is not GLOB:KIND:A:B, with constant, normal, truncated_normal or uniform as its kind and two numbers
// BADCOUNT: error: initializer "p.*:normal:0" is not GLOB:KIND:A:B
// NOMATCH: error: glob "p.v" matches none of the graph's 1 variables; the first is p.w
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w"}) {
  return
}
