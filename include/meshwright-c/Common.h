/*===- Common.h - texts and diagnostics in C ----------------------*- C -*-===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#ifndef MESHWRIGHT_C_COMMON_H
#define MESHWRIGHT_C_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Text of a length in bytes; no zero follows. */
typedef struct MwString {
  const char *data;
  size_t length;
} MwString;

typedef enum MwSeverity { MwSeverityRemark, MwSeverityWarning, MwSeverityError } MwSeverity;

/** Takes a diagnostic. Its notes follow the message, a line each. `file` is empty and `line` and `column` are 0 where
 * it has no place in a text. */
typedef void (*MwDiagnosticCallback)(MwSeverity severity, MwString message, MwString file, int64_t line, int64_t column,
                                     void *userData);

#ifdef __cplusplus
}
#endif

#endif
