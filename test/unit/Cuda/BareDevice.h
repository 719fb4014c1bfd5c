//===- BareDevice.h - a GPU without a program -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEST_UNIT_CUDA_BAREDEVICE_H
#define MESHWRIGHT_TEST_UNIT_CUDA_BAREDEVICE_H

#include "StubRun.h"
#include "meshwright/runtime/Cuda.h"
#include "meshwright/runtime/Inproc.h"
#include "meshwright/runtime/SchemaVersion.h"

namespace meshwright::test {

/// A device without a program.
struct BareDevice {
  BareDevice() {
    Package message;
    message.set_version(runtime::schemaVersion);
    message.add_programs();
    message.add_program_of_rank(0);
    package.emplace(std::move(*runtime::LoadedPackage::create(std::move(message), "none", std::nullopt)));
    auto created = runtime::cudaKind.createPlatform(*package, *world, 1, {});
    EXPECT_TRUE(created.ok()) << created.status().message();
    platform = std::move(*created);
    device = std::move(*platform->createDevice(0));
  }

  Stub stub;
  std::unique_ptr<runtime::World> world = runtime::createLocalWorld();
  std::optional<runtime::LoadedPackage> package;
  std::unique_ptr<runtime::Platform> platform;
  std::unique_ptr<runtime::Device> device;
};

} // namespace meshwright::test

#endif
