//===- DistBase.td - the dist dialect, its enumerations and attributes ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_DISTBASE_TD
#define MESHWRIGHT_DIALECTS_DIST_DISTBASE_TD

include "dialects/Common/Common.td"
include "dialects/Dist/Enums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::meshwright::dist";
  let summary = "Distribution of a program: the mesh, placements of values, and conversions between placements.";
  let description = [{
    A *mesh* is a named grid of ranks. A value has a global shape and a *placement*: on every mesh axis
    it is replicated, sharded along one dimension, or partial (the global value is the reduction, such as
    the sum, of the values that the coordinates hold). A `#dist.mapping` attribute, never a type, states the placement:
    `dist.results` and `dist.operands` on operations, `dist.mapping` on variables and on arguments and results of
    functions. These and all other discardable attributes are declared in `dialects/Attributes/Attributes.td`; an
    undeclared one is an error.

    An axis of times is an axis like any other: over the slices of a batch an input is split and a gradient is a partial
    sum. Operations that only serve assignments and results with `dist.during` run at those times alone.

    Every communication is the conversion of a value between two placements.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

def Dist_ReduceKindAttr : EnumAttr<Dist_Dialect, ReduceKind, "reduce_kind"> {
  let cppNamespace = Dist_Dialect.cppNamespace;
}

def Dist_MemoryKindAttr : EnumAttr<Dist_Dialect, Dist_MemoryKind, "memory">;

class Dist_Attr<string name, string mnem> : AttrDef<Dist_Dialect, name> {
  let mnemonic = mnem;
}

def Dist_DigitAttr : Dist_Attr<"Digit", "digit"> {
  let summary = "a factor of a dimension: split over an axis, or not split";
  let description = [{
    An axis splits what the digits before it leave; a size with it is that of the parts. Without an axis the size is the
    number of values of a digit that is not split.

    - **C1**: a size is positive, and there is one without an axis.

    Example: `#dist.digit<"tp">`, `#dist.digit<"tp" by 12>`, `#dist.digit<3>`
  }];
  let parameters = (ins OptionalParameter<"::mlir::StringAttr">:$axis, OptionalParameter<"std::optional<int64_t>">:$size);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static DigitAttr getPlain(::mlir::MLIRContext *context, int64_t size) { return get(context, nullptr, size); }
    static DigitAttr getAxis(::mlir::StringAttr axis, std::optional<int64_t> part = std::nullopt) {
      return get(axis.getContext(), axis, part);
    }
    /// True if the digit is not split.
    bool isPlain() const { return !getAxis(); }
  }];
}

def Dist_DigitsAttr : Dist_Attr<"Digits", "digits"> {
  let summary = "the digits of a dimension, the most significant one first";
  let description = [{
    Example: `#dist.digits<3, "tp">`
  }];
  let parameters = (ins OptionalArrayRefParameter<"DigitAttr">:$list);
  let assemblyFormat = "`<` custom<Digits>($list) `>`";
  let extraClassDeclaration = [{
    bool empty() const { return getList().empty(); }
    auto begin() const { return getList().begin(); }
    auto end() const { return getList().end(); }
  }];
}

def Dist_MappingAttr : Dist_Attr<"Mapping", "mapping"> {
  let summary = "the placement of a value: its dims mapping";
  let description = [{
    One list of *digits* per dimension, most significant first: an axis name is a digit that is split over that
    axis, a plain number is a digit that is not split, and the rest of the dimension is the least significant digit.
    An axis of size n splits the extent E that the digits before it leave into parts of ceil(E/n) indices, or of the
    size given by `by`: in a dimension of size 21, `["tp" by 12]` gives 12 indices to the first coordinate and 9 to the
    second. On an axis that is not mentioned, all coordinates hold the same data. `on` is the *support*: for some axes,
    the only coordinates that hold the value.

    - **C1**: an axis is mentioned at most once, in a dimension or as partial.
    - **C2**: the coordinates of a support increase, and there is at least one.

    Example: `#dist.mapping<dims = [["dp"], [3, "tp"]], partial = sum ["sp"], on {"pp" = [0, 3]}>`
  }];
  let parameters = (ins OptionalArrayRefParameter<"DigitsAttr">:$dims, "::meshwright::ReduceKind":$partialKind,
                        "::mlir::ArrayAttr":$partialAxes, "::mlir::DictionaryAttr":$support);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the mapping that replicates a value with `rank` dimensions on all axes.
    static MappingAttr getReplicated(::mlir::MLIRContext *context, unsigned rank);
    /// The number of dimensions described.
    unsigned getRank() const { return getDims().size(); }
    /// True if the mapping mentions no axis.
    bool isReplicated() const;
  }];
}

def Dist_HandleType : TypeDef<Dist_Dialect, "Handle"> {
  let mnemonic = "handle";
  let summary = "a value whose memory a collective or copy that has started may still write";
  let description = [{
    An async handle: the result of a collective or copy that was only started. Its operand may be read and its memory
    written until `dist.wait` returns the value. Only `dist.wait`, and collectives issued after the one that returned
    the handle, may take it.

    Example: `!dist.handle<tensor<4xf32>>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$type);
  let assemblyFormat = "`<` $type `>`";
}

#endif
