//===- ConvolutionSet.h - the convolutions of a program ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_DEVICES_CPU_CONVOLUTIONSET_H
#define MESHWRIGHT_RUNTIME_DEVICES_CPU_CONVOLUTIONSET_H

#include "AmxConvolution.h"
#include "LibraryConvolution.h"
#include "meshwright/runtime/Arena.h"
#include "meshwright/runtime/ConvolutionProblem.h"
#include "meshwright/runtime/MatmulSet.h"

namespace meshwright::runtime {

/// How convolutions are computed: by the fastest way, or, which tests and measurements compare, without tiles of AMX,
/// or all by gathering.
enum class ConvolutionWays { Fastest, Library, Gathered };

/// The convolutions of one rank's program, prepared for fixed addresses. Tiles of AMX compute those for which they are
/// faster, oneDNN those for which it has compiled code. For the others, blocks of patches are gathered into scratch
/// memory, whose size does not depend on the convolution's, and multiplied by products. Where groups are many and
/// small, as those of a depthwise convolution, all of them are computed beside each other instead. Threads compute
/// parts of their own, which do not depend on their number, so neither do bits. Of what is gathered, an element is
/// summed in an order that depends on the sizes of the window and the channels alone, so it does not matter how a batch
/// is divided either.
///
/// Belongs to the thread that made it, as its products do.
class ConvolutionSet {
public:
  /// For so many threads.
  static Result<std::unique_ptr<ConvolutionSet>> create(int threads, ConvolutionWays ways = ConvolutionWays::Fastest);

  /// Prepares a checked convolution; returns its number. `name` is for warnings and errors.
  Result<uint32_t> prepare(const Convolution &convolution, const std::byte *lhs, const std::byte *rhs, std::byte *out,
                           const std::string &name);
  /// Prepares a convolution that was prepared before, at other addresses; returns its number.
  uint32_t prepareAgain(uint32_t number, const std::byte *lhs, const std::byte *rhs, std::byte *out);
  /// Allocates the scratch memory that all convolutions share. Nothing is prepared afterwards.
  Status finish();
  /// Computes a convolution.
  Status execute(uint32_t number);

  uint64_t getScratchBytes() const;
  /// See MatmulSet.
  std::vector<std::string> getWarnings() const { return workers.front().products->getWarnings(); }

private:
  /// How a convolution is computed.
  struct Plan {
    ConvolutionProblem problem;
    /// Null where another way is faster, which also computes what is not finite.
    std::unique_ptr<AmxConvolution> tiles;
    /// Null where it is gathered.
    std::unique_ptr<LibraryConvolution> library;
    /// Whether all groups are computed beside each other, without products.
    bool isGrouped = false;
    /// Rows and columns of a block of patches, and the number of blocks of all groups.
    int64_t rows = 0, depth = 0, blocks = 0;
    /// Whether patches are gathered along their depth; else along rows, and a block is a matrix of columns.
    bool alongDepth = true;
    /// The distance in rhs of neighbours along the depth, where products read it as it lies.
    std::optional<int64_t> rhsStride;
    /// Whether products write into the result.
    bool writesOut = false;
    /// The products of whole blocks and of what is left at the end of rows (first) and depth (second).
    uint32_t products[2][2] = {};
    /// Scratch memory without tiles: that which workers share, and then that of each.
    uint64_t sharedBytes = 0, workerBytes = 0;
    /// Where the parts of the latter begin: patches, rhs, sums, and what is added to them.
    uint64_t rhsOffset = 0, sumOffset = 0, addendOffset = 0;
  };
  struct Call {
    size_t plan;
    const std::byte *lhs, *rhs;
    std::byte *out;
  };

  /// The things of a thread, which no other one touches.
  struct Worker {
    /// Products on a single thread, the same ones for all workers.
    std::unique_ptr<MatmulSet> products;
    /// The spans of the block that is computed, allocated before the first step.
    std::vector<Span> rowSpans, depthSpans;
    Status status;
  };

  ConvolutionSet(int threads, ConvolutionWays ways) : ways(ways), workers(threads) {}
  Result<uint32_t> prepareProduct(const Plan &plan, int64_t rows, int64_t depth, const std::string &name);
  Status preparePlan(Plan &plan, const std::string &name);
  Status executeRows(Worker &worker, const Plan &plan, const Call &call, int64_t from, int64_t to);
  Status executeBlocks(Worker &worker, const Call &call, int64_t from, int64_t to);
  Status executeByLibrary(const Call &call);
  Status takeStatus();
  std::byte *getScratch(const Plan &plan, const Worker &worker) const;

  ConvolutionWays ways;
  std::vector<Worker> workers;
  std::vector<Plan> plans;
  std::vector<Call> calls;
  /// The scratch memory of the convolution that has most.
  uint64_t scratchBytes = 0;
  Arena scratch;
  size_t maxRows = 0, maxDepth = 0;
};

} // namespace meshwright::runtime

#endif
