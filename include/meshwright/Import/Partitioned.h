//===- Partitioned.h - programs for one rank by other tools ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PARTITIONED_H
#define MESHWRIGHT_IMPORT_PARTITIONED_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <string>
#include <vector>

namespace meshwright::importer {

/// The placement of an argument or result of a partitioned program, by the name that it has in the serial one and the
/// dimensions as users write them: `[dp, -]`.
struct PortPlace {
  std::string name, dims;
};

/// Adds the passes that convert a graph, which become operations of net as they are: no argument becomes a variable.
void buildPlainPipeline(mlir::OpPassManager &passes);

/// The same for a program that another tool partitioned: a graph with computations per rank in it, or one that is the
/// program of a rank as a whole. Collectives and coordinates are those of `mesh` (`dp=2,tp=4`), or of the graph's own
/// mesh where that is empty. Values outside of computations per rank are whole on every rank.
void buildPartitionedPipeline(mlir::OpPassManager &passes, llvm::StringRef mesh);

/// Gives the arguments and results of a converted `partitioned` program the names, the order and the global types of
/// those of the converted `serial` one, and placements: the program is then as Partition leaves one. They correspond by
/// their names, results next by the arguments whose memory they take, and all others in their order. Arguments that the
/// serial program lacks and nothing reads are left out. A port of the serial type is whole on every rank; the placement
/// of any other is in `places`, in the sharding that its exporter wrote or, where the program is one that Export wrote,
/// in `header`: the JSON of the comment that its text begins with, else empty. Removes what else exporters attached to
/// both programs.
llvm::LogicalResult placePorts(mlir::ModuleOp partitioned, mlir::ModuleOp serial, llvm::ArrayRef<PortPlace> places,
                               llvm::StringRef header);

} // namespace meshwright::importer

#endif
