//===- Broadcasting.cpp - CHLO operations with implicit broadcasting ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `chlo.broadcast_add` and its like are operations of StableHLO or CHLO with operands that are broadcast as in numpy:
// shapes are aligned at their ends, and a dimension of size 1 is repeated to any size.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "Known.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

static constexpr StringLiteral kPrefix = "chlo.broadcast_";
/// Broadcasting operations other than the binary elementwise ones.
static constexpr StringLiteral kStableHLO[] = {"compare", "select"};
static constexpr StringLiteral kCHLO[] = {"next_after", "polygamma", "zeta"};

/// The dimensions of the result that correspond to the dimensions of operand `index`: the last ones, or, for the
/// operand with fewer dimensions, those in `broadcast_dimensions`.
static FailureOr<SmallVector<int64_t>> getTargetDims(Conversion &conversion, unsigned index) {
  int64_t rank = conversion.getOperandType(index).getRank(), resultRank = conversion.getType().getRank();
  if (rank > resultRank)
    return conversion.error() << "repeats " << conversion.getOperandType(index) << " for " << conversion.getType();
  if (rank == resultRank || !conversion.getOp()->hasAttr("broadcast_dimensions"))
    return llvm::to_vector(llvm::seq<int64_t>(resultRank - rank, resultRank));
  FailureOr<SmallVector<int64_t>> dims = conversion.getDims("broadcast_dimensions");
  if (failed(dims))
    return failure();
  bool isOrdered = llvm::is_sorted(*dims) && std::adjacent_find(dims->begin(), dims->end()) == dims->end();
  if (static_cast<int64_t>(dims->size()) != rank || !isOrdered ||
      llvm::any_of(*dims, [&](int64_t dim) { return dim < 0 || dim >= resultRank; }))
    return conversion.error() << "has broadcast_dimensions that are not " << rank << " of the " << resultRank
                              << " dimensions in order";
  return dims;
}

/// Broadcasts operand `index` to the shape of the result.
static FailureOr<Value> repeat(Conversion &conversion, unsigned index) {
  FailureOr<SmallVector<int64_t>> dims = getTargetDims(conversion, index);
  if (failed(dims))
    return failure();
  ArrayRef<int64_t> shape = conversion.getType().getShape();
  for (auto [size, dim] : llvm::zip_equal(conversion.getOperandType(index).getShape(), *dims))
    if (size != shape[dim] && size != 1)
      return conversion.error() << "repeats dimension of size " << size << " of operand " << index
                                << " for one of size " << shape[dim];
  return conversion.broadcast(conversion.getOp()->getOperand(index), shape, *dims);
}

static Converted convertBroadcasting(Conversion &conversion) {
  Operation *op = conversion.getOp();
  if (failed(conversion.expect(op->getNumOperands())))
    return failure();
  StringRef mnemonic = conversion.getName().drop_front(kPrefix.size());
  std::string name = ((llvm::is_contained(kCHLO, mnemonic) ? "chlo." : "stablehlo.") + mnemonic).str();
  SmallVector<Value> operands;
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    FailureOr<Value> operand = repeat(conversion, index);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  OperationState state(op->getLoc(), name, operands, op->getResultTypes(), op->getAttrs());
  state.attributes.erase("broadcast_dimensions");
  Operation *core = conversion.getBuilder().create(state);
  Conversion inner(core);
  Converted results = findConverter(name)(inner);
  core->erase();
  return results;
}

bool importer::isBroadcasting(StringRef name) {
  return name.consume_front(kPrefix) && (llvm::is_contained(getBinary(), name) ||
                                         llvm::is_contained(kStableHLO, name) || llvm::is_contained(kCHLO, name));
}

void importer::addBroadcasting(ConverterMap &converters) {
  for (ArrayRef<StringLiteral> mnemonics : {getBinary(), ArrayRef(kStableHLO), ArrayRef(kCHLO)})
    for (StringRef mnemonic : mnemonics)
      converters[(kPrefix + mnemonic).str()] = convertBroadcasting;
}
