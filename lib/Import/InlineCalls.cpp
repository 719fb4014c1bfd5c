//===- InlineCalls.cpp - inlining of private functions --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes calls from a worklist in order; a copied body appends its own calls. Every operation is copied once, to its
// final place, however deeply calls are nested. Recursion and the number of resulting operations are checked before: a
// chain of functions that each call the next one twice doubles the operations with every link.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Passes.h"
#include "meshwright/StableHLO/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::importer;

namespace meshwright::importer {
#define GEN_PASS_DEF_INLINECALLSPASS
#include "meshwright/Import/Passes.h.inc"
} // namespace meshwright::importer

static constexpr int64_t kMaxOperations = 10'000'000;

static SmallVector<func::CallOp> getCalls(Operation *op) {
  SmallVector<func::CallOp> calls;
  op->walk<WalkOrder::PreOrder>([&](func::CallOp call) { calls.push_back(call); });
  return calls;
}

namespace {

/// Functions and their calls, traversed without recursion.
class CallGraph {
public:
  explicit CallGraph(ModuleOp module) : symbols(module) {}

  func::FuncOp getCallee(func::CallOp call) const { return symbols.lookup<func::FuncOp>(call.getCallee()); }

  /// Checks that every called function has a body of one block, that there is no recursion, and that the number of
  /// operations stays below the limit.
  LogicalResult verify(func::FuncOp graph) {
    SmallVector<func::FuncOp> stack = {graph};
    while (!stack.empty()) {
      func::FuncOp func = stack.back();
      auto [entry, isNew] = states.try_emplace(func.getOperation());
      State &state = entry->second;
      if (isNew) {
        if (failed(enter(func, state)))
          return failure();
      }
      if (state.next == state.calls.size()) {
        state.isDone = true;
        stack.pop_back();
        continue;
      }
      func::CallOp call = state.calls[state.next];
      func::FuncOp callee = getCallee(call);
      if (!callee)
        return call.emitError() << "calls @" << call.getCallee() << ", which is not a function of the module";
      auto known = states.find(callee.getOperation());
      if (known == states.end()) {
        stack.push_back(callee);
        continue;
      }
      if (!known->second.isDone)
        return call.emitError() << "@" << call.getCallee() << " calls itself; calls are inlined and have to end";
      ++state.next;
      state.size += known->second.size;
      if (state.size > kMaxOperations)
        return call.emitError() << "inlining makes more than " << kMaxOperations << " operations";
    }
    return success();
  }

private:
  struct State {
    SmallVector<func::CallOp> calls;
    size_t next = 0;
    int64_t size = 0;
    bool isDone = false;
  };

  static LogicalResult enter(func::FuncOp func, State &state) {
    if (failed(verifyBody(func)))
      return failure();
    state.calls = getCalls(func);
    state.size = std::distance(func.getBody().front().begin(), func.getBody().front().end());
    return success();
  }

  SymbolTable symbols;
  llvm::DenseMap<Operation *, State> states;
};

/// Replaces composite operations by calls of their decompositions, so that the composite itself need not be known.
LogicalResult callDecompositions(ModuleOp module) {
  SymbolTable symbols(module);
  auto result = module.walk([&](Operation *op) {
    if (op->getName().getStringRef() != "stablehlo.composite")
      return WalkResult::advance();
    auto name = op->getAttrOfType<FlatSymbolRefAttr>("decomposition");
    auto callee = name ? symbols.lookup<func::FuncOp>(name.getValue()) : func::FuncOp();
    if (!callee || callee.getArgumentTypes() != op->getOperandTypes() ||
        callee.getResultTypes() != op->getResultTypes()) {
      op->emitError() << "stablehlo.composite has no function of its operands and results as \"decomposition\"";
      return WalkResult::interrupt();
    }
    OpBuilder builder(op);
    auto call = func::CallOp::create(builder, op->getLoc(), callee, op->getOperands());
    addAttributes(call, getInherited(op, Inherit::Companion));
    op->replaceAllUsesWith(call.getResults());
    op->erase();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Moves the function in `called_computations` of a custom call into a region, the form that comparators and combiners
/// of other operations have.
LogicalResult takeComputations(ModuleOp module) {
  SymbolTable symbols(module);
  auto result = module.walk([&](Operation *op) {
    auto names = op->getAttrOfType<ArrayAttr>("called_computations");
    if (op->getName().getStringRef() != "stablehlo.custom_call" || !names || names.empty())
      return WalkResult::advance();
    auto name = dyn_cast<FlatSymbolRefAttr>(names[0]);
    auto function = name ? symbols.lookup<func::FuncOp>(name.getValue()) : func::FuncOp();
    if (names.size() != 1 || !function || !isComputation(function)) {
      op->emitError() << "stablehlo.custom_call has called_computations " << names
                      << ", which are not one function that ends with stablehlo.return";
      return WalkResult::interrupt();
    }
    OpBuilder builder(op);
    OperationState state(op->getLoc(), op->getName(), op->getOperands(), op->getResultTypes(), op->getAttrs());
    state.attributes.erase("called_computations");
    IRMapping mapping;
    function.getBody().cloneInto(state.addRegion(), mapping);
    op->replaceAllUsesWith(builder.create(state)->getResults());
    op->erase();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

struct InlineCalls : importer::impl::InlineCallsPassBase<InlineCalls> {
  void runOnOperation() override {
    func::FuncOp graph = findGraph(getOperation());
    if (!graph || failed(callDecompositions(getOperation())) || failed(takeComputations(getOperation())))
      return signalPassFailure();
    CallGraph calls(getOperation());
    if (failed(calls.verify(graph)))
      return signalPassFailure();
    SmallVector<func::CallOp> list = getCalls(graph);
    for (size_t next = 0; next < list.size(); ++next) {
      func::CallOp call = list[next];
      inlineCall(call, calls.getCallee(call), list);
      ++numInlined;
    }
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (func != graph)
        func.erase();
  }

  void inlineCall(func::CallOp call, func::FuncOp callee, SmallVectorImpl<func::CallOp> &list) {
    auto outer = net::kScopeAttr.get(call);
    Block &body = callee.getBody().front();
    OpBuilder builder(call);
    IRMapping mapping;
    mapping.map(body.getArguments(), call.getOperands());
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      copy->walk<WalkOrder::PreOrder>([&](Operation *inner) {
        place(inner, outer ? outer.getValue() : StringRef(), call);
        if (auto nested = dyn_cast<func::CallOp>(inner))
          list.push_back(nested);
      });
    }
    for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.erase();
  }

  /// Prefixes the scope of the call, and adds its role and location to the operation.
  static void place(Operation *op, StringRef outer, func::CallOp call) {
    auto inner = net::kScopeAttr.get(op);
    std::string scope = joinScopes(outer, inner ? inner.getValue() : StringRef());
    if (!scope.empty())
      net::kScopeAttr.set(op, StringAttr::get(op->getContext(), scope));
    if (std::optional<net::Role> role = net::getRole(call); role && role != net::Role::Forward)
      net::setRole(op, *role);
    op->setLoc(CallSiteLoc::get(op->getLoc(), call.getLoc()));
  }
};

} // namespace
