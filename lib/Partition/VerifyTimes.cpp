//===- VerifyTimes.cpp - checks the reads of one slice of a batch ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows values forward from two sources: the coordinate of the slice, which makes them differ between slices, and the
// assigned values of accumulators, which are complete only after the last slice. Sums are followed slice by slice: each
// has every slice once in the end, next to its neighbours. Independent of placements.
//
//===----------------------------------------------------------------------===//

#include "VerifyTimes.h"
#include "dialects/Dist/Dist.h"
#include "dialects/Net/Net.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::dist;

namespace {

class TimeVerifier {
public:
  TimeVerifier(func::FuncOp func, StringRef axis, int64_t size) : func(func), axis(axis), size(size) {}

  LogicalResult run();

private:
  ArrayRef<int64_t> getTimes(DictionaryAttr during) const;
  bool isLastOnly(DictionaryAttr during) const { return getTimes(during) == ArrayRef<int64_t>(size - 1); }
  void findSums();
  bool isOfChain(Operation &op) const;
  LogicalResult followSums();
  LogicalResult followSum(AccumulateOp op, int64_t time);
  LogicalResult visit(Operation &op);
  LogicalResult visitReturn(Operation &op);
  InFlightDiagnostic reject(Operation &op, Value value, const Twine &message);

  func::FuncOp func;
  StringRef axis;
  int64_t size;
  /// Values assigned to an accumulator before the last slice, which are complete only after it.
  llvm::DenseSet<Value> sums;
  /// The slices [begin, end) that a sum has at the time that is followed, and those that a variable has before it.
  using Range = std::pair<int64_t, int64_t>;
  llvm::DenseMap<Value, Range> covered;
  llvm::StringMap<Range> kept;
  /// Values that differ between slices, and values that are valid after the last slice only.
  llvm::DenseSet<Value> varying, late;
};

} // namespace

ArrayRef<int64_t> TimeVerifier::getTimes(DictionaryAttr during) const {
  auto times = during ? during.getAs<DenseI64ArrayAttr>(axis) : DenseI64ArrayAttr();
  return times ? times.asArrayRef() : ArrayRef<int64_t>();
}

void TimeVerifier::findSums() {
  auto before = llvm::to_vector(llvm::seq<int64_t>(0, size - 1));
  for (auto assign : func.getOps<net::AssignOp>()) {
    ArrayRef<int64_t> times = getTimes(kDuringAttr.get(assign));
    auto accumulate = assign.getValue().getDefiningOp<AccumulateOp>();
    bool isOfTree = accumulate && accumulate.getAxis() == axis && !times.empty() && times.back() < size - 1;
    if (isOfTree || times == ArrayRef(before))
      sums.insert(assign.getValue());
  }
}

/// True if `op` adds a sum of slices to that of others.
bool TimeVerifier::isOfChain(Operation &op) const {
  auto accumulate = dyn_cast<AccumulateOp>(op);
  auto addend = accumulate ? accumulate.getAddend().getDefiningOp<AccumulateOp>() : AccumulateOp();
  return addend && accumulate.getAxis() == axis && addend.getAxis() == axis && !varying.contains(op.getOperand(0)) &&
         !late.contains(op.getOperand(0));
}

/// Notes the slices that `op` has at `time`.
LogicalResult TimeVerifier::followSum(AccumulateOp op, int64_t time) {
  auto addend = covered.find(op.getAddend());
  Range range = addend == covered.end() ? Range(time, time + 1) : addend->second;
  if (op.getSums() ? llvm::is_contained(*op.getSums(), time) : time > 0) {
    auto read = op.getBefore().getDefiningOp<net::ReadOp>();
    auto before = read ? kept.find(read.getVariable()) : kept.end();
    if (before == kept.end() || before->second.second != range.first)
      return op.emitOpError() << "adds slices " << range.first << " to " << range.second - 1 << " of axis \"" << axis
                              << "\" to a value that has not those next to them";
    range.first = before->second.first;
  }
  covered[op.getResult()] = range;
  bool isRead = llvm::any_of(op.getResult().getUsers(),
                             [](Operation *user) { return !isa<AccumulateOp>(user) && !isa<net::AssignOp>(user); });
  if (isRead && time == size - 1 && range != Range(0, size))
    return op.emitOpError() << "has slices " << range.first << " to " << range.second - 1 << " of axis \"" << axis
                            << "\" after the last of " << size << ", and is read";
  return success();
}

