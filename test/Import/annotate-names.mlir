// RUN: dist-opt %s --dist-import-annotate-names -split-input-file | FileCheck %s

// Tests that paths in locations become dotted names.

// CHECK: func.func public @main(
// CHECK-SAME: %arg0: tensor<4xf32> {net.name = "p.transformer.h.0.attn.c_attn.bias"}
// CHECK-SAME: %arg1: tensor<4xf32> {net.name = "opt_state.1.0.mu.wte"}
// CHECK-SAME: %arg2: tensor<4xf32> {net.name = "p.a\\.b.it's"}
// CHECK-SAME: %arg3: tensor<4xf32> {net.name = "arg3", tf.aliasing_output = 0 : i32}
// CHECK-SAME: %arg4: tensor<4xf32> {net.name = "x"}
// CHECK-SAME: -> (tensor<4xf32> {net.name = "0.wte"}, tensor<4xf32> {net.name = "out1"}, tensor<4xf32> {net.name = "result"}
#named = loc("p['transformer']['h']['0']['attn']['c_attn']['bias']")
module {
  func.func public @main(%arg0: tensor<4xf32> loc(#named), %arg1: tensor<4xf32> loc("opt_state[1][0].mu['wte']"),
                         %arg2: tensor<4xf32> loc("p['a.b'][\22it's\22]"), %arg3: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %arg4: tensor<4xf32> loc("x"))
      -> (tensor<4xf32> {jax.result_info = "result[0]['wte']"}, tensor<4xf32>, tensor<4xf32> {jax.result_info = "result"}) {
    return %arg0, %arg1, %arg2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Tests that the name of an operation's location, without its last component, is its scope.

// CHECK-LABEL: func.func public @scopes
func.func public @scopes(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.abs{{.*}}{net.role = #net.role<forward>, net.scope = "transformer.h.3.attn"}
  %0 = stablehlo.abs %arg0 : tensor<4xf32> loc("jit(f)/transformer/h/3/attn/abs")
  // CHECK-NEXT: stablehlo.ceil{{.*}}{net.role = #net.role<forward>}
  %1 = stablehlo.ceil %0 : tensor<4xf32> loc("ceil")
  // CHECK-NEXT: stablehlo.cosine{{.*}}{net.role = #net.role<forward>, net.scope = "Model.h"}
  %2 = stablehlo.cosine %1 : tensor<4xf32> loc("jit(f)/jvp(Model)/h/cos")
  // CHECK-NEXT: stablehlo.floor{{.*}}{net.role = #net.role<backward>, net.scope = "Model.h"}
  %3 = stablehlo.floor %2 : tensor<4xf32> loc("jit(f)/transpose(jvp(Model))/h/floor")
  // CHECK-NEXT: stablehlo.log{{.*}}{net.role = #net.role<backward>}
  %4 = stablehlo.log %3 : tensor<4xf32> loc("jit(f)/transpose(jvp())/log")
  // CHECK-NEXT: stablehlo.negate{{.*}}{net.role = #net.role<forward>, net.scope = "attn\\.setup.\\.\\.\\.qk->k"}
  %5 = stablehlo.negate %4 : tensor<4xf32> loc("jit(f)/attn.setup/...qk->k/neg")
  // A call site first, then frames of the exporter's stack without a scope.
  // CHECK-NEXT: stablehlo.sign{{.*}}{net.role = #net.role<forward>, net.scope = "outer.inner"}
  %6 = stablehlo.sign %5 : tensor<4xf32> loc(callsite("inner/sign" at "jit(f)/outer/jit(g)"))
  // CHECK-NEXT: stablehlo.sine{{.*}}{net.role = #net.role<forward>, net.scope = "mlp"}
  %7 = stablehlo.sine %6 : tensor<4xf32> loc("jit(f)/mlp/sin"(callsite("loss"("models.py":8:16 to :35) at "<module>"("export.py":45:4))))
  // CHECK-NEXT: stablehlo.sqrt{{.*}}{net.role = #net.role<forward>, net.scope = "head"}
  %8 = stablehlo.sqrt %7 : tensor<4xf32> loc(fused["model.mlir":3:5, "jit(f)/head/sqrt"])
  // CHECK-NEXT: stablehlo.tan{{.*}}{net.role = #net.role<forward>, net.scope = "a.b"}
  %9 = stablehlo.tan %8 : tensor<4xf32> loc(fused["model.mlir":3:5, callsite("b/tan" at "a/call")])
  return %9 : tensor<4xf32>
}

// -----

// Tests that a component that only precedes the parameters' keys is removed from all scopes.

// CHECK-LABEL: func.func public @model
func.func public @model(%arg0: tensor<4xf32> loc("p['h']['0']['w']"), %arg1: tensor<4xf32> loc("p['head']")) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.abs{{.*}}net.scope = "h.0"}
  %0 = stablehlo.abs %arg0 : tensor<4xf32> loc("jit(f)/Model/h/0/abs")
  // CHECK-NEXT: stablehlo.ceil{{.*}}net.scope = "tied"}
  %1 = stablehlo.ceil %0 : tensor<4xf32> loc("jit(f)/Model/tied/ceil")
  // CHECK-NEXT: stablehlo.cosine{{.*}}{net.role = #net.role<forward>}
  %2 = stablehlo.cosine %1 : tensor<4xf32> loc("jit(f)/Model/cos")
  // CHECK-NEXT: stablehlo.floor{{.*}}net.scope = "loss"}
  %3 = stablehlo.floor %2 : tensor<4xf32> loc("jit(f)/loss/floor")
  return %3 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func public @two_models
func.func public @two_models(%arg0: tensor<4xf32> loc("p['h']['0']['w']")) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.abs{{.*}}net.scope = "student.h.0"}
  %0 = stablehlo.abs %arg0 : tensor<4xf32> loc("jit(f)/student/h/0/abs")
  // CHECK-NEXT: stablehlo.ceil{{.*}}net.scope = "teacher.h.0"}
  %1 = stablehlo.ceil %0 : tensor<4xf32> loc("jit(f)/teacher/h/0/ceil")
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func public @aligned
func.func public @aligned(%arg0: tensor<4xf32> loc("p['h']['h']['w']")) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.abs{{.*}}net.scope = "h.h"}
  %0 = stablehlo.abs %arg0 : tensor<4xf32> loc("jit(f)/h/h/abs")
  return %0 : tensor<4xf32>
}

