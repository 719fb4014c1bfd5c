//===- Fiber.cpp - a function that is left and gone on with ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/lib/Fiber/Fiber.h"
#include <cstdlib>
#include <ucontext.h>
#include <utility>

#if __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#endif

using namespace meshwright::test;

/// Tells sanitizers about changes of the stack: each of the functions is called right before or right after one.
struct Fiber::Sanitizers {
#if __has_feature(address_sanitizer)
  explicit Sanitizers(const std::byte *stack) : stack(stack) {}
  void beforeResume() { __sanitizer_start_switch_fiber(&resumerFrames, stack, kStackBytes); }
  void afterResume() { __sanitizer_finish_switch_fiber(resumerFrames, nullptr, nullptr); }
  void beforeSuspend() { __sanitizer_start_switch_fiber(&frames, resumerStack, resumerBytes); }
  void afterSuspend() { __sanitizer_finish_switch_fiber(frames, &resumerStack, &resumerBytes); }

  const std::byte *stack;
  void *frames = nullptr, *resumerFrames = nullptr;
  const void *resumerStack = nullptr;
  size_t resumerBytes = 0;
#elif __has_feature(thread_sanitizer)
  explicit Sanitizers(const std::byte *) : fiber(__tsan_create_fiber(0)) {}
  ~Sanitizers() { __tsan_destroy_fiber(fiber); }
  void beforeResume() {
    resumer = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber, 0);
  }
  void afterResume() {}
  void beforeSuspend() { __tsan_switch_to_fiber(resumer, 0); }
  void afterSuspend() {}

  void *fiber, *resumer = nullptr;
#else
  explicit Sanitizers(const std::byte *) {}
  void beforeResume() {}
  void afterResume() {}
  void beforeSuspend() {}
  void afterSuspend() {}
#endif
};

/// For functions that are left by a jump: the entry code that sanitizers insert would have no matching exit.
#define MW_LEFT_BY_JUMP [[noreturn, gnu::noinline, clang::disable_sanitizer_instrumentation]]

/// The compiler forbids a jump within the function that has marked the place. Like whatever is called between the
/// marking and the way back, it never returns, or the frame of that function would be gone.
MW_LEFT_BY_JUMP static void jump(void **place) { __builtin_longjmp(place, 1); }

Fiber::Fiber() : stack(new std::byte[kStackBytes]), sanitizers(std::make_unique<Sanitizers>(stack.get())) {}
Fiber::~Fiber() = default;

void Fiber::begin(Function next) {
  function = std::move(next);
  isEntered &= done;
  done = false;
}

/// Changes to the empty stack; `swapcontext` would do so every time, but asks the kernel for signals.
MW_LEFT_BY_JUMP void Fiber::enter() {
  isEntered = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  static thread_local Fiber *entered;
  entered = this;
  makecontext(&context, [] { entered->serve(); }, 0);
  setcontext(&context);
  std::abort();
}

/// On the fiber: one function after the other, for ever.
void Fiber::serve() {
  sanitizers->afterSuspend();
  while (true) {
    function();
    done = true;
    suspend();
  }
}

void Fiber::resume() {
  sanitizers->beforeResume();
  if (__builtin_setjmp(resumer) == 0)
    isEntered ? jump(self) : enter();
  sanitizers->afterResume();
}

void Fiber::suspend() {
  sanitizers->beforeSuspend();
  if (__builtin_setjmp(self) == 0)
    jump(resumer);
  sanitizers->afterSuspend();
}
