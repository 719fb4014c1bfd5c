//===- FailingMpi.cpp - an MPI backend that fails -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in the place of libmeshwright_mpi.so: one process, for which the function that MESHWRIGHT_FAILING names fails.
//
//===----------------------------------------------------------------------===//

#include "backend/mpi/MpiFunctions.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int answer(const char *name) {
  const char *chosen = std::getenv("MESHWRIGHT_FAILING");
  return chosen && std::strcmp(chosen, name) == 0 ? 7 : 0;
}

void describeLibrary(char *text, int size) { std::snprintf(text, size, "an MPI that fails"); }
void describe(int error, char *text, int size) { std::snprintf(text, size, "error %d of the test", error); }
int initialize(MwMpiProcess *process) {
  *process = {0, 1, 1, 1000};
  return answer("initialize");
}
int finalize() { return answer("finalize"); }
int send(const void *, int, int, int, MwMpiRequest *) { return answer("send"); }
int receive(void *, int, int, int, MwMpiRequest *) { return answer("receive"); }
int test(MwMpiRequest *, int *isOver, int *count) {
  *isOver = 1;
  *count = 0;
  return answer("test");
}
int probe(int, int *isThere, int *) {
  *isThere = 0;
  return answer("probe");
}

} // namespace

void mw_mpi_get_functions(MwMpiFunctions *functions) {
  *functions = {describeLibrary, describe, initialize, finalize, send, receive, test, probe};
}
