//===- Kernels.cpp - kernels that were compiled for the host --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads of a block take turns on fibers: one runs until its end or a barrier. As long as no thread reaches a
// barrier one fiber runs them all, one after the other; at a barrier the fiber sleeps and another one goes on with the
// next thread, until all have come.
//
//===----------------------------------------------------------------------===//

#include "DriverStub.h"
#include "test/lib/EmulatedGpu/TensorCore.h"
#include "test/lib/Fiber/Fiber.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace meshwright::stub;

namespace {

using KernelFn = void (*)(void *const *);

struct Function {
  KernelFn address;
  std::string name;
};

struct Module {
  void *library = nullptr;
  /// The text of a PTX module: its functions exist if the stub itself has them.
  std::string ptx;
  /// Ranks that share a module find the same functions at the same time.
  std::mutex mutex;
  std::map<std::string, Function> functions;
  Live live;
};

/// A block while it runs. One at a time on a stream's thread.
class Block {
public:
  Block(KernelFn function, void *const *arguments, uint32_t threads, uint32_t sharedBytes)
      : function(function), arguments(arguments), threads(threads), shared((sharedBytes + 15) / 16 * 2) {}

  void run(uint32_t number) {
    block = number;
    nextThread = 0;
    current = this;
    // Shared memory is uninitialized on a GPU; a pattern makes reads of unwritten elements show.
    std::fill(shared.begin(), shared.end(), 0xa5a5a5a5a5a5a5a5);
    while (nextThread != threads)
      resume(getFiber());
    while (!waiting.empty()) {
      // All have come to the barrier; they go on in the order of their threads.
      std::vector<Turn *> arrived;
      arrived.swap(waiting);
      for (Turn *turn : arrived)
        resume(*turn);
    }
    current = nullptr;
  }

  void wait() {
    waiting.push_back(running);
    running->fiber.suspend();
  }

  uint32_t getThread() const { return running->thread; }

  /// The product of a warp; all warps have one at the same time.
  void multiply(bool isBrain, const uint32_t *words, float *sums) {
    tensorCores.multiply(running->thread, isBrain, words, sums, [this] { wait(); });
  }

  static thread_local Block *current;
  uint32_t block = 0;
  KernelFn function;
  void *const *arguments;
  uint32_t threads;
  std::vector<uint64_t> shared;
  meshwright::test::TensorCores tensorCores;

private:
  /// A fiber and the thread that it runs.
  struct Turn {
    meshwright::test::Fiber fiber;
    uint32_t thread = 0;
  };

  /// One that is to begin with the next thread.
  Turn &getFiber() {
    if (idle.empty()) {
      turns.push_back(std::make_unique<Turn>());
      idle.push_back(turns.back().get());
    }
    Turn &turn = *idle.back();
    idle.pop_back();
    turn.fiber.begin([this] { work(); });
    return turn;
  }

  void resume(Turn &turn) {
    running = &turn;
    turn.fiber.resume();
  }

  /// On a fiber: one thread after the other. After a barrier none is left.
  void work() {
    Turn &turn = *running;
    while (nextThread != threads) {
      turn.thread = nextThread++;
      function(arguments);
    }
    idle.push_back(&turn);
  }

  std::vector<std::unique_ptr<Turn>> turns;
  std::vector<Turn *> idle, waiting;
  Turn *running = nullptr;
  uint32_t nextThread = 0;
};

thread_local Block *Block::current = nullptr;

/// The length of a shared object that lies in memory: the table of sections is its end.
size_t getImageBytes(const void *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  return header.e_shoff + static_cast<size_t>(header.e_shnum) * header.e_shentsize;
}

/// Loads a shared object from memory.
void *load(const void *image) {
  size_t bytes = getImageBytes(image);
  int file = memfd_create("kernels", 0);
  if (file < 0)
    return nullptr;
  void *library = nullptr;
  if (write(file, image, bytes) == static_cast<ssize_t>(bytes))
    library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  close(file);
  return library;
}

/// Opens the stub itself once more.
void *openItself(int flags) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&openItself), &info) == 0)
    return nullptr;
  return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | flags);
}

/// Kernels find the functions below by their names: the stub's have to be visible to what is loaded later.
[[gnu::constructor]] void becomeVisible() { (void)openItself(RTLD_GLOBAL); }

