//===- Net.td - the net dialect, families in order ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Net/Elementwise.td"
include "dialects/Net/Structured.td"
include "dialects/Net/Dynamic.td"
include "dialects/Net/Order.td"
include "dialects/Net/Matrix.td"
include "dialects/Net/Loop.td"
include "dialects/Net/Window.td"
include "dialects/Net/State.td"
