//===- CheckpointFuzzer.cpp - any bytes as the index of a checkpoint ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "meshwright/runtime/CheckpointIndex.h"
#include "meshwright/runtime/Checksum.h"
#include "meshwright/runtime/Json.h"

using namespace meshwright::runtime;

/// The index with the checksum that its content has, so that what it guards is reached.
static std::string repairChecksum(std::string_view text) {
  auto root = parseJson(text);
  if (!root.ok() || !root->is_object() || !root->contains("content"))
    return std::string(text);
  std::string content = toText((*root)["content"]);
  (*root)["checksum"] = formatChecksum(computeChecksum(std::as_bytes(std::span(content))));
  return toText(*root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  (void)CheckpointIndex::parse(text);
  (void)CheckpointIndex::parse(repairChecksum(text));
  return 0;
}
