// RUN: not dist-opt %S/Inputs/whole-step.mlir --dist-import-materialize-variables="carry=opt.*=0.*" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dist-opt %S/Inputs/whole-step.mlir --dist-import-materialize-variables="carry=state.*=0" 2>&1 | FileCheck %s --check-prefix=WILD
// RUN: not dist-opt %S/Inputs/whole-step.mlir --dist-import-materialize-variables="carry=state.*=3.*" 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not dist-opt %S/Inputs/whole-step.mlir --dist-import-materialize-variables="carry=key=2.loss" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not dist-opt %S/Inputs/whole-step.mlir --dist-import-materialize-variables="carry=state.*.w=0.params.w" 2>&1 | FileCheck %s --check-prefix=WILD2
// RUN: not dist-opt %S/Inputs/whole-step.mlir --dist-import-materialize-variables="carry=state.params.w=0.params.w,state.opt.mu.w=0.params.w" 2>&1 | FileCheck %s --check-prefix=TWICE

// Tests that rules that do not fit the graph are errors.
// NONE: whole-step.mlir:1:1: error: glob "opt.*" matches none of the graph's 4 arguments
// WILD: error: "state.*" is carried to "0", which has not as many * and ?
// WILD2: error: "state.*.w" is carried to "0.params.w", which has not as many * and ?
// RESULT: whole-step.mlir:1:24: error: argument state.params.w is carried to result 3.params.w, which is none of the graph's 4 results
// TYPE: error: argument key of 'tensor<2xui32>' is carried to result 2.loss of 'tensor<f32>'
// TWICE: error: argument state.opt.mu.w is carried to result 0.params.w, and so is another
