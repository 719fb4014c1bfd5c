//===- Launches.h - merges collectives into one launch -----------*- C++ -*===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_OVERLAP_LAUNCHES_H
#define MESHWRIGHT_LIB_OVERLAP_LAUNCHES_H

#include "dialects/Dist/Dist.h"
#include "mlir/IR/Builders.h"

namespace meshwright::schedule {

/// A key that is equal for collectives that can be one launch: kind, reduction, group, type and participants.
mlir::Attribute getLaunchKey(dist::CollectiveOp op);

/// True if `op` is not scheduled yet: it has one part with both ends in this program, and is not started apart.
bool isSingle(dist::CollectiveOp op);

/// The bytes of the larger of what `op`, of one part, takes and makes on a rank.
int64_t getLaunchBytes(dist::CollectiveOp op);

/// One collective at the place of `builder` for `members`, which have one part each and one key: with their parts,
/// named in `dist.parts`, but with these inputs and results of these types.
dist::CollectiveOp createLaunch(mlir::OpBuilder &builder, llvm::ArrayRef<dist::CollectiveOp> members,
                                mlir::ValueRange inputs, mlir::TypeRange types);

} // namespace meshwright::schedule

#endif
