# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles serial training graphs into distributed programs, and runs them."""
