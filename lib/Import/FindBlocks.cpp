//===- FindBlocks.cpp - block scopes for networks without scopes ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines, recomputation and segments cut a network at its blocks, which are scopes that end in a number. This pass
// gives such scopes to networks without them, so that later stages know only one kind of block.
//
//===----------------------------------------------------------------------===//

#include "RepeatedBlocks.h"
#include "dialects/Dist/Interfaces.h"
#include "dialects/Net/Net.h"
#include "meshwright/Import/Names.h"
#include "meshwright/Import/Passes.h"
#include "meshwright/StableHLO/Graph.h"
#include "meshwright/Support/Bytes.h"
#include "meshwright/Support/Scopes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_FINDBLOCKSPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

static bool hasBlock(Operation &op) {
  auto scope = net::kScopeAttr.get(&op);
  return scope && !findBlock(scope.getValue()).empty();
}

namespace {

/// The forward operations as plain data for `findRepeatedBlocks`, and the way back to the IR.
class Network {
public:
  explicit Network(func::FuncOp graph);

  const NetworkShape &getShape() const { return shape; }
  /// Adds the blocks to the scopes of their operations, including those of backward.
  void setScopes(ArrayRef<BlockRow> rows);

private:
  void add(Operation &op);
  SmallVector<std::string> getNames(ArrayRef<BlockRow> rows) const;
  std::string getNameOfVariables(unsigned begin, unsigned end) const;
  void setScope(Operation *op, StringRef block);
  int findBlockOfBackward(Operation *op) const;

  Block &body;
  NetworkShape shape;
  /// The operations in `shape`, by their numbers there.
  SmallVector<Operation *, 0> ops;
  llvm::DenseMap<Operation *, unsigned> numbers;
  /// Values that depend on an input, and values that depend on a variable, with one such variable. A parameter is in
  /// `reads` only, an activation in both.
  llvm::DenseSet<Value> fed;
  llvm::DenseMap<Value, net::ReadOp> reads;
  llvm::DenseMap<Operation *, int> blockOf;
  int loops = 0;
};

} // namespace

Network::Network(func::FuncOp graph) : body(graph.getBody().front()) {
  fed.insert(body.args_begin(), body.args_end());
  for (Operation &op : body.without_terminator()) {
    std::optional<net::Role> role = net::getRole(&op);
    if (role != net::Role::Backward && role != net::Role::Optimize)
      add(op);
  }
}

void Network::add(Operation &op) {
  loops += isa<net::LoopOp>(op) ? 1 : isa<net::EndLoopOp>(op) ? -1 : 0;
  auto isFed = [&](Value value) { return fed.contains(value); };
  auto isRead = [&](Value value) { return reads.contains(value); };
  auto isActivation = [&](Value value) { return isFed(value) && isRead(value); };
  auto isParameter = [&](Value value) { return isRead(value) && !isFed(value); };
  auto read = dyn_cast<net::ReadOp>(op);
  bool fromInput = llvm::any_of(op.getOperands(), isFed);
  NetworkShape::Op added;
  llvm::hash_code kind = llvm::hash_combine(op.getName().getAsOpaquePointer(), op.hashProperties());
  for (Value operand : op.getOperands()) {
    kind = llvm::hash_combine(kind, operand.getType(), isParameter(operand));
    if (!read)
      if (net::ReadOp of = reads.lookup(operand))
        for (Value result : op.getResults())
          reads.try_emplace(result, of);
    if (auto known = numbers.find(operand.getDefiningOp()); known != numbers.end())
      added.operands.push_back(known->second);
  }
  for (Value result : op.getResults()) {
    kind = llvm::hash_combine(kind, result.getType());
    if (read)
      reads.try_emplace(result, read);
    if (fromInput)
      fed.insert(result);
    if (isActivation(result))
      added.bytes += getBytes(cast<RankedTensorType>(result.getType()));
  }
  added.kind = kind;
  bool isElementwise = op.hasTrait<OpTrait::Elementwise>();
  added.isAnchor = loops == 0 && llvm::any_of(op.getOperands(), isParameter) && fromInput &&
                   (!isElementwise || llvm::any_of(op.getOperands(), isActivation));
  added.isHeavy = dist::isHeavy(&op);
  added.mayBegin = loops == 0;
  numbers[&op] = ops.size();
  ops.push_back(&op);
  shape.ops.push_back(std::move(added));
}

