# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes forward and backward of an attention with a causal mask and two queries for each key.

usage: attention.py BATCH GROUPS ROWS DEPTH TYPE
"""
import sys

B, G, N, D = map(int, sys.argv[1:5])
T = sys.argv[5]
R = 2


def tensor(*shape, of=T):
    return "tensor<" + "x".join(map(str, shape)) + f"x{of}>"


Q, K = tensor(B, N, G, R, D), tensor(B, N, G, D)
S, WIDE, SEEN, INDEX = (tensor(B, G, N, R, N, of=element) for element in (T, "f32", "i1", "i32"))
ROW = tensor(B, G, N, R, of="f32")
O, DK = tensor(B, G, N, R, D), tensor(B, G, N, D)
LOW = {"bf16": "0xFF80", "f16": "0xFC00"}[T]
SCORES = "batch = [0, 2] x [0, 2] contract = [4] x [3]"

FORWARD = f"""
  %i = net.iota dim = 2 : {INDEX}
  %j = net.iota dim = 4 : {INDEX}
  %seen = net.compare ge, %i, %j : {INDEX} -> {SEEN}
  %scale = net.constant dense<2.500000e-01> : {S}
  %low = net.constant dense<{LOW}> : {S}
  %s = net.dot %q, %k {SCORES} : {Q}, {K} -> {S}
  %scaled = net.multiply %s, %scale : {S}
  %masked = net.select %seen, %scaled, %low : {SEEN}, {S}
  %w = net.convert %masked : {S} -> {WIDE}
  %m = net.reduce max %w dims = [4] : {WIDE} -> {ROW}
  %ms = net.broadcast %m dims = [0, 1, 2, 3] : {ROW} -> {WIDE}
  %c = net.subtract %w, %ms : {WIDE}
  %e = net.exponential %c : {WIDE}
  %l = net.reduce sum %e dims = [4] : {WIDE} -> {ROW}
  %ls = net.broadcast %l dims = [0, 1, 2, 3] : {ROW} -> {WIDE}
  %p = net.divide %e, %ls : {WIDE}
  %ps = net.convert %p : {WIDE} -> {S}
  %o = net.dot %ps, %v batch = [0, 1] x [0, 2] contract = [4] x [1] : {S}, {K} -> {O}
  %logs = net.log %l : {ROW}
  %total = net.add %m, %logs : {ROW}
"""

BACKWARD = f"""
  %dp = net.dot %g, %v {SCORES} : {Q}, {K} -> {S}
  %t = net.dot %q, %k {SCORES} : {Q}, {K} -> {S}
  %tscaled = net.multiply %t, %scale : {S}
  %tmasked = net.select %seen, %tscaled, %low : {SEEN}, {S}
  %tw = net.convert %tmasked : {S} -> {WIDE}
  %totals = net.broadcast %total dims = [0, 1, 2, 3] : {ROW} -> {WIDE}
  %tc = net.subtract %tw, %totals : {WIDE}
  %tp = net.exponential %tc : {WIDE}
  %tps = net.convert %tp : {WIDE} -> {S}
  %dv = net.dot %tps, %g batch = [0, 1] x [0, 2] contract = [2, 3] x [1, 3] : {S}, {Q} -> {DK}
  %dpw = net.convert %dp : {S} -> {WIDE}
  %product = net.multiply %dpw, %tp : {WIDE}
  %d = net.reduce sum %product dims = [4] : {WIDE} -> {ROW}
  %ds = net.broadcast %d dims = [0, 1, 2, 3] : {ROW} -> {WIDE}
  %difference = net.subtract %dpw, %ds : {WIDE}
  %dw = net.multiply %difference, %tp : {WIDE}
  %dshort = net.convert %dw : {WIDE} -> {S}
  %dscaled = net.multiply %dshort, %scale : {S}
  %dq = net.dot %dscaled, %k batch = [0, 1] x [0, 2] contract = [4] x [1] : {S}, {K} -> {O}
  %dk = net.dot %dscaled, %q batch = [0, 1] x [0, 2] contract = [2, 3] x [1, 3] : {S}, {Q} -> {DK}
"""


def with_role(text, role):
    return "".join(line if "net.constant" in line else line.replace(" : ", f" {{net.role = #net.role<{role}>}} : ")
                   for line in text.splitlines(keepends=True))


print(f"""module {{
  dist.mesh @mesh <[]>
  func.func public @train_step(%q: {Q}, %k: {K}, %v: {K}, %g: {Q}) -> ({O}, {O}, {DK}, {DK}) {{
{with_role(FORWARD, "forward")}{with_role(BACKWARD, "backward")}
    return %o, %dq, %dk, %dv : {O}, {O}, {DK}, {DK}
  }}
}}""")
