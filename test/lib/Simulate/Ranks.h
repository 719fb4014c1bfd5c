//===- Ranks.h - conversions by their definition, on all ranks --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A conversion element by element: a position of the result stands for an element of the whole value, and
// that element is looked up where the placement before says it is. Nothing here knows about parts, orders or copies.
// What happens at one of the slices of a batch has the number of the slice, `slice`; without slices it is 0.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_SIMULATE_RANKS_H
#define MESHWRIGHT_TEST_LIB_SIMULATE_RANKS_H

#include "dialects/Dist/Placement.h"
#include <vector>

namespace meshwright::test {

/// The row-major elements that each rank holds of one value, by rank.
using PerRank = std::vector<std::vector<double>>;

/// Two values as `kind` reduces them.
double reduce(ReduceKind kind, double lhs, double rhs);
/// The neutral element of `kind` among the numbers that an element type of these bounds has.
double getNeutral(ReduceKind kind, double lowest, double highest);

/// The ranks that agree with `rank` on all axes but `axes`, in order: the first axis is the slowest.
std::vector<int64_t> getGroup(const dist::Mesh &mesh, int64_t rank, llvm::ArrayRef<dist::Axis> axes);

/// The coordinates of `rank` on all axes, at a slice.
llvm::SmallVector<int64_t> locate(const dist::Mesh &mesh, int64_t rank, int64_t slice);

/// For every rank and local position the row-major index of the element of the whole value that is there, or -1 where
/// the position lies beyond the rank's part. None for ranks that do not hold the value.
std::vector<std::vector<int64_t>> getElements(const dist::Placement &placement, const dist::Mesh &mesh,
                                              llvm::ArrayRef<int64_t> shape, int64_t slice = 0);

/// The parts of all ranks after a conversion over `axes`. An axis that is partial only before is reduced. On an axis
/// that is partial only after, the owner, or coordinate 0, keeps the value and the others have `neutral`. For all other
/// axes an element is taken from a rank of the group that holds it. Padding becomes `undefined`.
PerRank convert(const PerRank &inputs, const dist::Placement &from, const dist::Placement &to,
                llvm::ArrayRef<dist::Axis> axes, const dist::Mesh &mesh, llvm::ArrayRef<int64_t> shape, double neutral,
                double undefined, int64_t slice = 0);

/// The parts of `whole` in `placement`. Along partial axes coordinate 0 holds the value and others `neutral`.
PerRank distribute(llvm::ArrayRef<double> whole, const dist::Placement &placement, const dist::Mesh &mesh,
                   llvm::ArrayRef<int64_t> shape, double neutral, double undefined);

/// Puts the whole value together again, reducing along partial axes. Ranks that hold the same element have to agree:
/// nothing where they do not.
std::optional<std::vector<double>> collect(const PerRank &parts, const dist::Placement &placement,
                                           const dist::Mesh &mesh, llvm::ArrayRef<int64_t> shape);

} // namespace meshwright::test

#endif