bool isElf(const void *image) { return std::memcmp(image, ELFMAG, SELFMAG) == 0; }

} // namespace

MW_STUB_EXPORT uint32_t mw_emulated_thread(void) { return Block::current->getThread(); }
MW_STUB_EXPORT uint32_t mw_emulated_block(void) { return Block::current->block; }
MW_STUB_EXPORT void mw_emulated_barrier(void) { Block::current->wait(); }
MW_STUB_EXPORT void mw_emulated_multiply(uint32_t isBrain, const uint32_t *words, float *sums) {
  Block::current->multiply(isBrain != 0, words, sums);
}
MW_STUB_EXPORT void *mw_emulated_shared(void) { return Block::current->shared.data(); }

MW_STUB(cuModuleLoadDataEx)(CUmodule *module, const void *image, unsigned, CUjit_option *, void **) {
  Call call("cuModuleLoadDataEx");
  if (call.fails())
    return CUDA_ERROR_INVALID_IMAGE;
  void *library = isElf(image) ? load(image) : openItself(RTLD_LOCAL);
  if (!library)
    return CUDA_ERROR_INVALID_IMAGE;
  auto *made = new Module;
  made->library = library;
  if (!isElf(image))
    made->ptx = static_cast<const char *>(image);
  *module = reinterpret_cast<CUmodule>(made);
  return CUDA_SUCCESS;
}

MW_STUB(cuModuleUnload)(CUmodule module) {
  Call call("cuModuleUnload");
  auto *made = reinterpret_cast<Module *>(module);
  dlclose(made->library);
  delete made;
  return CUDA_SUCCESS;
}

MW_STUB(cuModuleGetFunction)(CUfunction *function, CUmodule handle, const char *name) {
  Call call("cuModuleGetFunction");
  call.note("name", name);
  auto &module = *reinterpret_cast<Module *>(handle);
  bool isDefined = module.ptx.empty() || module.ptx.find(".entry " + std::string(name) + "(") != std::string::npos;
  void *address = call.fails() || !isDefined ? nullptr : dlsym(module.library, name);
  if (!address)
    return CUDA_ERROR_NOT_FOUND;
  std::lock_guard held(module.mutex);
  auto [made, isNew] = module.functions.try_emplace(name, Function{reinterpret_cast<KernelFn>(address), name});
  *function = reinterpret_cast<CUfunction>(&made->second);
  return CUDA_SUCCESS;
}

MW_STUB(cuFuncSetAttribute)(CUfunction, CUfunction_attribute, int value) {
  Call call("cuFuncSetAttribute");
  call.note("value", static_cast<uint64_t>(value));
  return call.fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

MW_STUB(cuLaunchKernel)(CUfunction handle, unsigned blocks, unsigned blocksY, unsigned blocksZ, unsigned threads,
                        unsigned threadsY, unsigned threadsZ, unsigned sharedBytes, CUstream stream, void **,
                        void **extra) {
  Call call("cuLaunchKernel");
  auto &function = *reinterpret_cast<Function *>(handle);
  call.note("stream", getStream(stream).id).note("function", function.name);
  if (call.fails())
    return CUDA_ERROR_LAUNCH_FAILED;
  if (blocks == 0 || threads == 0 || threads > 1024 || blocksY * blocksZ * threadsY * threadsZ != 1 || !extra)
    return CUDA_ERROR_INVALID_VALUE;
  // One block of arguments: its address, then its length.
  size_t bytes = *static_cast<size_t *>(extra[3]);
  std::vector<void *> arguments(bytes / sizeof(void *));
  std::memcpy(arguments.data(), extra[1], bytes);
  // The arguments of a list with room for more end at the last one that is not null.
  auto end = std::find_if(arguments.rbegin(), arguments.rend(), [](void *argument) { return argument; }).base();
  for (auto argument = arguments.begin(); argument != end; ++argument)
    call.note("argument", *argument);
  getStream(stream).push([=, address = function.address] {
    Block block(address, arguments.data(), threads, sharedBytes);
    for (unsigned number = 0; number != blocks; ++number)
      block.run(number);
  });
  return CUDA_SUCCESS;
}
