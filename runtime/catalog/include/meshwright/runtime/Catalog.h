//===- Catalog.h - the backends and devices of this build -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows every kind. A kind is a library with a `WorldKind` or a `DeviceKind`; its row in Catalog.cpp
// makes it known to --comm, --device, --help and --version. The tables refer to the kinds by name, so no linker leaves
// one out.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_CATALOG_H
#define MESHWRIGHT_RUNTIME_CATALOG_H

#include "meshwright/runtime/Platform.h"

namespace meshwright::runtime {

/// All kinds, the default first.
std::span<const WorldKind *const> getWorldKinds();
std::span<const DeviceKind *const> getDeviceKinds();

/// The kind of that name; null where there is none.
const WorldKind *findWorldKind(std::string_view name);
const DeviceKind *findDeviceKind(std::string_view name);
/// The kind of devices that brings a backend of that name; null where none does.
const DeviceKind *findDeviceKindOfBackend(std::string_view backend);

/// Opens the world of that name; an unknown one is an error that lists all. Called once in a process.
Result<std::unique_ptr<World>> openWorld(std::string_view name, const WorldOptions &options = {});

/// The worlds that this machine can have, with the versions of what they use: `inproc`, `tcp`, `mpi (Open MPI v4.1.4)`.
std::vector<std::string> listBackends();
/// The kinds of devices, with the backends that they bring: `cpu`, `cuda (nccl, onegpu)`.
std::vector<std::string> listDevices();

/// Names as in a sentence: `inproc, tcp and mpi`.
std::string joinNames(std::span<const std::string_view> names);
std::vector<std::string_view> getWorldNames();
std::vector<std::string_view> getDeviceNames();
/// The names of the backends of worlds, then those of devices.
std::vector<std::string_view> getBackendNames();

} // namespace meshwright::runtime

#endif
