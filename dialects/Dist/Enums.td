//===- Enums.td - enumerations of the dist dialect ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECTS_DIST_ENUMS_TD
#define MESHWRIGHT_DIALECTS_DIST_ENUMS_TD

include "mlir/IR/EnumAttr.td"

def Dist_MemoryKind : I32Enum<"MemoryKind", "whose memory a value is in", [
    I32EnumCase<"Device", 0, "device">,
    I32EnumCase<"Host", 1, "host">]> {
  let cppNamespace = "::meshwright::dist";
}

#endif
