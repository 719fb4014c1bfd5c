// RUN: dist-opt %s --dist-import-annotate-names -verify-diagnostics -split-input-file

// expected-error @below {{arguments 0 and 1 are both called "p.w"}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "p.w"}, %arg1: tensor<4xf32> {net.name = "p.w"}) {
  return
}

// -----

// Without a name an argument is called by its number, which another may have taken.

// expected-error @below {{arguments 0 and 1 are both called "arg1"}}
func.func public @main(%arg0: tensor<4xf32> {net.name = "arg1"}, %arg1: tensor<4xf32>) {
  return
}

// -----

// expected-error @below {{results 0 and 1 are both called "0.w"}}
func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "result[0]['w']"}, tensor<4xf32> {jax.result_info = "result[0].w"}) {
  return %arg0, %arg0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-note @below {{the other is here}}
func.func public @main() {
  return
}
// expected-error @below {{function @other is public, and so is @main; a graph has one public function}}
func.func public @other() {
  return
}

// -----

// expected-error @below {{the module has no public function; a graph has one, mostly @main}}
module {
  func.func private @f() {
    return
  }
}

// -----

// expected-error @below {{function @main has 2 blocks, not one}}
func.func public @main() {
  return
^other:
  return
}
