# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds the toolchain and defines the functions that every folder uses:
#   mw_tablegen(TARGET td-file generator out-file ...)   TableGen outputs, one target
#   mw_passes(ROOM)                                      the pass declarations of include/meshwright/ROOM/Passes.td
#   mw_compiler_library(NAME sources... DEPENDS libs...) part of the compiler (MLIR visible, precompiled headers)
#   mw_compiler_plugin(NAME sources... DEPENDS libs...) a library that mlir-opt loads
#   mw_runtime_library(NAME folder sources... DEPENDS libs...)  a folder of the runtime (neither MLIR nor LLVM)
#   mw_runtime_interface(NAME folder DEPENDS libs...)    one that has headers alone

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Debian's package keeps the configuration below llvm-config's prefix.
find_program(LLVM_CONFIG NAMES llvm-config-22 REQUIRED)
execute_process(COMMAND ${LLVM_CONFIG} --prefix OUTPUT_VARIABLE LLVM_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE)
find_package(MLIR 22.1 REQUIRED CONFIG HINTS ${LLVM_PREFIX}/lib/cmake/mlir)
set(LLVM_TOOLS ${LLVM_PREFIX}/bin)
set(MLIR_TBLGEN ${LLVM_TOOLS}/mlir-tblgen)
find_package(Protobuf REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(fmt REQUIRED)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
message(STATUS "LLVM/MLIR ${LLVM_PACKAGE_VERSION} in ${LLVM_PREFIX}, protobuf ${Protobuf_VERSION}, fmt ${fmt_VERSION}")

# Colours survive ninja; warnings are errors nowhere but in .ci/run's build.
# Every object is position-independent, executables included, so that one precompiled header serves all.
add_compile_options(-fPIC -Wall -Wextra -Wno-unused-parameter -fdiagnostics-color=auto)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # ccache needs precompiled headers without time stamps.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  add_link_options(-fuse-ld=${LLVM_TOOLS}/ld.lld)
endif()
include(MeshwrightSanitize)

function(mw_tablegen TARGET TD)
  set(args ${ARGN})
  set(outs)
  file(RELATIVE_PATH rel ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  get_filename_component(room ${rel} NAME)
  while(args)
    list(POP_FRONT args generator out)
    set(path ${PROJECT_BINARY_DIR}/rooms/${room}.generated/${rel}/${out})
    separate_arguments(flags UNIX_COMMAND "${generator}")
    add_custom_command(OUTPUT ${path}
      COMMAND ${MLIR_TBLGEN} ${flags} -I ${LLVM_PREFIX}/include -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_SOURCE_DIR}/include
              ${CMAKE_CURRENT_SOURCE_DIR}/${TD} --write-if-changed -o ${path} -d ${path}.d
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${TD} DEPFILE ${path}.d
      COMMENT "TableGen ${rel}/${out}")
    list(APPEND outs ${path})
  endwhile()
  add_custom_target(${TARGET} DEPENDS ${outs})
  set_property(GLOBAL APPEND PROPERTY MW_TABLEGEN_TARGETS ${TARGET})
  set_property(GLOBAL APPEND PROPERTY MW_GENERATED_ROOTS ${PROJECT_BINARY_DIR}/rooms/${room}.generated)
endfunction()

# Makes meshwright/ROOM/Passes.h.inc, which declares the passes of a room.
function(mw_passes ROOM)
  set(dir include/meshwright/${ROOM})
  set(td ${PROJECT_SOURCE_DIR}/${dir}/Passes.td)
  set(path ${PROJECT_BINARY_DIR}/rooms/${ROOM}.generated/meshwright/${ROOM}/Passes.h.inc)
  add_custom_command(OUTPUT ${path}
    COMMAND ${MLIR_TBLGEN} -gen-pass-decls -name ${ROOM} -I ${LLVM_PREFIX}/include -I ${PROJECT_SOURCE_DIR}/include
            -I ${PROJECT_BINARY_DIR}/rooms/StrategyProto ${td} --write-if-changed -o ${path} -d ${path}.d
    DEPENDS ${td} ${PROJECT_BINARY_DIR}/rooms/StrategyProto/lib/Strategy/StrategyFields.td DEPFILE ${path}.d
    COMMENT "TableGen ${dir}/Passes.h.inc")
  get_filename_component(folder ${path} DIRECTORY)
  add_custom_command(OUTPUT ${folder}/PassOptions.h.inc
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/pass-options.py ${path} ${folder}/PassOptions.h.inc
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/pass-options.py ${path}
    COMMENT "Generating ${dir}/PassOptions.h.inc")
  add_custom_target(${ROOM}PassesTableGen DEPENDS ${path} ${folder}/PassOptions.h.inc)
  set_property(GLOBAL APPEND PROPERTY MW_TABLEGEN_TARGETS ${ROOM}PassesTableGen)
endfunction()

# Precompiles HEADER once, in the object library PCH, and gives it to NAME. Prepares PCH by calling SETUP on it.
function(_mw_pch NAME PCH HEADER SETUP)
  if(NOT TARGET ${PCH})
    file(WRITE ${PROJECT_BINARY_DIR}/${PCH}.cpp "// Holds the precompiled header ${HEADER}.\n")
    add_library(${PCH} OBJECT ${PROJECT_BINARY_DIR}/${PCH}.cpp)
    cmake_language(CALL ${SETUP} ${PCH})
    target_precompile_headers(${PCH} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${HEADER})
  endif()
  target_precompile_headers(${NAME} REUSE_FROM ${PCH})
endfunction()

function(_mw_setup_compiler_pch PCH)
  target_include_directories(${PCH} SYSTEM PRIVATE ${LLVM_PREFIX}/include)
endfunction()

function(_mw_setup_dialects_pch PCH)
  _mw_setup_compiler_pch(${PCH})
  target_link_libraries(${PCH} PRIVATE MWNet MWDist)
  _mw_depend_on_tablegen(${PCH})
endfunction()

function(_mw_setup_runtime_pch PCH)
  target_link_libraries(${PCH} PRIVATE fmt::fmt Threads::Threads)
endfunction()

# Gives a target that links fmt::fmt the runtime's precompiled header.
function(mw_runtime_pch NAME)
  _mw_pch(${NAME} mw_runtime_pch pch-runtime.h _mw_setup_runtime_pch)
endfunction()

function(_mw_split)
  cmake_parse_arguments(PARSE_ARGV 0 A "" "" "DEPENDS")
  set(SOURCES ${A_UNPARSED_ARGUMENTS} PARENT_SCOPE)
  set(DEPENDS ${A_DEPENDS} PARENT_SCOPE)
endfunction()

# Walls between the rooms of the compiler. A room is a folder of lib or dialects. Its public headers stand in
# include/meshwright/ROOM or dialects/ROOM, and a library sees those of its own room and of what it DEPENDS on, because
# each room has an include root with nothing else in it. An include that no DEPENDS declares does not compile.
function(_mw_room_includes NAME ROOM PUBLIC_DIR)
  set(root ${PROJECT_BINARY_DIR}/rooms/${ROOM})
  get_filename_component(parent ${root}/${PUBLIC_DIR} DIRECTORY)
  file(MAKE_DIRECTORY ${parent} ${root}.generated)
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${ARGV3})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${ARGV3} ${root}/${PUBLIC_DIR} SYMBOLIC)
  endif()
  target_include_directories(${NAME} PUBLIC ${root} ${root}.generated)
  set_property(GLOBAL APPEND PROPERTY MW_GENERATED_ROOTS ${root}.generated)
