//===- Fiber.h - a function that is left and gone on with -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emulated threads of a GPU change places at every barrier, millions of times in a test, so changing must not ask the
// kernel of the system; sanitizers are told what stack is in use.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_LIB_FIBER_FIBER_H
#define MESHWRIGHT_TEST_LIB_FIBER_FIBER_H

#include <cstddef>
#include <functional>
#include <memory>

namespace meshwright::test {

/// A function with a stack of its own. All calls of one fiber come from one thread.
class Fiber {
public:
  using Function = std::function<void()>;

  Fiber();
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// The next `resume` begins `function`. What ran before must be over, or is forgotten where it stands; what lies on
  /// its stack is not destroyed then.
  void begin(Function function);
  /// Goes on with the function, up to where it suspends itself or ends. Not called on the fiber.
  void resume();
  /// Goes back to who resumed the fiber. Called on the fiber.
  void suspend();
  /// True if the function has returned.
  bool isDone() const { return done; }

private:
  struct Sanitizers;

  [[noreturn]] void enter();
  [[noreturn]] void serve();

  static constexpr size_t kStackBytes = 256 << 10;
  /// The position in the code that the compiler's builtin jump saves.
  using Place = void *[5];

  Function function;
  bool isEntered = false, done = true;
  std::unique_ptr<std::byte[]> stack;
  Place self, resumer;
  std::unique_ptr<Sanitizers> sanitizers;
};

} // namespace meshwright::test

#endif
