//===- GivenBase.td - the given dialect and its attributes ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_GIVEN_GIVENBASE_TD
#define MESHWRIGHT_DIALECTS_GIVEN_GIVENBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Given_Dialect : Dialect {
  let name = "given";
  let cppNamespace = "::meshwright::given";
  let summary = "What a graph that comes from outside says of its placement.";
  let description = [{
    Exporters annotate graphs with meshes and shardings. Import keeps them in this dialect, beside the network, whose
    operations know nothing of placements: a mesh on the module (`given.mesh`), shardings on variables and inputs
    (`given.sharding`), and `given.constrain` for values inside. Annotate and Complete take them for placements, as they
    take what the strategy says, and none is left after Partition. In a serial program they mean nothing.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Given_Attr<string name, string mnem> : AttrDef<Given_Dialect, name> {
  let mnemonic = mnem;
}

def Given_MeshAttr : Given_Attr<"Mesh", "mesh"> {
  let summary = "the mesh for which a graph states shardings of its own";
  let description = [{
    Names and sizes of axes, the slowest first. An axis of which the graph names a part is divided: of `"x" = 8` with the
    part `"x":(2)4`, the axes are `"x:(1)2"` and `"x:(2)4"`.

    - **C1**: there is one size per name, sizes are positive, and names are distinct and not empty.

    Example: `#given.mesh<["dp" = 2, "tp" = 4]>`
  }];
  let parameters = (ins "::mlir::ArrayAttr":$names, "::mlir::DenseI64ArrayAttr":$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The number of the axis of that name; nothing if there is none.
    std::optional<unsigned> find(::mlir::Attribute name) const;
  }];
}

def Given_ShardingAttr : Given_Attr<"Sharding", "sharding"> {
  let summary = "how the exporter of a graph splits a value";
  let description = [{
    For every dimension the axes that split it, the most significant one first. A dimension with `?` is open: further axes
    may split it. All others are closed. `p1` is the priority of the dimension, 0 if it is not written; a smaller one is
    decided first. No axis of `replicated` splits an open dimension, and over those of `unreduced` the value is a sum that
    is still to be reduced.

    - **C1**: there is one openness and one priority per dimension, and priorities are not negative.
    - **C2**: no axis is named twice.

    Example: `#given.sharding<[{}, {"dp"}, {"tp", ?}p1], replicated = ["pp"]>`
  }];
  let parameters = (ins "::mlir::ArrayAttr":$dims, "::mlir::DenseBoolArrayAttr":$open, "::mlir::DenseI64ArrayAttr":$priorities,
                        "::mlir::ArrayAttr":$replicated, "::mlir::ArrayAttr":$unreduced);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    unsigned getRank() const { return getDims().size(); }
    /// The names of the axes that split `dim`.
    ::mlir::ArrayAttr getAxes(unsigned dim) const { return ::llvm::cast<::mlir::ArrayAttr>(getDims()[dim]); }
    bool isOpen(unsigned dim) const { return getOpen()[dim]; }
    /// True if no axis that is not named may split the value.
    bool isClosed() const { return !::llvm::is_contained(getOpen().asArrayRef(), true); }
    /// The dimension that `axis` splits; nothing if it splits none.
    std::optional<unsigned> findDim(::mlir::Attribute axis) const;
    /// Checks the sharding of a value of `type` against `mesh`.
    ::mlir::LogicalResult verifyFor(::mlir::Type type, MeshAttr mesh,
                                    ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
  }];
}

#endif
