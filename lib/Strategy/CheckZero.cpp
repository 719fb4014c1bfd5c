//===- CheckZero.cpp - checks of zero and reduce --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the fields of `zero` and `reduce` against each other and against `data.axes`, without the graph. Fields about
// fetching need stage 3; `keep: STEP` excludes the fields that bound or shorten the life of fetched parameters.
//
//===----------------------------------------------------------------------===//

#include "Numbers.h"
#include "meshwright/Strategy/Strategy.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::strategy;

namespace {

/// Checks `zero`, field by field.
class ZeroChecker {
public:
  ZeroChecker(const StrategyFile &file, MLIRContext *context)
      : file(file), zero(file.get().zero()), mesh(file.getMesh()), context(context) {}

  LogicalResult check() const {
    return success(succeeded(checkSurroundings()) && succeeded(checkAxes()) && succeeded(checkStage()) &&
                   succeeded(checkSegment()) && succeeded(checkNumbers()) && succeeded(checkBackwardAxes()) &&
                   succeeded(checkKeep()));
  }

private:
  InFlightDiagnostic error(const Twine &field) const { return emitError(file.getLoc(context, ("zero" + field).str())); }

  LogicalResult checkSurroundings() const {
    if (zero.stage() < 1 || zero.stage() > 3)
      return error(".stage") << "zero.stage is " << zero.stage() << "; stages are 1, 2 and 3";
    if (file.get().data().axes().empty())
      return error("") << "zero shards over some of data.axes, but there are none";
    // The fields about fetches then hold for what the graph stores.
    if (zero.axes().empty() && file.isStoredByGraph())
      return success();
    if (zero.axes().empty())
      return error("") << "zero has no axes; it takes some of data.axes";
    return success();
  }

  LogicalResult checkAxes() const {
    llvm::StringSet<> seen;
    for (const auto &[index, axis] : llvm::enumerate(zero.axes())) {
      if (!mesh.find(axis))
        return error(".axes[" + Twine(index) + "]") << "the mesh has no axis \"" << axis << "\"";
      if (!llvm::is_contained(file.get().data().axes(), axis))
        return error(".axes[" + Twine(index) + "]") << "axis \"" << axis << "\" is not among data.axes";
      if (!seen.insert(axis).second)
        return error(".axes[" + Twine(index) + "]") << "axis \"" << axis << "\" is given twice in zero.axes";
    }
    return success();
  }

  LogicalResult checkStage() const {
    if (zero.has_order() && zero.ownership() != Zero::WHOLE)
      return error(".order") << "zero.order chooses owners, but ownership is SLICES; it needs WHOLE";
    // Only stage 3 fetches parameters, so these fields would have no effect.
    std::pair<bool, const char *> thirdStage[] = {{zero.has_segment(), "segment"},
                                                  {zero.has_prefetch(), "prefetch"},
                                                  {zero.has_keep_within_megabytes(), "keep_within_megabytes"},
                                                  {zero.has_persist_below_kilobytes(), "persist_below_kilobytes"},
                                                  {zero.has_max_live_megabytes(), "max_live_megabytes"},
                                                  {!zero.backward_axes().empty(), "backward_axes"},
                                                  {zero.has_keep(), "keep"}};
    for (auto [given, field] : thirdStage)
      if (given && zero.stage() < 3)
        return error("." + Twine(field)) << "zero." << field << " is about fetching parameters and needs stage 3, but"
                                         << " zero.stage is " << zero.stage();
    return success();
  }

  LogicalResult checkSegment() const {
    const Segment &segment = zero.segment();
    if (segment.has_megabytes() && !segment.anchors().empty())
      return error(".segment.anchors[0]") << "zero.segment has both megabytes and anchors; it takes one of them";
    llvm::StringSet<> seen;
    for (const auto &[index, anchor] : llvm::enumerate(segment.anchors()))
      if (!seen.insert(anchor).second)
        return error(".segment.anchors[" + Twine(index) + "]")
               << "anchor \"" << anchor << "\" is given twice in zero.segment";
    return success();
  }

