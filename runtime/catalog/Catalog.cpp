//===- Catalog.cpp - the backends and devices of this build ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "meshwright/runtime/Catalog.h"
#include "meshwright/runtime/Cpu.h"
#include "meshwright/runtime/Cuda.h"
#include "meshwright/runtime/Inproc.h"
#include "meshwright/runtime/MpiWorld.h"
#include "meshwright/runtime/TcpWorld.h"
#include <fmt/ranges.h>

using namespace meshwright::runtime;

std::span<const WorldKind *const> meshwright::runtime::getWorldKinds() {
  static constexpr const WorldKind *kinds[] = {&inprocKind, &tcpKind, &mpiKind};
  return kinds;
}

std::span<const DeviceKind *const> meshwright::runtime::getDeviceKinds() {
  static constexpr const DeviceKind *kinds[] = {&cpuKind, &cudaKind};
  return kinds;
}

template <typename Kind> static const Kind *find(std::span<const Kind *const> kinds, std::string_view name) {
  for (const Kind *kind : kinds)
    if (kind->name == name)
      return kind;
  return nullptr;
}

const WorldKind *meshwright::runtime::findWorldKind(std::string_view name) { return find(getWorldKinds(), name); }
const DeviceKind *meshwright::runtime::findDeviceKind(std::string_view name) { return find(getDeviceKinds(), name); }

const DeviceKind *meshwright::runtime::findDeviceKindOfBackend(std::string_view backend) {
  for (const DeviceKind *kind : getDeviceKinds())
    if (!backend.empty() && kind->findBackend(backend))
      return kind;
  return nullptr;
}

template <typename Kind> static std::vector<std::string_view> getNames(std::span<const Kind *const> kinds) {
  std::vector<std::string_view> names;
  for (const Kind *kind : kinds)
    names.push_back(kind->name);
  return names;
}

std::vector<std::string_view> meshwright::runtime::getWorldNames() { return getNames(getWorldKinds()); }
std::vector<std::string_view> meshwright::runtime::getDeviceNames() { return getNames(getDeviceKinds()); }

std::vector<std::string_view> meshwright::runtime::getBackendNames() {
  std::vector<std::string_view> names = getWorldNames();
  for (const DeviceKind *kind : getDeviceKinds())
    for (const DeviceBackend &backend : kind->backends)
      names.push_back(backend.name);
  return names;
}

std::string meshwright::runtime::joinNames(std::span<const std::string_view> names) {
  if (names.size() < 2)
    return names.empty() ? "" : std::string(names[0]);
  return fmt::format("{} and {}", fmt::join(names.first(names.size() - 1), ", "), names.back());
}

Result<std::unique_ptr<World>> meshwright::runtime::openWorld(std::string_view name, const WorldOptions &options) {
  const WorldKind *kind = findWorldKind(name);
  if (!kind)
    return usageError("there is no world \"{}\"; there are {}", name, joinNames(getWorldNames()));
  return kind->open(options);
}

std::vector<std::string> meshwright::runtime::listBackends() {
  std::vector<std::string> backends;
  for (const WorldKind *kind : getWorldKinds()) {
    Result<std::string> library = kind->findLibrary ? kind->findLibrary() : Result<std::string>(std::string());
    if (library.ok())
      backends.push_back(library->empty() ? std::string(kind->name) : fmt::format("{} ({})", kind->name, *library));
  }
  return backends;
}

std::vector<std::string> meshwright::runtime::listDevices() {
  std::vector<std::string> devices;
  for (const DeviceKind *kind : getDeviceKinds()) {
    std::vector<std::string_view> backends;
    for (const DeviceBackend &backend : kind->backends)
      backends.push_back(backend.name);
    devices.push_back(backends.empty() ? std::string(kind->name)
                                       : fmt::format("{} ({})", kind->name, fmt::join(backends, ", ")));
  }
  return devices;
}
