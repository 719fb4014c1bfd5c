//===- MpiFunctions.h - what is used of MPI ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that the backend uses of MPI, as a table of plain functions. The plugin that fills it in is the only code that is
// compiled against an MPI and linked with it: implementations of MPI do not agree on what their handles are, so another
// one needs another plugin and nothing else.
//
// Functions return 0, or an error of MPI's that `describe` puts into words. One thread at a time calls them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_BACKEND_MPI_MPIFUNCTIONS_H
#define MESHWRIGHT_RUNTIME_BACKEND_MPI_MPIFUNCTIONS_H

#include <cstdint>

extern "C" {

/// A message that is under way: an MPI_Request, whatever that is.
struct MwMpiRequest {
  uint64_t handle;
};

struct MwMpiProcess {
  int process;
  int numProcesses;
  /// The number of them on this host.
  int numLocal;
  /// Tags are up to here.
  int maxTag;
};

struct MwMpiFunctions {
  /// The version of the MPI library: `Open MPI v4.1.4`. Valid before `initialize` too.
  void (*describeLibrary)(char *text, int size);
  void (*describe)(int error, char *text, int size);
  int (*initialize)(MwMpiProcess *process);
  int (*finalize)(void);
  int (*send)(const void *bytes, int count, int peer, int tag, MwMpiRequest *request);
  int (*receive)(void *bytes, int count, int peer, int tag, MwMpiRequest *request);
  /// Whether a message is over, which ends its request; then, of one that is received, how many bytes it has.
  int (*test)(MwMpiRequest *request, int *isOver, int *count);
  /// True if a message of that process has come that no call receives yet, and its tag.
  int (*probe)(int peer, int *isThere, int *tag);
};

/// The only function that the plugin exports.
__attribute__((visibility("default"))) void mw_mpi_get_functions(MwMpiFunctions *functions);
}

#endif
