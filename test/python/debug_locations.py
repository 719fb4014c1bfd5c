# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes the debug locations out of a graph as JAX prints it."""
import re


def find_end(line, start):
    """The position after the parenthesis that the one at `start` opens."""
    depth, quoted = 0, False
    for position in range(start, len(line)):
        character = line[position]
        if character == '"' and line[position - 1] != "\\":
            quoted = not quoted
        if not quoted:
            depth += (character == "(") - (character == ")")
        if depth == 0:
            return position + 1
    raise ValueError(f"a location does not end: {line}")


def strip(text):
    """The text without locations, but those that name arguments of the graph."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("#loc"):
            continue
        while "func.func public @main" not in line and (start := line.find(" loc(")) >= 0:
            line = line[:start] + line[find_end(line, start + 4):]
        lines.append(re.sub(r" loc\(#loc\d*\)", "", line))
    return "\n".join(lines)
