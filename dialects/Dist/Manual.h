//===- Manual.h - where a graph computes per rank ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_MANUAL_H
#define MESHWRIGHT_DIALECTS_DIST_MANUAL_H

#include "dialects/Dist/Dist.h"

#define GET_OP_CLASSES
#include "dialects/Dist/DistManual.h.inc"

#endif
