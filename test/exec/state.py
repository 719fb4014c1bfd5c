# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that variables have their old value while a step reads it and their new one after it, wherever that is computed."""
# RUN: %python %s %t
import sys

import numpy as np

import package_runs

VARIABLES = """
net.variable parameter @a : tensor<8x8xf64>
net.variable parameter @b : tensor<8x8xf64>
net.variable counter @step : tensor<i32>
"""
READS = """
  %a = net.read @a : tensor<8x8xf64>
  %b = net.read @b : tensor<8x8xf64>
  %step = net.read @step : tensor<i32>
  %one = net.constant dense<1> : tensor<i32>
  %next = net.add %step, %one : tensor<i32>
  net.assign @step, %next : tensor<i32>
"""
OUTPUTS = '-> (tensor<8x8xf64> {net.name = "y"})'
PROGRAMS = {
    # The old value is multiplied after the new one is known, which it depends on.
    "old value read late": """
  %new = net.sine %a : tensor<8x8xf64>
  %y = net.dot %new, %a batch = [] x [] contract = [1] x [0] : tensor<8x8xf64>, tensor<8x8xf64> -> tensor<8x8xf64>
  net.assign @a, %new : tensor<8x8xf64>
  return %y : tensor<8x8xf64>""",
    "swap": """
  net.assign @a, %b : tensor<8x8xf64>
  net.assign @b, %a : tensor<8x8xf64>
  return %a : tensor<8x8xf64>""",
    "one value for two": """
  %new = net.add %a, %b : tensor<8x8xf64>
  %half = net.sine %new : tensor<8x8xf64>
  net.assign @a, %half : tensor<8x8xf64>
  net.assign @b, %half : tensor<8x8xf64>
  return %half : tensor<8x8xf64>""",
    "transposed in place": """
  %t = net.transpose %a dims = [1, 0] : tensor<8x8xf64> -> tensor<8x8xf64>
  net.assign @a, %t : tensor<8x8xf64>
  %y = net.add %a, %t : tensor<8x8xf64>
  return %y : tensor<8x8xf64>""",
    "rows from sums": """
  %sum = net.reduce sum %a dims = [1] : tensor<8x8xf64> -> tensor<8xf64>
  %all = net.broadcast %sum dims = [0] : tensor<8xf64> -> tensor<8x8xf64>
  %y = net.divide %a, %all : tensor<8x8xf64>
  net.assign @a, %y : tensor<8x8xf64>
  return %y : tensor<8x8xf64>""",
    "constants": """
  %c = net.constant dense<2.5> : tensor<8x8xf64>
  net.assign @a, %c : tensor<8x8xf64>
  %y = net.multiply %a, %b : tensor<8x8xf64>
  return %y : tensor<8x8xf64>""",
}

random = np.random.default_rng(1)
init = {"a": random.uniform(0.5, 2, (8, 8)), "b": random.uniform(0.5, 2, (8, 8)), "step": np.array(0, "i4")}
wrong = 0
for number, (name, body) in enumerate(PROGRAMS.items()):
    text = f"{VARIABLES}func.func @step_function() {OUTPUTS} {{{READS}{body}\n}}\n"
    found, expected = package_runs.run_both(f"{sys.argv[1]}.{number}", text, {}, init, steps=3)
    if expected["variable step"] != 3:
        print(f"{name}: the interpreter counted {expected['variable step']} steps")
        wrong += 1
    print(name, end=": ")
    wrong += package_runs.compare(found, expected, lambda value: 1e-14)
sys.exit(wrong != 0)
