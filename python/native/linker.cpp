//===- linker.cpp - the linker of kernels, in the wheel's library ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wheel has all of LLVM that it needs in one library, lld for kernels as well. `meshwright-ld` beside the library
// is a process of its own that calls it, as the compiler calls linkers: lld keeps state in globals, and threads compile
// at the same time.
//
//===----------------------------------------------------------------------===//

#include "lld/Common/Driver.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

/// Debian's LLVM asks for this extension where lld optimizes whole programs, which kernels are not.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", LLVM_VERSION_STRING, [](llvm::PassBuilder &) {}};
}

extern "C" int mwLinkerMain(int argc, const char **argv) {
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  return lld::lldMain(llvm::ArrayRef(argv, static_cast<size_t>(argc)), llvm::outs(), llvm::errs(), drivers).retCode;
}
