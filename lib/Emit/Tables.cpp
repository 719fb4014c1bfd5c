//===- Tables.cpp - tables that programs share ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"
#include "meshwright/Kernels/PlannedKernel.h"
#include "meshwright/Support/Bytes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;

StringRef KernelTable::getSymbol(dist::KernelOp kernel, int64_t alignment) {
  std::string text = schedule::getKernelText(kernel);
  auto [entry, isNew] = known.try_emplace(text, jobs.size());
  if (isNew) {
    // The last operation says what the kernel is about; a hash gives equal kernels of all packages one name.
    Block &body = kernel.getBody().front();
    StringRef last = body.getOperations().size() > 1 ? std::prev(body.end(), 2)->getName().stripDialect() : "copy";
    jobs.push_back({kernel, llvm::formatv("{0}_{1:x-12}", last, llvm::xxh3_64bits(text) >> 16).str()});
  }
  KernelJob &job = jobs[entry->second];
  job.alignment = std::min(job.alignment, alignment);
  return job.symbol;
}

uint64_t ConstantTable::add(ElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::string data;
  unsigned size = getElementBytes(type.getElementType());
  auto append = [&](APInt number) {
    number = number.zextOrTrunc(size * 8);
    for (unsigned byte = 0; byte < size; ++byte)
      data.push_back(static_cast<char>(number.extractBitsAsZExtValue(8, byte * 8)));
  };
  if (isa<FloatType>(type.getElementType()))
    for (APFloat number : value.getValues<APFloat>())
      append(number.bitcastToAPInt());
  else
    for (APInt number : value.getValues<APInt>())
      append(number);
  auto [entry, isNew] = known.try_emplace(data, 0);
  if (isNew) {
    bytes.resize(llvm::alignTo(bytes.size(), 64), '\0');
    entry->second = bytes.size();
    bytes += data;
  }
  return entry->second;
}
