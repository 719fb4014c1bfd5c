//===- RealStableHLO.cpp - a registered dialect of StableHLO's name -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/RealStableHLO/RealStableHLO.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

static ParseResult parseDims(AsmParser &parser, SmallVector<int64_t> &dims) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(dims.emplace_back()); });
}

static void printDims(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  printer << "[";
  llvm::interleaveComma(dims, printer);
  printer << "]";
}

#include "test/lib/RealStableHLO/RealDialect.cpp.inc"
#include "test/lib/RealStableHLO/RealEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "test/lib/RealStableHLO/RealAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "test/lib/RealStableHLO/RealOps.cpp.inc"

void real::RealDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "test/lib/RealStableHLO/RealAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "test/lib/RealStableHLO/RealOps.cpp.inc"
      >();
}
