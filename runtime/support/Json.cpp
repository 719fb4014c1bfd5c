//===- Json.cpp - JSON without exceptions ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Json.h"
#include <cassert>
#include <vector>

using namespace meshwright::runtime;

static constexpr size_t maxDepth = 64;

namespace {

/// Builds the document from the parser's events and keeps the first error.
class Builder : public nlohmann::json_sax<Json> {
public:
  Json root;
  Status error;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override { return add(value); }
  bool string(string_t &value) override { return add(std::move(value)); }
  bool binary(binary_t &) override {
    assert(false && "text has no binary values");
    return false;
  }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t &name) override {
    if (stack.back()->contains(name))
      return fail(fmt::format("the key {} occurs twice in one object", toText(Json(name))));
    keys.back() = name;
    return true;
  }
  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &) override {
    return fail(fmt::format("byte {} of the JSON is not what its grammar wants there", position));
  }

private:
  bool fail(std::string message) {
    error = Status(Code::Input, std::move(message));
    return false;
  }
  Json *place(Json value) {
    if (stack.empty())
      return &(root = std::move(value));
    if (stack.back()->is_array()) {
      stack.back()->push_back(std::move(value));
      return &stack.back()->back();
    }
    return &((*stack.back())[keys.back()] = std::move(value));
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json container) {
    if (stack.size() == maxDepth)
      return fail(fmt::format("the JSON is nested deeper than {}", maxDepth));
    stack.push_back(place(std::move(container)));
    keys.emplace_back();
    return true;
  }
  bool close() {
    stack.pop_back();
    keys.pop_back();
    return true;
  }

  // An element's address stays valid while it is open: its container grows only after it is closed.
  std::vector<Json *> stack;
  std::vector<std::string> keys;
};

} // namespace

Result<Json> meshwright::runtime::parseJson(std::string_view text) {
  Builder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder))
    return builder.error;
  return std::move(builder.root);
}