  LogicalResult checkNumbers() const {
    std::tuple<bool, const char *, double> positive[] = {
        {zero.segment().has_megabytes(), "segment.megabytes", zero.segment().megabytes()},
        {true, "bucket_megabytes", zero.bucket_megabytes()},
        {zero.has_max_live_megabytes(), "max_live_megabytes", zero.max_live_megabytes()}};
    for (auto [given, field, value] : positive)
      if (given && !(value > 0 && std::isfinite(value)))
        return error("." + Twine(field)) << "zero." << field << " is " << toText(value) << "; it is positive";
    std::pair<const char *, double> thresholds[] = {{"keep_within_megabytes", zero.keep_within_megabytes()},
                                                    {"persist_below_kilobytes", zero.persist_below_kilobytes()}};
    for (auto [field, value] : thresholds)
      if (!(value >= 0 && std::isfinite(value)))
        return error("." + Twine(field)) << "zero." << field << " is " << toText(value) << "; it is at least 0";
    if (zero.prefetch() < 0)
      return error(".prefetch") << "zero.prefetch is " << zero.prefetch() << "; it is at least 0";
    if (zero.max_in_flight() < 1)
      return error(".max_in_flight") << "zero.max_in_flight is " << zero.max_in_flight() << "; it is at least 1";
    return success();
  }

  LogicalResult checkBackwardAxes() const {
    llvm::StringSet<> seen;
    for (const auto &[index, axis] : llvm::enumerate(zero.backward_axes())) {
      if (zero.ownership() == Zero::WHOLE)
        return error(".backward_axes[" + Twine(index) + "]")
               << "zero.backward_axes gathers slices, but ownership is WHOLE; it needs SLICES";
      if (!llvm::is_contained(zero.axes(), axis))
        return error(".backward_axes[" + Twine(index) + "]") << "axis \"" << axis << "\" is not among zero.axes";
      if (!seen.insert(axis).second)
        return error(".backward_axes[" + Twine(index) + "]")
               << "axis \"" << axis << "\" is given twice in zero.backward_axes";
    }
    return success();
  }

  /// zero.keep and pipeline.keep must agree, and no field may limit parameters that the whole step keeps.
  LogicalResult checkKeep() const {
    const Pipeline &pipeline = file.get().pipeline();
    if (zero.has_keep() && pipeline.has_keep() && (zero.keep() == Zero::STEP) != (pipeline.keep() == Pipeline::STEP))
      return error(".keep") << "zero.keep is " << Zero::Keep_Name(zero.keep()) << " but pipeline.keep is "
                            << Pipeline::Keep_Name(pipeline.keep()) << "; set only one of them";
    std::tuple<bool, const char *, const char *> others[] = {
        {zero.has_max_live_megabytes(), "max_live_megabytes", "bounds fetched parameters that are alive"},
        {zero.has_keep_within_megabytes(), "keep_within_megabytes", "lets go of fetched parameters"},
        {!zero.backward_axes().empty(), "backward_axes", "fetches for backward again"}};
    for (auto [given, field, effect] : others)
      if (given && !file.getKeepField().empty())
        return error("." + Twine(field)) << "zero." << field << " " << effect << ", but " << file.getKeepField()
                                         << " is STEP, which keeps all of them; leave one of the two out";
    return success();
  }

  const StrategyFile &file;
  const Zero &zero;
  dist::Mesh mesh;
  MLIRContext *context;
};

} // namespace

StringRef StrategyFile::getKeepField() const {
  if (strategy.zero().keep() == Zero::STEP)
    return "zero.keep";
  return strategy.pipeline().keep() == Pipeline::STEP ? "pipeline.keep" : "";
}

LogicalResult StrategyFile::checkZero(MLIRContext *context) const {
  return success(!strategy.has_zero() || succeeded(ZeroChecker(*this, context).check()));
}

LogicalResult StrategyFile::checkReduce(MLIRContext *context) const {
  if (!strategy.has_reduce())
    return success();
  if (strategy.data().axes().empty())
    return emitError(getLoc(context, "reduce")) << "reduce is about data.axes, but there are none";
  if (!strategy.has_train())
    return emitError(getLoc(context, "reduce"))
           << "reduce is about the gradients that train computes, but there is no train";
  return success();
}
