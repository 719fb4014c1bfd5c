# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Instruments what is compiled from here on, for the presets `asan` and `tsan` (MESHWRIGHT_SANITIZE).

# The build type of these presets: optimized so far as it stays clear where something happened, and with assertions.
set(CMAKE_C_FLAGS_SANITIZE "-O1 -gline-tables-only")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -gline-tables-only")

if(NOT MESHWRIGHT_SANITIZE)
  return()
endif()

# Nothing goes on behind a finding.
add_compile_options(-fsanitize=${MESHWRIGHT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
add_link_options(-fsanitize=${MESHWRIGHT_SANITIZE})
# Every executable brings the options that it wants, wherever it is started from.
add_library(mw_sanitizer_options OBJECT ${PROJECT_SOURCE_DIR}/cmake/SanitizerOptions.cpp)
link_libraries("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:mw_sanitizer_options>>")
