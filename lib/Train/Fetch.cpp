//===- Fetch.cpp - returns named values -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "dialects/Net/Loops.h"
#include "meshwright/Support/Glob.h"
#include "meshwright/Train/Passes.h"

#define DEBUG_TYPE "dist-train-fetch"

namespace meshwright::train {
#define GEN_PASS_DEF_FETCHPASS
#include "meshwright/Train/Passes.h.inc"
} // namespace meshwright::train

using namespace mlir;
using namespace meshwright;
using namespace meshwright::train;

/// Appends values to the results of `func`, under their names.
static void appendResults(func::FuncOp func, ArrayRef<std::pair<std::string, Value>> values) {
  Operation *terminator = func.getBody().front().getTerminator();
  unsigned first = func.getNumResults();
  SmallVector<Type> results(func.getResultTypes());
  for (const auto &[name, value] : values)
    results.push_back(value.getType());
  terminator->insertOperands(first, llvm::map_to_vector(values, [](const auto &named) { return named.second; }));
  SmallVector<DictionaryAttr> attributes;
  func.getAllResultAttrs(attributes);
  func.setFunctionType(FunctionType::get(func.getContext(), func.getArgumentTypes(), results));
  Builder builder(func.getContext());
  for (const auto &[name, value] : values)
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(net::kNameAttr, builder.getStringAttr(name))));
  func.setAllResultAttrs(attributes);
}

/// `forward/h.0.attn` for an operation of that scope whose result may be returned and has no name of its own; else
/// empty. Values of iterations are not results of the step.
static std::string getScopeName(Operation *op, const net::LoopNest &loops) {
  std::optional<net::Role> role = net::getRole(op);
  auto scope = net::kScopeAttr.get(op);
  if (!scope || (role != net::Role::Forward && role != net::Role::Backward) || op->getNumResults() == 0 ||
      op->hasTrait<OpTrait::ConstantLike>() || !net::getUserName(op).empty() || loops.getLoop(op))
    return "";
  return (net::stringifyRole(*role) + "/" + scope.getValue()).str();
}

/// The last operation of every scope, in forward and in backward, with the name of its result.
static llvm::DenseMap<Operation *, std::string> findLastOfScopes(func::FuncOp func) {
  net::LoopNest loops = net::LoopNest::findBodies(func.getBody().front());
  llvm::StringMap<Operation *> last;
  for (Operation &op : func.getBody().front())
    if (std::string name = getScopeName(&op, loops); !name.empty())
      last[name] = &op;
  llvm::DenseMap<Operation *, std::string> names;
  for (const auto &entry : last)
    names[entry.second] = entry.getKey().str();
  return names;
}

namespace {

struct FetchPass : train::impl::FetchPassBase<FetchPass> {
  using FetchPassBase::FetchPassBase;
  explicit FetchPass(const FetchOptions &options) : FetchPassBase(options), locations(options.locations) {}

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    SmallVector<std::pair<std::string, Value>> fetched;
    GlobList globs(values);
    // A glob over all names is not one over all scopes.
    std::vector<std::string> ofScopes;
    llvm::copy_if(values, std::back_inserter(ofScopes),
                  [](StringRef glob) { return glob.starts_with("forward/") || glob.starts_with("backward/"); });
    GlobList scopeGlobs(ofScopes);
    llvm::DenseMap<Operation *, std::string> scopes;
    if (!ofScopes.empty())
      scopes = findLastOfScopes(*func);
    for (Operation &op : func->getBody().front()) {
      if (StringRef name = net::getUserName(&op); !name.empty() && op.getNumResults() > 0 && globs.match(name))
        fetched.push_back({name.str(), op.getResult(0)});
      else if (auto scope = scopes.find(&op); scope != scopes.end() && scopeGlobs.match(StringRef(scope->second))) {
        globs.match(StringRef(scope->second));
        fetched.push_back({scope->second, op.getResult(0)});
      }
    }
    if (failed(verifyAllUsed(getOperation(), globs, "fetch", "named values", locations)))
      return signalPassFailure();
    warnOfGlobsWithoutEffect(getOperation(), globs, "fetch", "earlier globs match all that it matches", locations);
    appendResults(*func, fetched);
  }

  /// The locations of the globs in `values`.
  std::vector<Location> locations;
};

} // namespace

std::unique_ptr<Pass> train::createFetchPass(const FetchOptions &options) {
  return std::make_unique<FetchPass>(options);
}
