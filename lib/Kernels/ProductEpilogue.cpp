//===- ProductEpilogue.cpp - finds kernels that fuse into a GEMM's epilogue -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel's plan says for every element that it stores which elements it reads, whatever layout operations lie
// between; what it does with them is brought into one form (TanhForm.h), however it is written.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Kernels/ProductEpilogue.h"
#include "TanhForm.h"
#include "meshwright/Kernels/PlannedKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;
using namespace meshwright::schedule;

bool schedule::hasEpilogues(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF32() || element.isF16() || element.isBF16();
}

dist::KernelOp schedule::getKernelBehind(dist::MatmulOp product) {
  Operation *next = product->getNextNode();
  // Another name for memory is nothing that is done.
  while (isa_and_nonnull<dist::ViewOp>(next))
    next = next->getNextNode();
  auto kernel = dyn_cast_or_null<dist::KernelOp>(next);
  return kernel && llvm::is_contained(kernel.getInputs(), product.getResult()) ? kernel : nullptr;
}

namespace {

/// An element of the product, of the bias, or a function of h.
struct Element {
  enum Kind { Product, Bias, Function } kind;
  TanhForm form;
};

/// Reads what a plan stores as functions of the product's element there.
class ElementReader {
public:
  /// `product` and, where there is one, `bias` are inputs of the kernel.
  ElementReader(KernelPlan &plan, unsigned product, std::optional<unsigned> bias, int64_t biasElements)
      : plan(plan), product(product), bias(bias), biasElements(biasElements) {}

  /// The function of h that `store` stores; nullopt where it is none.
  std::optional<TanhForm> read(const Store &store) {
    position = store.position;
    known.clear();
    std::optional<Element> element = read(store.node);
    return element && element->kind == Element::Function ? std::optional(element->form) : std::nullopt;
  }

private:
  std::optional<Element> read(Node *node);
  std::optional<Element> readLoad(const Node &node);
  std::optional<Element> readBody(Node *node, Value value);
  std::optional<Element> combine(Operation *op, ArrayRef<Element> operands);

  KernelPlan &plan;
  unsigned product;
  std::optional<unsigned> bias;
  int64_t biasElements;
  /// The position of the stored element.
  LinearForm position;
  llvm::DenseMap<Node *, std::optional<Element>> known;
};

} // namespace

static std::optional<Element> makeFunction(std::optional<TanhForm> form) {
  return form ? std::optional(Element{Element::Function, std::move(*form)}) : std::nullopt;
}

/// The number that a constant has everywhere.
static std::optional<Element> readConstant(TypedAttr value) {
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    value = dense.getSplatValue<TypedAttr>();
  auto number = dyn_cast<FloatAttr>(value);
  return number ? makeFunction(TanhForm::constant(number.getValueAsDouble())) : std::nullopt;
}

std::optional<Element> ElementReader::read(Node *node) {
  if (auto entry = known.find(node); entry != known.end())
    return entry->second;
  std::optional<Element> element;
  if (node->kind == Node::Load)
    element = readLoad(*node);
  else if (node->kind == Node::Constant)
    element = readConstant(node->value.getDefiningOp<arith::ConstantOp>().getValue());
  else if (node->kind == Node::Compute && isParallel(node->op))
    element = readBody(node, node->yielded);
  return known[node] = element;
}

/// An element of the product where it is stored, or of the bias in the same column.
std::optional<Element> ElementReader::readLoad(const Node &node) {
  if (node.index == product && node.position == position)
    return bias ? Element{Element::Product, {}} : Element{Element::Function, TanhForm::variable()};
  if (bias && node.index == *bias && node.position == plan.variables.mod(position, biasElements))
    return Element{Element::Bias, {}};
  return std::nullopt;
}

std::optional<Element> ElementReader::readBody(Node *node, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    bool isInput = argument.getArgNumber() < node->operands.size();
    return isInput ? read(node->operands[argument.getArgNumber()]) : std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return readConstant(constant.getValue());
  SmallVector<Element> operands;
  for (Value operand : op->getOperands()) {
    std::optional<Element> element = readBody(node, operand);
    if (!element)
      return std::nullopt;
    operands.push_back(std::move(*element));
  }
  return combine(op, operands);
}

std::optional<Element> ElementReader::combine(Operation *op, ArrayRef<Element> operands) {
  // Rounding is not seen: a library rounds where it stores.
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return operands[0];
  bool isProduct = llvm::any_of(operands, [](const Element &e) { return e.kind == Element::Product; });
  bool isBias = llvm::any_of(operands, [](const Element &e) { return e.kind == Element::Bias; });
  if (isa<arith::AddFOp>(op) && isProduct && isBias)
    return makeFunction(TanhForm::variable());
  if (isProduct || isBias)
    return std::nullopt;
  if (isa<arith::AddFOp>(op))
    return makeFunction(operands[0].form + operands[1].form);
  if (isa<arith::SubFOp>(op))
    return makeFunction(operands[0].form + operands[1].form.negate());
  if (isa<arith::MulFOp>(op))
    return makeFunction(operands[0].form * operands[1].form);
  if (isa<arith::DivFOp>(op))
    return makeFunction(operands[0].form / operands[1].form);
  if (isa<arith::NegFOp>(op))
    return makeFunction(operands[0].form.negate());
  if (isa<math::PowFOp>(op))
    return makeFunction(operands[0].form.power(operands[1].form));
  if (isa<math::TanhOp>(op))
    return makeFunction(operands[0].form.tanh());
  return std::nullopt;
}

