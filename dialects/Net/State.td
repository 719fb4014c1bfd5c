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
  let summary = "a piece of state that outlives the step";
  let description = [{
    The symbol is the user's name, which is also its key in files. `kind` says where it is saved: a parameter in exports and
    checkpoints, optimizer state and counters in checkpoints, a buffer in both, an accumulator in checkpoints while a merge is
    incomplete. `like` names the parameter whose placement it takes; where it has size 1 and the parameter has not (it holds
    sums or means along that dimension), it is not split.

    - **C1**: the type is a tensor of static shape.
    - **C2**: `like` names a variable of the same sizes, or of other ones where its own is 1.

    Example: `net.variable parameter @p.w : tensor<4x8xf32> = #net.init<normal, 0.0, 0.02>`
  }];
  let arguments = (ins Net_VariableKindAttr:$kind, SymbolNameAttr:$sym_name, TypeAttrOf<AnyStaticShapeTensor>:$type,
                       OptionalAttr<Net_InitializerAttr>:$init, OptionalAttr<FlatSymbolRefAttr>:$like);
  let assemblyFormat = "`` $kind $sym_name `:` $type (`=` $init^)? (`like` $like^)? attr-dict";
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
  }];
}

def Net_ReadOp : Net_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
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

def Net_AccumulateOp : Net_Op<"accumulate", [Pure, Elementwise, SameOperandsAndResultType,
                                             DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the sum over the times so far";
  let description = [{
    At coordinate 0 of an axis of times it is the addend, at the others the addend more than what it was before. `before` is a
    read of the accumulator that the result is assigned to; what that holds at coordinate 0 does not matter.

    - **C1**: operands and result have the same type.
    - **C2**: the module's mesh has the axis, and it is one of times.

    Example:
    ```mlir
    %before = net.read @"accumulator/p.w" : tensor<4x8xf32>
    %sum = net.accumulate %before, %gradient over "merge" : tensor<4x8xf32>
    net.assign @"accumulator/p.w", %sum {dist.during = {merge = array<i64: 0, 1, 2>}} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$before, AnyStaticShapeTensor:$addend, StrAttr:$axis);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$before `,` $addend `over` $axis attr-dict `:` type($result)";
}

#endif
