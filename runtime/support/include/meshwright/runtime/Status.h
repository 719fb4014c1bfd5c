//===- Status.h - errors are values -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing in the runtime throws or aborts on input. A function that can fail returns a Status, or a Result with the
// value it makes; the message says what was found and what was wanted.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_STATUS_H
#define MESHWRIGHT_RUNTIME_STATUS_H

#include <cassert>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

namespace meshwright::runtime {

/// The kind of an error; the value is the exit code of a process that ends with it.
enum class Code { Ok = 0, Input = 1, Usage = 2, CheckFailed = 3, Fault = 4 };

/// Success, or an error with a message of one sentence (lower-case start, no full stop).
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message) : errorCode(code), text(std::move(message)) {}

  bool ok() const { return errorCode == Code::Ok; }
  Code code() const { return errorCode; }
  const std::string &message() const { return text; }
  /// The same error with `context` and a colon before its message; success stays success.
  Status within(const std::string &context) const { return ok() ? *this : Status(errorCode, context + ": " + text); }

private:
  Code errorCode = Code::Ok;
  std::string text;
};

/// A value, or the error that prevented it.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : content(std::move(value)) {}
  Result(Status status) : failure(std::move(status)) {
    assert(!failure.ok() && "a result without a value is an error");
  }

  bool ok() const { return content.has_value(); }
  const Status &status() const { return failure; }
  T &operator*() { return *content; }
  const T &operator*() const { return *content; }
  T *operator->() { return &*content; }
  const T *operator->() const { return &*content; }

private:
  std::optional<T> content;
  Status failure;
};

/// The input (a package, a file, a value fed) is at fault.
template <typename... Args> Status inputError(fmt::format_string<Args...> format, Args &&...args) {
  return Status(Code::Input, fmt::format(format, std::forward<Args>(args)...));
}
/// The command line is at fault.
template <typename... Args> Status usageError(fmt::format_string<Args...> format, Args &&...args) {
  return Status(Code::Usage, fmt::format(format, std::forward<Args>(args)...));
}
/// Something broke while running.
template <typename... Args> Status faultError(fmt::format_string<Args...> format, Args &&...args) {
  return Status(Code::Fault, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace meshwright::runtime

/// Returns the error of a Status from the enclosing function.
#define MW_TRY(expression)                                                                                             \
  do {                                                                                                                 \
    if (auto mwStatus = (expression); !mwStatus.ok())                                                                  \
      return mwStatus;                                                                                                 \
  } while (false)

/// Declares a variable from a Result, or returns its error from the enclosing function.
#define MW_TRY_ASSIGN(declaration, expression)                                                                         \
  MW_TRY_ASSIGN_IMPL(MW_CONCAT(mwResult, __LINE__), declaration, expression)
#define MW_CONCAT_IMPL(a, b) a##b
#define MW_CONCAT(a, b) MW_CONCAT_IMPL(a, b)
#define MW_TRY_ASSIGN_IMPL(result, declaration, expression)                                                            \
  auto result = (expression);                                                                                          \
  if (!result.ok())                                                                                                    \
    return result.status();                                                                                            \
  declaration = std::move(*result)

#endif
