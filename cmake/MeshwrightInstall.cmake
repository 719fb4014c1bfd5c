# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What `cmake --install` puts into a prefix: the tools, the plugin, and the compiler as one library with its headers, which
# find_package(Meshwright) makes the target Meshwright::compiler. A project that has this one by add_subdirectory has the same
# target.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The rooms are archives without each other's headers; all of each goes in, since interfaces are attached by registration.
get_property(libraries GLOBAL PROPERTY MW_COMPILER_LIBRARIES)
list(APPEND libraries MWStrategyProto MWPackageProto MWContentHash MWResidue)
set(archives)
foreach(library IN LISTS libraries)
  list(APPEND archives $<TARGET_FILE:${library}>)
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/compiler.cpp "// The compiler is in its archives.\n")
add_library(meshwright_compiler SHARED ${PROJECT_BINARY_DIR}/compiler.cpp)
add_library(Meshwright::compiler ALIAS meshwright_compiler)
add_dependencies(meshwright_compiler ${libraries})
target_link_options(meshwright_compiler PRIVATE LINKER:--whole-archive ${archives} LINKER:--no-whole-archive
  # The functions of sanitizers are in the program.
  $<$<STREQUAL:${MESHWRIGHT_SANITIZE},>:LINKER:-z,defs>)
set_target_properties(meshwright_compiler PROPERTIES EXPORT_NAME compiler VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS "${archives}" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
get_property(generated GLOBAL PROPERTY MW_GENERATED_ROOTS)
list(REMOVE_DUPLICATES generated)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/meshwright-compiler)
target_include_directories(meshwright_compiler INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR};${PROJECT_SOURCE_DIR}/include;${PROJECT_SOURCE_DIR}/runtime/proto/include;${PROJECT_BINARY_DIR}/rooms/StrategyProto;${generated}>"
  $<INSTALL_INTERFACE:${headers}>)
target_include_directories(meshwright_compiler SYSTEM INTERFACE ${LLVM_PREFIX}/include)
target_compile_features(meshwright_compiler INTERFACE cxx_std_20)
target_link_libraries(meshwright_compiler PRIVATE MLIR LLVM PUBLIC protobuf::libprotobuf)
# A program that embeds the compiler builds operations itself.
target_link_libraries(meshwright_compiler INTERFACE MLIR LLVM)

install(TARGETS meshwright_compiler EXPORT MeshwrightTargets COMPONENT compiler)
install(TARGETS MeshwrightPlugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
install(TARGETS dist-opt dist-run dist-ckpt dist-schedule dist-verify meshwright-lsp RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET meshwright_mpi)
  # dist-run looks for it beside its own folder.
  install(TARGETS meshwright_mpi LIBRARY DESTINATION lib)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/meshwright DESTINATION ${headers} COMPONENT compiler FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/meshwright-c DESTINATION ${headers} COMPONENT compiler)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/dialects DESTINATION ${headers} COMPONENT compiler FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/proto/include/meshwright DESTINATION ${headers} COMPONENT compiler)
install(FILES ${PROJECT_BINARY_DIR}/rooms/StrategyProto/lib/Strategy/strategy.pb.h DESTINATION ${headers}/lib/Strategy COMPONENT compiler)
foreach(root IN LISTS generated)
  install(DIRECTORY ${root}/ DESTINATION ${headers} COMPONENT compiler FILES_MATCHING PATTERN "*.h.inc")
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Meshwright)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/MeshwrightConfig.cmake.in ${PROJECT_BINARY_DIR}/MeshwrightConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/MeshwrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/MeshwrightConfig.cmake ${PROJECT_BINARY_DIR}/MeshwrightConfigVersion.cmake DESTINATION ${package})
install(EXPORT MeshwrightTargets NAMESPACE Meshwright:: DESTINATION ${package})
