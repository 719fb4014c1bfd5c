//===- StubRun.cpp - tests on a GPU that is none --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubRun.h"
#include "meshwright/runtime/Cuda.h"
#include "test/unit/Random.h"
#include <dlfcn.h>
#include <fstream>
#include <sstream>

using namespace meshwright;
using namespace meshwright::runtime;
using namespace meshwright::test;

static constexpr const char *libraries[] = {"MESHWRIGHT_CUDA_LIBRARY", "MESHWRIGHT_CUBLASLT_LIBRARY",
                                            "MESHWRIGHT_NCCL_LIBRARY"};

std::string RecordedCall::getText(const std::string &name) const {
  for (const auto &[key, value] : values)
    if (key == name)
      return value;
  return "";
}

uint64_t RecordedCall::get(const std::string &name) const {
  std::string text = getText(name);
  return text.empty() ? 0 : std::stoull(text);
}

Stub::Stub() {
  if (std::getenv("MESHWRIGHT_TEST_GPU"))
    return;
  for (const char *variable : libraries)
    setenv(variable, MESHWRIGHT_CUDA_STUB, 1);
  library = std::shared_ptr<void>(dlopen(MESHWRIGHT_CUDA_STUB, RTLD_NOW | RTLD_LOCAL), [](void *handle) {
    if (handle)
      dlclose(handle);
  });
  EXPECT_TRUE(library) << dlerror();
  failNothing();
}

Stub::~Stub() {
  if (!library)
    return;
  for (const char *variable : libraries)
    unsetenv(variable);
  unsetenv("MESHWRIGHT_STUB_TRACE");
  failNothing();
}

void Stub::reset() const {
  auto *function = reinterpret_cast<void (*)()>(dlsym(library.get(), "mw_stub_reset"));
  ASSERT_TRUE(function);
  function();
}

void Stub::record() {
  setenv("MESHWRIGHT_STUB_TRACE", (folder / "trace").c_str(), 1);
  reset();
}

Trace Stub::getTrace() const {
  Trace trace;
  std::ifstream file(folder / "trace");
  for (std::string line; std::getline(file, line);) {
    RecordedCall &call = trace.emplace_back();
    std::istringstream words(line);
    uint64_t number;
    words >> number >> call.thread >> call.function;
    for (std::string word; words >> word;) {
      size_t equals = word.find('=');
      call.values.push_back({word.substr(0, equals), word.substr(equals + 1)});
    }
    call.hasFailed = call.get("failed") != 0;
  }
  return trace;
}

void Stub::fail(const std::string &function, uint64_t call) {
  setenv("MESHWRIGHT_STUB_FAIL", fmt::format("{}:{}", function, call).c_str(), 1);
  reset();
}

void Stub::failNothing() {
  unsetenv("MESHWRIGHT_STUB_FAIL");
  reset();
}

uint64_t Stub::countLive() const {
  return reinterpret_cast<uint64_t (*)()>(dlsym(library.get(), "mw_stub_count_live"))();
}

std::string_view meshwright::test::getName(StubMode mode) {
  constexpr std::string_view names[] = {"issued", "recorded", "on one GPU"};
  return names[static_cast<size_t>(mode)];
}

SessionOptions meshwright::test::makeStubOptions(StubMode mode) {
  SessionOptions options;
  options.device = &cudaKind;
  options.platform.target = "emulated";
  options.platform.backend = mode == StubMode::OneGpu ? "onegpu" : "nccl";
  options.platform.recordsSteps = mode == StubMode::Recorded;
  return options;
}

void meshwright::test::fillWithNumbers(Session &session, uint64_t seed) {
  Random random(seed);
  for (const ValueSet *set : {&session.getVariables(), &session.getInputs()})
    for (size_t i = 0; i != set->size(); ++i) {
      std::vector<float> values(set->getBytes(i) / sizeof(float));
      for (float &value : values)
        value = static_cast<float>(random.pick(-3, 3));
      session.scatter(*set, i, std::as_bytes(std::span(values)));
    }
}

std::vector<std::string> meshwright::test::listValues(const LoadedPackage &package) {
  std::vector<std::string> names;
  for (const Port &port : package.message().outputs())
    names.push_back(port.name());
  for (const Variable &variable : package.message().variables())
    names.push_back(variable.name());
  return names;
}

std::vector<std::byte> meshwright::test::readEverything(const Session &session) {
  std::vector<std::byte> all;
  for (const ValueSet *set : {&session.getVariables(), &session.getOutputs()})
    for (size_t i = 0; i != set->size(); ++i) {
      std::vector<std::byte> value(set->getBytes(i));
      Status status = session.gather(*set, i, value);
      EXPECT_TRUE(status.ok()) << status.message();
      all.insert(all.end(), value.begin(), value.end());
    }
  return all;
}
