//===- Fetch.cpp - returns named values -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
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

/// Appends `values` to the results of `func`, under the names of the operations that compute them.
static void appendResults(func::FuncOp func, ArrayRef<Value> values) {
  Operation *terminator = func.getBody().front().getTerminator();
  unsigned first = func.getNumResults();
  SmallVector<Type> results(func.getResultTypes());
  for (Value value : values)
    results.push_back(value.getType());
  terminator->insertOperands(first, values);
  SmallVector<DictionaryAttr> attributes;
  func.getAllResultAttrs(attributes);
  func.setFunctionType(FunctionType::get(func.getContext(), func.getArgumentTypes(), results));
  for (Value value : values) {
    auto name = net::kNameAttr.get(value.getDefiningOp());
    attributes.push_back(DictionaryAttr::get(func.getContext(), NamedAttribute(net::kNameAttr, name)));
  }
  func.setAllResultAttrs(attributes);
}

namespace {

struct FetchPass : train::impl::FetchPassBase<FetchPass> {
  using FetchPassBase::FetchPassBase;
  explicit FetchPass(const FetchOptions &options) : FetchPassBase(options), locations(options.locations) {}

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation());
    if (failed(func))
      return signalPassFailure();
    SmallVector<Value> fetched;
    GlobList globs(values);
    for (Operation &op : func->getBody().front())
      if (StringRef name = net::getUserName(&op); !name.empty() && op.getNumResults() > 0 && globs.match(name))
        fetched.push_back(op.getResult(0));
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
