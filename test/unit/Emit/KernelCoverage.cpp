//===- KernelCoverage.cpp - counts of kernel forms ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the forms of kernels, GEMMs, views, collectives and updates in scheduled modules. Random tests print the
// counts and fail if a form never occurred, so that their generators cannot silently lose coverage.
//
//===----------------------------------------------------------------------===//

#include "test/unit/Emit/KernelCoverage.h"
#include "meshwright/Kernels/PlannedKernel.h"
#include "meshwright/Schedule/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::test;
using schedule::Node;

static constexpr const char *kForms[] = {
    "kernel: elementwise",
    "kernel: row reduction",
    "kernel: accumulation in memory",
    "kernel: several stages",
    "kernel: several outputs",
    "kernel: without a plan",
    "load: like the result",
    "load: once per row",
    "load: at other elements",
    "load: at computed elements",
    "result: in place of an input",
    "product: right operand transposed",
    "product: left operand transposed",
    "product: batch",
    "product: part of a larger array",
    "product: result in another order",
    "view: from the start",
    "view: from the middle",
    "collective: c_allreduce",
    "collective: c_allgather",
    "collective: c_reducescatter",
    "collective: c_alltoall",
    "type: bf16",
    "type: f32",
    "type: f64",
    "type: i1",
    "type: i32",
    "variable: written over its old value",
    "variable: written after its old value was read",
    "variable: copied at the end",
};

KernelCoverage::KernelCoverage() {
  for (const char *form : kForms)
    forms[form] = 0;
}

void KernelCoverage::addKernel(dist::KernelOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator())
    ++operations[op.getName().getStringRef().str()];
  if (kernel.getInPlace())
    count("result: in place of an input");
  for (Type type : kernel.getResultTypes()) {
    std::string name;
    llvm::raw_string_ostream(name) << "type: " << getElementTypeOrSelf(type);
    count(name);
  }
  if (kernel.getNumResults() > 1)
    count("kernel: several outputs");
  schedule::PlannedKernel planned = schedule::planKernel(kernel);
  if (!planned.plan)
    return count("kernel: without a plan");
  const schedule::KernelPlan &plan = *planned.plan;
  if (plan.reductions.empty())
    count("kernel: elementwise");
  if (plan.numStages > 1)
    count("kernel: several stages");
  for (const schedule::Reduction &reduction : plan.reductions)
    count(reduction.row ? "kernel: row reduction" : "kernel: accumulation in memory");
  for (const std::unique_ptr<Node> &node : plan.nodes) {
    if (node->kind != Node::Load)
      continue;
    bool computed =
        llvm::any_of(node->position.terms, [&](const auto &term) { return plan.computed.contains(term.first); });
    bool same = llvm::any_of(plan.stores, [&](const auto &store) { return store.position == node->position; });
    if (computed)
      count("load: at computed elements");
    else if (!node->column && plan.numRowLoops > 0)
      count("load: once per row");
    else
      count(same ? "load: like the result" : "load: at other elements");
  }
}

void KernelCoverage::addMatmul(dist::MatmulOp op) {
  ArrayRef<int64_t> lhs = op.getLhsStrides(), rhs = op.getRhsStrides();
  if (lhs.back() != 1)
    count("product: left operand transposed");
  if (rhs.back() != 1)
    count("product: right operand transposed");
  if (!op.getBatch().empty())
    count("product: batch");
  if (op.getLhsOffset() != 0 || op.getRhsOffset() != 0)
    count("product: part of a larger array");
  SmallVector<int64_t> shape(op.getBatch()), contiguous;
  shape.append({static_cast<int64_t>(op.getM()), static_cast<int64_t>(op.getN())});
  int64_t elements = 1;
  for (int64_t size : llvm::reverse(shape)) {
    contiguous.insert(contiguous.begin(), elements);
    elements *= size;
  }
  bool isContiguous = llvm::all_of(llvm::zip_equal(shape, contiguous, op.getOutStrides()), [](auto dim) {
    return std::get<0>(dim) == 1 || std::get<1>(dim) == std::get<2>(dim);
  });
  if (!isContiguous)
    count("product: result in another order");
}

void KernelCoverage::addState(func::FuncOp func) {
  auto places = dist::kVariablesAttr.get(func);
  for (auto assign : func.getOps<net::AssignOp>()) {
    auto maker = assign.getValue().getDefiningOp();
    auto offsets = maker ? dist::kOffsetsAttr.get(maker) : nullptr;
    auto place = places.getAs<IntegerAttr>(assign.getVariableAttr().getAttr());
    unsigned result = maker ? cast<OpResult>(assign.getValue()).getResultNumber() : 0;
    auto kernel = dyn_cast_or_null<dist::KernelOp>(maker);
    if (!offsets || offsets[result] != place.getInt())
      count("variable: copied at the end");
    else if (kernel && kernel.getInPlace() && (*kernel.getInPlace())[result] >= 0)
      count("variable: written over its old value");
    else
      count("variable: written after its old value was read");
  }
}

void KernelCoverage::add(ModuleOp module) {
  module.walk([&](dist::KernelOp kernel) { addKernel(kernel); });
  module.walk([&](dist::MatmulOp op) {
    ++operations["net.dot"];
    addMatmul(op);
  });
  module.walk(
      [&](dist::ViewOp view) { count(view.getOffset() == 0 ? "view: from the start" : "view: from the middle"); });
  module.walk(
      [&](dist::CollectiveOp op) { count(("collective: " + dist::stringifyCollectiveKind(op.getKind())).str()); });
  for (auto func : module.getOps<func::FuncOp>())
    addState(func);
}

std::vector<std::string> KernelCoverage::findMissing() const {
  std::vector<std::string> missing;
  for (auto &[form, number] : forms)
    if (number == 0)
      missing.push_back(form);
  return missing;
}

std::string KernelCoverage::print() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const auto *table : {&forms, &operations})
    for (auto &[name, number] : *table)
      stream << llvm::formatv("{0,-52} {1,7}\n", name, number);
  return text;
}
