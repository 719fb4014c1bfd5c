# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests:
#   mw_unit_test(NAME sources... DEPENDS libs...)          a GoogleTest of the compiler (MLIR visible)
#   mw_runtime_unit_test(NAME sources... DEPENDS libs...)  a GoogleTest of the runtime (neither MLIR nor LLVM)
#   mw_test_tool(TARGET)                                   an executable that lit tests call
# The target `check` runs all of them; `check-build` builds what it runs.

set(MW_TEST_BIN ${PROJECT_BINARY_DIR}/test/bin)

function(_mw_register_test PROPERTY NAME)
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${MW_TEST_BIN} EXCLUDE_FROM_ALL ON)
  set_property(GLOBAL APPEND PROPERTY ${PROPERTY} ${NAME})
endfunction()

function(mw_unit_test NAME)
  _mw_split(${ARGN})
  mw_compiler_executable(${NAME} ${SOURCES} DEPENDS ${DEPENDS} GTest::gtest GTest::gtest_main)
  _mw_register_test(MW_UNIT_TESTS ${NAME})
endfunction()

function(mw_runtime_unit_test NAME)
  _mw_split(${ARGN})
  add_executable(${NAME} ${SOURCES})
  target_link_libraries(${NAME} PRIVATE ${DEPENDS} GTest::gtest GTest::gtest_main Threads::Threads)
  mw_runtime_pch(${NAME})
  _mw_register_test(MW_UNIT_TESTS ${NAME})
endfunction()

function(mw_test_tool TARGET)
  _mw_register_test(MW_TEST_TOOLS ${TARGET})
endfunction()
