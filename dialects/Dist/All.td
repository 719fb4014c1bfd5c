//===- All.td - all operations of the dist dialect ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference is generated from this file; each family of operations has generated code of its own.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_ALL_TD
#define MESHWRIGHT_DIALECTS_DIST_ALL_TD

include "dialects/Dist/Dist.td"
include "dialects/Dist/Manual.td"

#endif
