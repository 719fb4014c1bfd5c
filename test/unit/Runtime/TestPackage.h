//===- TestPackage.h - a package made by hand -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = x w, loss = sum of y, w -= (d loss / d w) / 8, on a mesh dp=2 x tp=2: x [8, 4] has its rows split over dp, w [4,
// 8] its columns over tp (with digits: two groups of four columns, two of each per coordinate). Beside it the serial
// program.
//
// Overlapped, collectives are started and waited for later. Owned, w and its gradient are held at coordinate 1 of dp
// alone: w is broadcast, the gradient reduced to the owner, and only the owner updates.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_RUNTIME_TESTPACKAGE_H
#define MESHWRIGHT_TEST_UNIT_RUNTIME_TESTPACKAGE_H

#include "package.pb.h"
#include <string>

namespace meshwright::test {

/// A defect of a package.
enum class Fault {
  None,
  MissingReduction, ///< the gradient is not summed over dp: replicas of w differ
  WrongScale,       ///< every rank adds its coordinate to the loss
  MissingMember,    ///< rank 3 leaves out the reduction of the loss
  OtherCount,       ///< rank 3 reduces two elements where the others reduce one
};

/// The style of the communication between ranks.
enum class Style { Plain, Overlapped, Owned };

/// The message. Faults are those of the plain style.
Package makePackage(Fault fault = Fault::None, Style style = Style::Plain);

/// An accumulation of several steps, and micro-batches of a step, on a mesh dp x tp. Gradients are added up in
/// accumulator/w, a sum over dp as long as the accumulation is under way, and reduced and taken off w at its end.
/// Beside it the serial program.
struct AccumulationOptions {
  int64_t dp = 2, tp = 1;
  uint32_t steps = 3, microBatches = 1;
};
/// Its outputs are `loss`, and after an update `grad/w` and the sum of its elements, `total`. The tasks are those of
/// the times that differ.
Package makeAccumulationPackage(const AccumulationOptions &options = {});

/// The kernels of all these packages: for the CPU, and as GPUs would run them.
void addLibraries(Package &package);

/// The offset in constants.bin of a number as an i32; it has those from 0 to 128.
uint64_t getSizeOffset(int64_t size);
/// The bytes of constants.bin.
std::string makeConstants();
/// The package with the hashes of the files that `writePackage` puts beside it.
Package addHashes(Package package);
/// Writes the package's folder, with the kernels that were built for it. False if it cannot be written.
bool writePackage(const Package &package, const std::string &folder);

} // namespace meshwright::test

#endif
