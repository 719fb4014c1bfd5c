# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a wheel of the Python package has (python/, pyproject.toml): one library with compiler, runtime and those parts of LLVM and MLIR that
# they reach, linked from LLVM's archives, and a linker for kernels. The library shows the C API alone, so that it meets no other LLVM in a
# process. tools/wheel puts the shared libraries of Debian that it needs beside it.

# lld asks LLVM for all targets; those that no kernel is for would make half of the library.
set(targets ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM targets X86 NVPTX)
set(absent "// The targets of LLVM that the wheel has not.\n")
foreach(target IN LISTS targets)
  foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser)
    string(APPEND absent "extern \"C\" void LLVMInitialize${target}${part}() {}\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/absent-targets.cpp CONTENT "${absent}" @ONLY)

get_property(compiler_libraries GLOBAL PROPERTY MW_COMPILER_LIBRARIES)
get_property(runtime_libraries GLOBAL PROPERTY MW_RUNTIME_LIBRARIES)
set(libraries ${compiler_libraries} ${runtime_libraries} MWStrategyProto MWPackageProto MWMachineProto MWContentHash MWResidue)
set(archives)
foreach(library IN LISTS libraries)
  list(APPEND archives $<TARGET_FILE:${library}>)
endforeach()
file(GLOB llvm_archives ${LLVM_PREFIX}/lib/libMLIR*.a ${LLVM_PREFIX}/lib/libLLVM*.a)
find_library(LLD_ELF lldELF HINTS ${LLVM_PREFIX}/lib REQUIRED)
find_library(LLD_COMMON lldCommon HINTS ${LLVM_PREFIX}/lib REQUIRED)

set(native ${PROJECT_SOURCE_DIR}/python/native)
add_library(meshwright_wheel SHARED ${native}/linker.cpp ${PROJECT_BINARY_DIR}/absent-targets.cpp)
add_dependencies(meshwright_wheel ${libraries})
target_include_directories(meshwright_wheel SYSTEM PRIVATE ${LLVM_PREFIX}/include)
target_link_options(meshwright_wheel PRIVATE LINKER:--whole-archive ${archives} LINKER:--no-whole-archive LINKER:--gc-sections LINKER:--icf=all LINKER:-O2
  LINKER:-z,defs LINKER:--version-script=${native}/symbols.map LINKER:--strip-all)
target_link_libraries(meshwright_wheel PRIVATE ${LLD_ELF} ${LLD_COMMON} ${llvm_archives}
  protobuf::libprotobuf fmt::fmt ${DNNL_LIBRARY} z zstd Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(meshwright_wheel PROPERTIES OUTPUT_NAME meshwright LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/wheel
  LINK_DEPENDS "${archives};${native}/symbols.map" BUILD_RPATH "" INSTALL_RPATH "\$ORIGIN" INSTALL_RPATH_USE_LINK_PATH OFF)
add_executable(meshwright-ld ${native}/main.c)
target_link_libraries(meshwright-ld PRIVATE meshwright_wheel)
set_target_properties(meshwright-ld PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/wheel INSTALL_RPATH "\$ORIGIN" INSTALL_RPATH_USE_LINK_PATH OFF)
set_target_properties(meshwright_wheel meshwright-ld PROPERTIES EXCLUDE_FROM_ALL ON)

install(TARGETS meshwright_wheel LIBRARY DESTINATION meshwright/lib COMPONENT wheel EXCLUDE_FROM_ALL)
install(TARGETS meshwright-ld RUNTIME DESTINATION meshwright/lib COMPONENT wheel EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/meshwright DESTINATION . COMPONENT wheel EXCLUDE_FROM_ALL PATTERN __pycache__ EXCLUDE)