endfunction()

function(_mw_compiler_includes NAME)
  file(RELATIVE_PATH rel ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  if(rel MATCHES "^lib/([^/]+)")
    _mw_room_includes(${NAME} ${CMAKE_MATCH_1} meshwright/${CMAKE_MATCH_1} include/meshwright/${CMAKE_MATCH_1})
  elseif(rel MATCHES "^dialects/([^/]+)")
    _mw_room_includes(${NAME} ${CMAKE_MATCH_1} dialects/${CMAKE_MATCH_1} dialects/${CMAKE_MATCH_1})
  else()
    # Tools and tests see everything.
    get_property(generated GLOBAL PROPERTY MW_GENERATED_ROOTS)
    list(REMOVE_DUPLICATES generated)
    target_include_directories(${NAME} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${generated})
  endif()
endfunction()

function(_mw_depend_on_tablegen NAME)
  get_property(generated GLOBAL PROPERTY MW_TABLEGEN_TARGETS)
  if(generated)
    add_dependencies(${NAME} ${generated})
  endif()
endfunction()

# Sets OUT to the libraries that DEPENDS lists and what they depend on.
function(_mw_close OUT)
  set(closure ${ARGN})
  foreach(library ${ARGN})
    if(TARGET ${library})
      get_property(further TARGET ${library} PROPERTY MW_CLOSURE)
      list(APPEND closure ${further})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES closure)
  set(${OUT} ${closure} PARENT_SCOPE)
