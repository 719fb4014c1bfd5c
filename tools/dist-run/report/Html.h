//===- Html.h - text in HTML ------------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_DISTRUN_REPORT_HTML_H
#define MESHWRIGHT_TOOLS_DISTRUN_REPORT_HTML_H

#include <string>
#include <string_view>

namespace meshwright::tool {

/// `text` inside of an element or a quoted attribute. What HTML gives a meaning to is escaped; what it cannot hold
/// (control characters, bytes that are no UTF-8) becomes the replacement character.
std::string escapeHtml(std::string_view text);

/// `json` inside of a script element, where no tag may begin.
std::string escapeScript(std::string json);

} // namespace meshwright::tool

#endif
