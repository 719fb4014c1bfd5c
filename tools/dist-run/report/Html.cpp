//===- Html.cpp - text in HTML --------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Html.h"
#include "meshwright/runtime/Json.h"

using namespace meshwright;
using namespace meshwright::tool;

static constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

static std::string escapeCharacter(char c) {
  switch (c) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  }
  bool isControl = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  return isControl && c != '\n' && c != '\t' ? std::string(kReplacement) : std::string(1, c);
}

std::string meshwright::tool::escapeHtml(std::string_view text) {
  // The printer of JSON knows what is UTF-8; what it prints is read back without exceptions.
  std::string valid = runtime::Json::parse(runtime::toText(runtime::Json(text)), nullptr, false).get<std::string>();
  std::string result;
  for (char c : valid)
    result += escapeCharacter(c);
  return result;
}

std::string meshwright::tool::escapeScript(std::string json) {
  for (size_t at = json.find('<'); at != std::string::npos; at = json.find('<', at))
    json.replace(at, 1, "\\u003c");
  return json;
}
