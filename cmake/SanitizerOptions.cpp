//===- SanitizerOptions.cpp - how sanitizers behave in our programs -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of every executable of a build with sanitizers, whose runtimes call these functions. What is switched off here
// is switched off because libraries are not instrumented; ASAN_OPTIONS, UBSAN_OPTIONS and TSAN_OPTIONS add to it.
//
//===----------------------------------------------------------------------===//

#include <dlfcn.h>

#define MESHWRIGHT_EXPORT extern "C" __attribute__((visibility("default"), used))

// An exit status of its own: no tool ends with it, so none is taken for an error that a test expects.
//
// allow_user_poisoning: LLVM's allocators are inline and poison, in our code, memory that LLVM's library goes on to
// use. use_sigaltstack: LLVM's handlers of crashes replace the stack for signals, and the sanitizer would unmap theirs at
// the end of a thread. max_allocation_size_mb: who asks for more than 16 GiB has not checked a size.
MESHWRIGHT_EXPORT const char *__asan_default_options() {
  return "exitcode=99:allow_user_poisoning=0:handle_abort=1:use_sigaltstack=0:max_allocation_size_mb=16384";
}

// MPI ends without giving back what it has allocated, in libraries that are unloaded by then: there is no name to
// suppress it by. Where MPI is, leaks are not looked for.
MESHWRIGHT_EXPORT int __lsan_is_turned_off() { return dlsym(RTLD_DEFAULT, "MPI_Init_thread") != nullptr; }

MESHWRIGHT_EXPORT const char *__ubsan_default_options() { return "exitcode=99:print_stacktrace=1"; }

// ignore_noninstrumented_modules: LLVM, oneDNN and MPI order by atomics, invisible here, what they copy and free.
MESHWRIGHT_EXPORT const char *__tsan_default_options() {
  return "exitcode=99:ignore_noninstrumented_modules=1:second_deadlock_stack=1";
}