// -----

// Tests that scopes that say the whole way, as JAX printed them before version 0.7, say no more in the end: those of a
// function are of its first call, and each call puts its own in front.

// CHECK-LABEL: func.func public @whole
func.func public @whole(%arg0: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "[0]['a']"}) {
  // CHECK: call @block{{.*}}net.scope = "h.0"}
  %0 = call @block(%arg0) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/jit(main)/h/0/pjit[name=block out_layouts=(None,) path=a/b]")
  // CHECK: call @block{{.*}}net.scope = "h.1"}
  %1 = call @block(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/jit(main)/h/1/pjit[name=block]")
  return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func private @block
func.func private @block(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.abs{{.*}}{net.role = #net.role<forward>} :
  %0 = stablehlo.abs %arg0 : tensor<4xf32> loc("jit(f)/jit(main)/h/0/abs")
  // CHECK-NEXT: call @act{{.*}}net.scope = "mlp"}
  %1 = call @act(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/jit(main)/h/0/mlp/pjit[name=act]")
  return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func private @act
func.func private @act(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.tanh{{.*}}net.scope = "inner"}
  %0 = stablehlo.tanh %arg0 : tensor<4xf32> loc("jit(f)/jit(main)/h/0/mlp/inner/tanh")
  return %0 : tensor<4xf32>
}

// -----

// Tests that bytes that are no text are no names.

// CHECK-LABEL: func.func public @bytes
// CHECK-SAME: %arg0: tensor<4xf32> {net.name = "arg0"}
// CHECK-SAME: -> (tensor<4xf32> {net.name = "out0"})
func.func public @bytes(%arg0: tensor<4xf32> loc("p['\FF']")) -> (tensor<4xf32> {jax.result_info = "result['\C3']"}) {
  // CHECK-NEXT: stablehlo.abs{{.*}}{net.role = #net.role<forward>} :
  %0 = stablehlo.abs %arg0 : tensor<4xf32> loc("jit(f)/\FF/abs")
  return %0 : tensor<4xf32>
}

// -----

// Tests that what XLA calls every argument of TensorFlow is no name.

// CHECK-LABEL: func.func public @alike
// CHECK-SAME: %arg0: tensor<4xf32> {net.name = "arg0"}
// CHECK-SAME: %arg1: tensor<4xf32> {net.name = "arg1"}
func.func public @alike(%arg0: tensor<4xf32> loc("XLA_Args"), %arg1: tensor<4xf32> loc("XLA_Args")) -> tensor<4xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Tests that scopes that begin as the names of arguments do, as PyTorch's, keep their beginning.

// CHECK-LABEL: func.func public @of_modules
// CHECK-SAME: %arg0: tensor<4xf32> {net.name = "transformer.h.0.mlp.weight"}
func.func public @of_modules(%arg0: tensor<4xf32> loc("transformer.h.0.mlp.weight")) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.abs{{.*}}net.scope = "transformer.h.0.mlp"}
  %0 = stablehlo.abs %arg0 : tensor<4xf32> loc("transformer/h/0/mlp/abs")
  return %0 : tensor<4xf32>
}
