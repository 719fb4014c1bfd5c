//===- EpilogueTable.cpp - which products have an epilogue ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/EpilogueTable.h"

using namespace meshwright;
using namespace meshwright::emit;

void EpilogueTable::add(const Instruction &product, std::string epilogue, std::string reason) {
  entries.insert({product.name(), product.location(), std::move(epilogue), std::move(reason)});
}
