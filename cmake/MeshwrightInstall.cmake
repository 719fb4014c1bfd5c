# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What `cmake --install` puts into a prefix: the tools, the plugin, and compiler and runtime as a library each with its headers, which
# find_package(Meshwright COMPONENTS compiler runtime) makes the targets Meshwright::compiler and Meshwright::runtime. A project that has
# this one by add_subdirectory has the same targets.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# mw_keep_loaded(TARGET): dlclose does not unload the library. What it has registered, its schema with libprotobuf and its passes with MLIR, cannot be taken
# back: registered again after the next dlopen, the schema would end the process.
function(mw_keep_loaded TARGET)
  target_link_options(${TARGET} PRIVATE LINKER:-z,nodelete)
endfunction()
mw_keep_loaded(MeshwrightPlugin)

# mw_installed_library(NAME archives...): a library Meshwright::NAME with all of these archives, one component of the package. It shows the
# names of cmake/NAME-symbols.map and no others, if there is such a file.
function(mw_installed_library NAME)
  set(archives)
  foreach(library IN LISTS ARGN)
    list(APPEND archives $<TARGET_FILE:${library}>)
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/${NAME}.cpp "// The library is in its archives.\n")
  set(target meshwright_${NAME})
  add_library(${target} SHARED ${PROJECT_BINARY_DIR}/${NAME}.cpp)
  add_library(Meshwright::${NAME} ALIAS ${target})
  add_dependencies(${target} ${ARGN})
  target_link_options(${target} PRIVATE LINKER:--whole-archive ${archives} LINKER:--no-whole-archive)
  mw_keep_loaded(${target})
  # The functions of sanitizers are in the program.
  if(NOT MESHWRIGHT_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${NAME} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS "${archives}" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib INSTALL_RPATH "\$ORIGIN")
  target_compile_features(${target} INTERFACE cxx_std_20)
  set(symbols ${PROJECT_SOURCE_DIR}/cmake/${NAME}-symbols.map)
  if(EXISTS ${symbols})
    target_link_options(${target} PRIVATE LINKER:--version-script=${symbols})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${symbols})
  endif()
endfunction()

# The schema of packages, which registers itself once in a process that has both compiler and runtime.
mw_installed_library(package MWPackageProto MWContentHash MWResidue)
target_link_libraries(meshwright_package PUBLIC protobuf::libprotobuf)
target_include_directories(meshwright_package INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/runtime/proto>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/proto/include>)

# The rooms are archives without each other's headers; all of each goes in, since interfaces are attached by registration.
get_property(libraries GLOBAL PROPERTY MW_COMPILER_LIBRARIES)
mw_installed_library(compiler ${libraries} MWStrategyProto)
get_property(generated GLOBAL PROPERTY MW_GENERATED_ROOTS)
list(REMOVE_DUPLICATES generated)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/meshwright-compiler)
target_include_directories(meshwright_compiler INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR};${PROJECT_SOURCE_DIR}/include;${PROJECT_BINARY_DIR}/rooms/StrategyProto;${generated}>"
  $<INSTALL_INTERFACE:${headers}>)
target_include_directories(meshwright_compiler SYSTEM INTERFACE ${LLVM_PREFIX}/include)
target_link_libraries(meshwright_compiler PRIVATE MLIR LLVM PUBLIC meshwright_package)
# A program that embeds the compiler builds operations itself.
target_link_libraries(meshwright_compiler INTERFACE MLIR LLVM)

get_property(libraries GLOBAL PROPERTY MW_RUNTIME_LIBRARIES)
mw_installed_library(runtime ${libraries} MWMachineProto)
set(runtime_headers ${CMAKE_INSTALL_INCLUDEDIR}/meshwright-runtime)
file(GLOB runtime_roots ${PROJECT_SOURCE_DIR}/runtime/*/include ${PROJECT_SOURCE_DIR}/runtime/*/*/include)
target_include_directories(meshwright_runtime INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include;${runtime_roots}>" $<INSTALL_INTERFACE:${runtime_headers}>)
target_link_libraries(meshwright_runtime PRIVATE ${DNNL_LIBRARY} ${CMAKE_DL_LIBS} PUBLIC meshwright_package fmt::fmt Threads::Threads)

install(TARGETS meshwright_package EXPORT MeshwrightPackageTargets COMPONENT runtime)
install(TARGETS meshwright_compiler EXPORT MeshwrightCompilerTargets COMPONENT compiler)
install(TARGETS meshwright_runtime EXPORT MeshwrightRuntimeTargets COMPONENT runtime)
install(TARGETS MeshwrightPlugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
install(TARGETS dist-opt dist-run dist-ckpt dist-schedule dist-verify meshwright-lsp RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET meshwright_mpi)
  # dist-run looks for it beside its own folder.
  install(TARGETS meshwright_mpi LIBRARY DESTINATION lib)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/meshwright DESTINATION ${headers} COMPONENT compiler FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/meshwright-c DESTINATION ${headers} COMPONENT compiler PATTERN Runtime.h EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/dialects DESTINATION ${headers} COMPONENT compiler FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/proto/include/meshwright DESTINATION ${headers} COMPONENT compiler)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/meshwright-c DESTINATION ${runtime_headers} COMPONENT runtime PATTERN Compiler.h EXCLUDE)
foreach(root IN LISTS runtime_roots)
  install(DIRECTORY ${root}/ DESTINATION ${runtime_headers} COMPONENT runtime)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/runtime/proto/package.pb.h ${PROJECT_BINARY_DIR}/runtime/proto/machine.pb.h DESTINATION ${runtime_headers} COMPONENT runtime)
install(FILES ${PROJECT_BINARY_DIR}/rooms/StrategyProto/lib/Strategy/strategy.pb.h DESTINATION ${headers}/lib/Strategy COMPONENT compiler)
foreach(root IN LISTS generated)
  install(DIRECTORY ${root}/ DESTINATION ${headers} COMPONENT compiler FILES_MATCHING PATTERN "*.h.inc")
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Meshwright)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/MeshwrightConfig.cmake.in ${PROJECT_BINARY_DIR}/MeshwrightConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/MeshwrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/MeshwrightConfig.cmake ${PROJECT_BINARY_DIR}/MeshwrightConfigVersion.cmake DESTINATION ${package})
foreach(part Package Compiler Runtime)
  install(EXPORT Meshwright${part}Targets NAMESPACE Meshwright:: DESTINATION ${package})
endforeach()