/// Follows sums over the slices. Variables change after all operations of a time.
LogicalResult TimeVerifier::followSums() {
  SmallVector<AccumulateOp> ops;
  SmallVector<net::AssignOp> assigns;
  for (auto op : func.getOps<AccumulateOp>())
    if (op.getAxis() == axis)
      ops.push_back(op);
  for (auto assign : func.getOps<net::AssignOp>())
    if (auto sum = assign.getValue().getDefiningOp<AccumulateOp>(); sum && sum.getAxis() == axis)
      assigns.push_back(assign);
  for (int64_t time = 0; !ops.empty() && time < size; ++time) {
    for (AccumulateOp op : ops)
      if (failed(followSum(op, time)))
        return failure();
    for (net::AssignOp assign : assigns)
      if (ArrayRef<int64_t> times = getTimes(kDuringAttr.get(assign)); times.empty() || llvm::is_contained(times, time))
        kept[assign.getVariable()] = covered[assign.getValue()];
  }
  return success();
}

InFlightDiagnostic TimeVerifier::reject(Operation &op, Value value, const Twine &message) {
  auto error = op.emitOpError() << message;
  error.attachNote(value.getLoc()) << "the value is made here";
  return error;
}

LogicalResult TimeVerifier::visitReturn(Operation &op) {
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    if (varying.contains(operand))
      return reject(op, operand, "returns a value that differs between the slices of axis \"" + axis + "\"");
    if (!isLastOnly(kDuringAttr.getOfResult(func, index)))
      return func.emitOpError() << "returns result " << index << " at other times than the last of axis \"" << axis
                                << "\"";
  }
  return success();
}

LogicalResult TimeVerifier::visit(Operation &op) {
  if (isa<func::ReturnOp>(op))
    return visitReturn(op);
  auto varies = llvm::find_if(op.getOperands(), [&](Value operand) { return varying.contains(operand); });
  auto waits = llvm::find_if(op.getOperands(), [&](Value operand) { return late.contains(operand); });
  bool isVarying = varies != op.operand_end(), isLate = waits != op.operand_end();
  if (auto assign = dyn_cast<net::AssignOp>(op)) {
    if (isVarying && !sums.contains(assign.getValue()))
      return reject(op, *varies, "assigns a value that differs between the slices of axis \"" + axis + "\"");
    if (!sums.contains(assign.getValue()) && !isLastOnly(kDuringAttr.get(&op)))
      return op.emitOpError() << "takes place at other times than the last of axis \"" << axis << "\"";
    return success();
  }
  bool isSum = llvm::any_of(op.getResults(), [&](Value result) { return sums.contains(result); });
  if (isLate && (isVarying || isSum) && !isOfChain(op))
    return reject(op, *waits,
                  "is computed for every slice of axis \"" + axis +
                      "\", but reads a value that is known only after the last one");
  auto coordinate = dyn_cast<CoordinateOp>(op);
  isVarying |= coordinate && coordinate.getAxis() == axis;
  for (Value result : op.getResults()) {
    if (sums.contains(result) || isLate)
      late.insert(result);
    else if (isVarying)
      varying.insert(result);
  }
  return success();
}

LogicalResult TimeVerifier::run() {
  findSums();
  for (Operation &op : func.getBody().front())
    if (failed(visit(op)))
      return failure();
  return followSums();
}

LogicalResult meshwright::partition::verifyTimes(func::FuncOp func, const Mesh &mesh) {
  std::optional<Axis> axis = mesh.find(AxisKind::Slices);
  if (!axis || mesh.getSize(*axis) == 1)
    return success();
  return TimeVerifier(func, mesh.getName(*axis), mesh.getSize(*axis)).run();
}
