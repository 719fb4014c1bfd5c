//===- Json.h - JSON without exceptions -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nlohmann::json with the runtime's errors: parsing that reports, refuses a key twice and stops at a depth, and
// printing that never throws.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_JSON_H
#define MESHWRIGHT_RUNTIME_JSON_H

#include "meshwright/runtime/Status.h"
#include <nlohmann/json.hpp>
#include <string_view>

namespace meshwright::runtime {

using Json = nlohmann::json;
/// Objects keep the order in which their keys were set; for printing (looking a key up is linear).
using OrderedJson = nlohmann::ordered_json;

/// Parses a document that may be hostile: errors name the byte; nesting beyond 64 and equal keys are errors.
Result<Json> parseJson(std::string_view text);

/// On one line; bytes that are no UTF-8 become the replacement character.
template <typename J> std::string toText(const J &value) {
  return value.dump(-1, ' ', false, J::error_handler_t::replace);
}

} // namespace meshwright::runtime

#endif