endfunction()

function(_mw_compiler_target NAME)
  target_include_directories(${NAME} SYSTEM PRIVATE ${LLVM_PREFIX}/include)
  _mw_compiler_includes(${NAME})
  _mw_depend_on_tablegen(${NAME})
  _mw_close(closure ${ARGN})
  set_property(TARGET ${NAME} PROPERTY MW_CLOSURE ${closure})
  # A precompiled header is no door in the walls: it has what its targets may include.
  if(MWNet IN_LIST closure AND MWDist IN_LIST closure)
    _mw_pch(${NAME} mw_dialects_pch pch-dialects.h _mw_setup_dialects_pch)
  else()
    _mw_pch(${NAME} mw_pch pch.h _mw_setup_compiler_pch)
  endif()
endfunction()

function(mw_compiler_library NAME)
  _mw_split(${ARGN})
  add_library(${NAME} STATIC ${SOURCES})
  _mw_compiler_target(${NAME} ${DEPENDS})
  target_link_libraries(${NAME} PUBLIC ${DEPENDS})
  file(RELATIVE_PATH rel ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  if(rel MATCHES "^(lib|dialects)/")
    set_property(GLOBAL APPEND PROPERTY MW_COMPILER_LIBRARIES ${NAME})
  endif()
endfunction()

# An executable of the compiler: links the two shared libraries, never MLIR's static components.
function(mw_compiler_executable NAME)
  _mw_split(${ARGN})
  add_executable(${NAME} ${SOURCES})
  _mw_compiler_target(${NAME} ${DEPENDS})
  target_link_libraries(${NAME} PRIVATE ${DEPENDS} MLIR LLVM)
endfunction()

# A library that MLIR's tools load; it exports its own entry points alone.
function(mw_compiler_plugin NAME)
  _mw_split(${ARGN})
  add_library(${NAME} MODULE ${SOURCES})
  _mw_compiler_target(${NAME} ${DEPENDS})
  set_target_properties(${NAME} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  target_link_options(${NAME} PRIVATE LINKER:--exclude-libs,ALL)
  target_link_libraries(${NAME} PRIVATE ${DEPENDS} MLIR LLVM)
endfunction()

# FOLDER of runtime: what stands in its `include` is for those who depend on it.
function(mw_runtime_library NAME FOLDER)
  _mw_split(${ARGN})
  list(TRANSFORM SOURCES PREPEND ${FOLDER}/ REGEX "^[^/]")
  add_library(${NAME} STATIC ${SOURCES})
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${FOLDER}/include)
    target_include_directories(${NAME} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/${FOLDER}/include)
  endif()
  target_link_libraries(${NAME} PUBLIC ${DEPENDS} fmt::fmt Threads::Threads)
  if(CMAKE_CURRENT_SOURCE_DIR STREQUAL ${PROJECT_SOURCE_DIR}/runtime)
    set_property(GLOBAL APPEND PROPERTY MW_RUNTIME_LIBRARIES ${NAME})
  endif()
  mw_runtime_pch(${NAME})
endfunction()

function(mw_runtime_interface NAME FOLDER)
  _mw_split(${ARGN})
  add_library(${NAME} INTERFACE)
  target_include_directories(${NAME} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/${FOLDER}/include)
  target_link_libraries(${NAME} INTERFACE ${DEPENDS})
endfunction()
