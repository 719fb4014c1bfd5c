//===- State.td - variables of a program ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_NET_STATE_TD
#define MESHWRIGHT_DIALECTS_NET_STATE_TD

include "dialects/Net/NetBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Net_VariableOp : Net_Op<"variable", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "state that persists from step to step";
  let description = [{
    The symbol is the user's name, which is also the key in files. `kind` decides where the variable is saved:
    parameters and buffers in exports and checkpoints, optimizer state and counters in checkpoints, and an accumulator
    in checkpoints that are taken between two updates of gradient accumulation. `like` names the parameter whose
    placement the variable takes; a dimension of size 1 that is larger in the parameter (the variable holds sums or
    means along it) is not split.

    - **C1**: the type is a tensor of static shape.
    - **C2**: `like` names a variable that has the same size in every dimension in which the size here is not 1.

    Example: `net.variable parameter @p.w : tensor<4x8xf32> = #net.init<normal, 0.0, 0.02>`
  }];
  let arguments = (ins Net_VariableKindAttr:$kind, SymbolNameAttr:$sym_name, TypeAttrOf<AnyStaticShapeTensor>:$type,
                       OptionalAttr<Net_InitializerAttr>:$init, OptionalAttr<FlatSymbolRefAttr>:$like);
  let assemblyFormat = "`` $kind $sym_name `:` $type (`=` $init^)? (`like` $like^)? attr-dict";
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
  }];
}

def Net_ReadOp : Net_Op<"read", [AlwaysAvailable, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a variable at the entry of the step";
  let description = [{
    - **C1**: the variable exists and has the result's type.

    Example: `%0 = net.read @p.w : tensor<4x8xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def Net_AssignOp : Net_Op<"assign", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a variable at the exit of the step";
  let description = [{
    - **C1**: the variable exists and has the value's type.
    - **C2**: a function assigns a variable at most once.

    Example: `net.assign @p.w, %1 : tensor<4x8xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable, AnyStaticShapeTensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

#endif
