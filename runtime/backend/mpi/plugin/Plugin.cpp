//===- Plugin.cpp - MPI as a table of functions ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../MpiFunctions.h"
#include <algorithm>
#include <climits>
#include <cstring>
#include <mpi.h>

static_assert(sizeof(MPI_Request) <= sizeof(MwMpiRequest), "a request has room for MPI's");

/// Messages of other libraries in the same process are not ours.
static MPI_Comm communicator = MPI_COMM_NULL;

static MPI_Request load(const MwMpiRequest &request) {
  MPI_Request handle;
  std::memcpy(&handle, &request, sizeof(handle));
  return handle;
}

static void store(MPI_Request handle, MwMpiRequest &request) { std::memcpy(&request, &handle, sizeof(handle)); }

static void describeLibrary(char *text, int size) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);
  // Text after a comma or a line break describes how it was built.
  size_t used = std::min<size_t>(std::strcspn(version, ",\n"), size - 1);
  std::memcpy(text, version, used);
  text[used] = 0;
}

static void describe(int error, char *text, int size) {
  char message[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(error, message, &length);
  std::strncpy(text, message, size - 1);
  text[size - 1] = 0;
}

static int initialize(MwMpiProcess *process) {
  int provided = 0;
  if (int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided))
    return error;
  if (provided < MPI_THREAD_SERIALIZED)
    return MPI_ERR_OTHER;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (int error = MPI_Comm_dup(MPI_COMM_WORLD, &communicator))
    return error;
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator, &process->process);
  MPI_Comm_size(communicator, &process->numProcesses);
  MPI_Comm local = MPI_COMM_NULL;
  if (int error = MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local))
    return error;
  MPI_Comm_size(local, &process->numLocal);
  MPI_Comm_free(&local);
  int *bound = nullptr, isSet = 0;
  MPI_Comm_get_attr(communicator, MPI_TAG_UB, &bound, &isSet);
  process->maxTag = isSet ? *bound : SHRT_MAX; // what the standard promises
  return MPI_SUCCESS;
}

static int finalize() {
  MPI_Comm_free(&communicator);
  return MPI_Finalize();
}

static int send(const void *bytes, int count, int peer, int tag, MwMpiRequest *request) {
  MPI_Request handle;
  int error = MPI_Isend(bytes, count, MPI_BYTE, peer, tag, communicator, &handle);
  store(handle, *request);
  return error;
}

static int receive(void *bytes, int count, int peer, int tag, MwMpiRequest *request) {
  MPI_Request handle;
  int error = MPI_Irecv(bytes, count, MPI_BYTE, peer, tag, communicator, &handle);
  store(handle, *request);
  return error;
}

static int test(MwMpiRequest *request, int *isOver, int *count) {
  MPI_Request handle = load(*request);
  MPI_Status status;
  int error = MPI_Test(&handle, isOver, &status);
  store(handle, *request);
  if (error == MPI_SUCCESS && *isOver)
    MPI_Get_count(&status, MPI_BYTE, count);
  return error;
}

static int probe(int peer, int *isThere, int *tag) {
  MPI_Status status;
  int error = MPI_Iprobe(peer, MPI_ANY_TAG, communicator, isThere, &status);
  if (error == MPI_SUCCESS && *isThere)
    *tag = status.MPI_TAG;
  return error;
}

void mw_mpi_get_functions(MwMpiFunctions *functions) {
  *functions = {describeLibrary, describe, initialize, finalize, send, receive, test, probe};
}
