# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Tests that the language server knows our operations: it explains one under the cursor, and locates an error of our verifiers."""
import json
import subprocess

TEXT = """net.variable parameter @w : tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = net.read @w : tensor<4xf32>
  %y = net.add %x, %w : tensor<4xf32>
  %z = net.read @missing : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
URI = "file:///network.mlir"
server = subprocess.Popen(["meshwright-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def send(method, params, number=None):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    body = json.dumps(message).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()


def receive(wanted):
    """The next message that `wanted` accepts."""
    while True:
        length = 0
        while (line := server.stdout.readline().strip()):
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        assert length, "the server has ended"
        message = json.loads(server.stdout.read(length))
        if wanted(message):
            return message


send("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
assert receive(lambda message: message.get("id") == 1)["result"]["capabilities"]["hoverProvider"]
send("initialized", {})
send("textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "mlir", "version": 1, "text": TEXT}})
found = receive(lambda message: message.get("method") == "textDocument/publishDiagnostics")["params"]["diagnostics"]
assert len(found) == 1, found
assert "names @missing, which is no variable" in found[0]["message"], found
assert found[0]["range"]["start"]["line"] == 4, found

send("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": TEXT.replace("@missing", "@w")}]})
assert receive(lambda message: message.get("method") == "textDocument/publishDiagnostics")["params"]["diagnostics"] == []
send("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": 3, "character": 10}}, 2)
assert "net.add" in receive(lambda message: message.get("id") == 2)["result"]["contents"]["value"]
send("shutdown", None, 3)
receive(lambda message: message.get("id") == 3)
send("exit", None)
assert server.wait(timeout=30) == 0
