// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
module {
  func.func private @quiet() {
    return
  }
  func.func public @main() {
    call @quiet() : () -> ()
    return
  }
}