/// The tolerance of a coefficient in arithmetic of `type`: constants and their products are rounded.
static double getTolerance(Type type) {
  unsigned precision = APFloat::semanticsPrecision(cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics());
  return 3 * std::ldexp(1.0, -static_cast<int>(precision));
}

/// True if a vector along the last dimension of `product` runs along the elements that are adjacent in every matrix.
static bool isAlongRows(dist::MatmulOp product, uint64_t elements) {
  int64_t row = product.getOutStrides().end()[-2], column = product.getOutStrides().back();
  return column == 1 ? product.getN() == elements : row == 1 && product.getM() == elements;
}

/// The input of `kernel` that is the bias, or nullopt without one; failure and `reason` if its inputs or results are
/// not those of an epilogue.
static FailureOr<std::optional<unsigned>> findBias(dist::MatmulOp product, dist::KernelOp kernel, std::string &reason) {
  auto type = cast<RankedTensorType>(product.getResult().getType());
  if (!hasEpilogues(type) || type.getRank() == 0) {
    reason = "libraries have no epilogues for GEMMs of this type";
    return failure();
  }
  if (kernel.getNumResults() > 2 || llvm::any_of(kernel.getResultTypes(), [&](Type made) { return made != type; })) {
    reason = "the kernel has results beside a sum and its GELU";
    return failure();
  }
  if (kernel.getInputs().size() == 1)
    return std::optional<unsigned>();
  unsigned bias = kernel.getInputs()[0] == product.getResult() ? 1 : 0;
  auto added = cast<RankedTensorType>(kernel.getInputs()[bias].getType());
  if (kernel.getInputs().size() > 2 || added.getElementType() != type.getElementType() ||
      added.getNumElements() != type.getShape().back()) {
    reason = "the kernel reads operands beside the GEMM and a vector along its last dimension";
    return failure();
  }
  if (!isAlongRows(product, added.getNumElements())) {
    reason = "the vector is not along the rows of its matrices";
    return failure();
  }
  return std::optional(bias);
}

/// Says of what `kernel` stores which is h and which its GELU; false where it stores anything else.
static bool readResults(dist::KernelOp kernel, KernelPlan &plan, ElementReader &reader, ProductEpilogue &epilogue) {
  for (const Store &store : plan.stores) {
    Value result = kernel.getResult(store.output);
    std::optional<TanhForm> form = reader.read(store);
    bool isGelu = form && form->isGelu(getTolerance(result.getType()));
    Value &place = isGelu ? epilogue.out : epilogue.preactivation;
    if (!form || (!isGelu && !form->isVariable()) || place)
      return false;
    place = result;
  }
  epilogue.isGelu = epilogue.out != nullptr;
  if (!epilogue.isGelu)
    std::swap(epilogue.out, epilogue.preactivation);
  return epilogue.out && (epilogue.isGelu || epilogue.bias);
}

std::optional<ProductEpilogue> schedule::findEpilogue(dist::MatmulOp product, dist::KernelOp kernel,
                                                      std::string &reason) {
  FailureOr<std::optional<unsigned>> bias = findBias(product, kernel, reason);
  if (failed(bias))
    return std::nullopt;
  bool isReadLater = !product.getResult().hasOneUse();
  if (isReadLater && *bias) {
    reason = "the GEMM is read again after the kernel";
    return std::nullopt;
  }
  PlannedKernel planned = planKernel(kernel);
  if (!planned.plan || !planned.plan->reductions.empty()) {
    reason = "the kernel does more than element by element";
    return std::nullopt;
  }
  ProductEpilogue epilogue;
  if (*bias)
    epilogue.bias = kernel.getInputs()[**bias];
  unsigned input = *bias == 0u ? 1 : 0;
  int64_t columns = cast<RankedTensorType>(product.getResult().getType()).getShape().back();
  ElementReader reader(*planned.plan, input, *bias, columns);
  if (!readResults(kernel, *planned.plan, reader, epilogue)) {
    reason = "the kernel stores neither its sum with the vector nor the GELU, by tanh, of that";
    return std::nullopt;
  }
  if (isReadLater && epilogue.preactivation) {
    reason = "its sum is stored twice";
    return std::nullopt;
  }
  if (isReadLater)
    epilogue.preactivation = product.getResult();
  return epilogue;
}
