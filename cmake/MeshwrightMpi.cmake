# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The plugin between the runtime and an MPI, where there is one. Nothing else is linked with MPI.

find_package(MPI QUIET COMPONENTS C)
if(NOT MPI_C_FOUND)
  message(STATUS "MPI not found: dist-run gets no MPI backend (Debian: libopenmpi-dev openmpi-bin)")
  return()
endif()
message(STATUS "MPI ${MPI_C_VERSION} with ${MPI_C_LIBRARIES}: dist-run gets an MPI backend")

add_library(meshwright_mpi MODULE ${PROJECT_SOURCE_DIR}/runtime/backend/mpi/plugin/Plugin.cpp)
target_link_libraries(meshwright_mpi PRIVATE MPI::MPI_C)
# Whoever can open it has it.
add_dependencies(MWMpi meshwright_mpi)
set_target_properties(meshwright_mpi PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib CXX_VISIBILITY_PRESET hidden)
