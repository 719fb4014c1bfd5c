//===- Foreign.td - a dialect that knows nothing of Meshwright ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_FOREIGN_FOREIGN_TD
#define MESHWRIGHT_TEST_LIB_FOREIGN_FOREIGN_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Foreign_Dialect : Dialect {
  let name = "foreign";
  let cppNamespace = "::foreign";
  let summary = "Stands for the dialect of a framework that embeds the compiler.";
}

class Foreign_Op<string mnem, list<Trait> traits = []> : Op<Foreign_Dialect, mnem, [Pure] # traits>;

def Foreign_ScaleOp : Foreign_Op<"scale", [SameOperandsAndResultType]> {
  let summary = "multiplies every element by a number";
  let description = [{ Example: `%1 = foreign.scale %0 by 2.0 : tensor<4xf32>` }];
  let arguments = (ins AnyStaticShapeTensor:$operand, F64Attr:$factor);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand `by` $factor attr-dict `:` type($result)";
}

def Foreign_RowSumOp : Foreign_Op<"row_sum"> {
  let summary = "adds up the last dimension";
  let description = [{ Example: `%1 = foreign.row_sum %0 : tensor<4x8xf32> -> tensor<4xf32>` }];
  let arguments = (ins AnyStaticShapeTensor:$operand);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def Foreign_MatmulOp : Foreign_Op<"matmul"> {
  let summary = "product with a matrix that is transposed: [i, k] and [j, k] make [i, j]";
  let description = [{ Example: `%2 = foreign.matmul %0, %1 : tensor<4x8xf32>, tensor<6x8xf32> -> tensor<4x6xf32>` }];
  let arguments = (ins AnyStaticShapeTensor:$lhs, AnyStaticShapeTensor:$rhs);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def Foreign_RampOp : Foreign_Op<"ramp", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "adds to every element `step` times its position along a dimension";
  let description = [{
    The position of index i along `dim`: i is read in mixed radix with the given sizes, major to minor; the position is the sum of its
    digits times `strides`, and of the `coordinates` times theirs. Without sizes it is i itself.

    Example: `%1 = foreign.ramp %0 dim 0 step 0.5 : tensor<4x8xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$operand, Variadic<0DTensorOf<[I32]>>:$coordinates, I64Attr:$dim, F64Attr:$step,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$sizes, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$strides,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$coordinate_strides);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$operand `dim` $dim `step` $step (`at` `(` $coordinates^ `:` type($coordinates) `)`)? attr-dict `:` type($result)";
}

#endif