/// The block in the names of all variables that operations of the range apply to data: `layers.3` for `p.layers.3.w`.
/// Empty if they differ.
std::string Network::getNameOfVariables(unsigned begin, unsigned end) const {
  std::optional<StringRef> name;
  for (unsigned number = begin; number < end; ++number) {
    if (!shape.ops[number].isAnchor)
      continue;
    for (Value operand : ops[number]->getOperands()) {
      auto read = reads.find(operand);
      if (read == reads.end() || fed.contains(operand))
        continue;
      net::ReadOp of = read->second;
      // The first component is the argument with all parameters, which scopes do not have.
      auto [root, path] = splitComponent(of.getVariable());
      StringRef block = findBlock(path.empty() ? root : path);
      if (name.value_or(block) != block)
        return {};
      name = block;
    }
  }
  return name.value_or("").str();
}

SmallVector<std::string> Network::getNames(ArrayRef<BlockRow> rows) const {
  SmallVector<std::string> names;
  llvm::StringSet<> known;
  bool areUnique = true;
  for (const BlockRow &row : rows)
    for (unsigned block = 0; block + 1 < row.size(); ++block) {
      names.push_back(getNameOfVariables(row[block], row[block + 1]));
      areUnique &= !names.back().empty() && known.insert(names.back()).second;
    }
  for (unsigned block = 0; !areUnique && block < names.size(); ++block)
    names[block] = "block" + std::to_string(block);
  return names;
}

void Network::setScope(Operation *op, StringRef block) {
  auto scope = net::kScopeAttr.get(op);
  op->setDiscardableAttr(net::kScopeAttr,
                         StringAttr::get(op->getContext(), joinScopes(block, scope ? scope.getValue() : StringRef())));
}

/// The last block among those that compute an activation that `op` reads and those that read a parameter that `op`
/// reads; -1 if there is none.
int Network::findBlockOfBackward(Operation *op) const {
  int block = -1;
  for (Value operand : op->getOperands()) {
    if (auto made = blockOf.find(operand.getDefiningOp()); made != blockOf.end())
      block = std::max(block, made->second);
    if (reads.contains(operand) && !fed.contains(operand))
      for (Operation *user : operand.getUsers())
        if (auto reader = blockOf.find(user); reader != blockOf.end())
          block = std::max(block, reader->second);
  }
  return block;
}

void Network::setScopes(ArrayRef<BlockRow> rows) {
  SmallVector<std::string> names = getNames(rows);
  int block = 0;
  for (const BlockRow &row : rows)
    for (unsigned index = 0; index + 1 < row.size(); ++index, ++block)
      for (unsigned number = row[index]; number < row[index + 1]; ++number) {
        setScope(ops[number], names[block]);
        if (shape.ops[number].bytes > 0)
          blockOf[ops[number]] = block;
      }
  for (Operation &op : body)
    if (net::getRole(&op) == net::Role::Backward)
      if (int found = findBlockOfBackward(&op); found >= 0)
        setScope(&op, names[found]);
}

namespace {

struct FindBlocks : importer::impl::FindBlocksPassBase<FindBlocks> {
  void runOnOperation() override {
    func::FuncOp graph = findGraph(getOperation());
    if (!graph)
      return signalPassFailure();
    if (llvm::any_of(graph.getBody().front(), hasBlock))
      return markAllAnalysesPreserved();
    Network network(graph);
    SmallVector<BlockRow, 0> rows = findRepeatedBlocks(network.getShape());
    network.setScopes(rows);
    for (const BlockRow &row : rows)
      numBlocks += row.size() - 1;
  }
};

} // namespace
