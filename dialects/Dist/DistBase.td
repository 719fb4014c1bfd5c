//===- DistBase.td - the dist dialect, its enumerations and attributes ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_DISTBASE_TD
#define MESHWRIGHT_DIALECTS_DIST_DISTBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::meshwright::dist";
  let summary = "What makes a program distributed: the mesh, placements, and conversions between them.";
  let description = [{
    A *mesh* is a named grid of ranks. A value has a global shape and a *placement*: on every mesh axis
    it is replicated, sharded along one dimension, or partial (the value is the reduction of what the
    coordinates hold). The placement stands in a `#dist.mapping` attribute, never in a type:

    - `dist.results` on an operation: an array with the placement of every result;
    - `dist.operands` on an operation: an array with the placement in which it reads every operand;
    - `dist.computes` on an operation, when it differs from `dist.results`: the placement in which every
      result leaves the computation, before it is reduced;
    - `dist.mapping` on an argument of a function: its placement.

    One attribute of the serial program says where a sum is to be reduced: `dist.travels`, a unit. Partial operands pass
    through an operation that has it, whatever that costs, and are reduced behind it. A conversion between floats that
    has it is linear, so that a sum travels in the type that it is converted to.

    An axis of times is an axis like others: over the slices of a batch an input is split and a gradient is a partial sum. On an
    assignment and on a result of a function `dist.during` says at which times it takes place, in the form of a support:
    `{merge = array<i64: 3>}`. What only such operations use is computed at those times alone.

    A variable is kept in the memory of the device that computes, or in the host's: `dist.memory = #dist<memory host>`.

    Every communication is the conversion of a value between two placements.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

// ReduceKind is shared by partial placements, collectives and reductions of the serial network.
def Dist_ReduceKind : I32Enum<"ReduceKind", "how several values become one", [
    I32EnumCase<"Sum", 0, "sum">,
    I32EnumCase<"Product", 1, "product">,
    I32EnumCase<"Max", 2, "max">,
    I32EnumCase<"Min", 3, "min">,
    I32EnumCase<"And", 4, "and">,
    I32EnumCase<"Or", 5, "or">]> {
  let cppNamespace = "::meshwright::dist";
}

def Dist_ReduceKindAttr : EnumAttr<Dist_Dialect, Dist_ReduceKind, "reduce_kind">;

def Dist_MemoryKind : I32Enum<"MemoryKind", "whose memory a value is in", [
    I32EnumCase<"Device", 0, "device">,
    I32EnumCase<"Host", 1, "host">]> {
  let cppNamespace = "::meshwright::dist";
}

def Dist_MemoryKindAttr : EnumAttr<Dist_Dialect, Dist_MemoryKind, "memory">;

class Dist_Attr<string name, string mnem> : AttrDef<Dist_Dialect, name> {
  let mnemonic = mnem;
}

def Dist_MappingAttr : Dist_Attr<"Mapping", "mapping"> {
  let summary = "the placement of a value: its dims mapping";
  let description = [{
    One list of *digits* per dimension, major to minor: an axis name is a digit split over that axis, a
    plain number a digit that is not split; what remains is the least significant digit. An axis of size n
    splits the extent E that the digits before it left into parts of ceil(E/n) indices, or of as many as
    `by` says: in a dimension of 21, `["tp" by 12]` leaves 12 indices to the first coordinate and 9 to the
    second. Axes not mentioned hold the same data at every coordinate.

    - **C1**: an axis is mentioned at most once, in a dimension or as partial.
    - **C2**: plain digits and parts are positive.
    - **C3**: the coordinates of a support are not none, and increase.

    Example: `#dist.mapping<dims = [["dp"], [3, "tp"]], partial = sum ["sp"], on {"pp" = [0, 3]}>`
  }];
  let parameters = (ins "::mlir::ArrayAttr":$dims, "::meshwright::dist::ReduceKind":$partialKind,
                        "::mlir::ArrayAttr":$partialAxes, "::mlir::DictionaryAttr":$support);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The mapping of a value of that rank that every rank holds whole.
    static MappingAttr getReplicated(::mlir::MLIRContext *context, unsigned rank);
    /// The number of dimensions described.
    unsigned getRank() const { return getDims().size(); }
    /// Whether no axis is mentioned.
    bool isReplicated() const;
  }];
}

def Dist_FlightType : TypeDef<Dist_Dialect, "Flight"> {
  let mnemonic = "flight";
  let summary = "a value whose memory a collective or copy that has started may still write";
  let description = [{
    Only `dist.wait`, and collectives issued behind the one that makes it, may take it.

    Example: `!dist.flight<tensor<4xf32>>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$type);
  let assemblyFormat = "`<` $type `>`";
}

#endif
