# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# UNSUPPORTED: sanitizer
# RUN: %python %s %source
"""Strategies as dictionaries and as classes: their text is that of the schema, of which every field, and every value of an enumeration, is there with
its type and its documentation; what does not fit is an error with its place."""
import inspect
import pathlib
import re
import subprocess
import sys

import numpy

from meshwright import StrategyError
from meshwright import strategy as s
from meshwright._message import Message, text_of
from packages import raises

root = pathlib.Path(sys.argv[1])

# Every message and field of the schema, read by protobuf's compiler and not by the generator.
described = subprocess.run(["protoc", f"--proto_path={root}", "--descriptor_set_out=/dev/stdout", "lib/Strategy/strategy.proto"],
                           stdout=subprocess.PIPE, check=True).stdout
decoded = subprocess.run(["protoc", "--decode=google.protobuf.FileDescriptorSet", "google/protobuf/descriptor.proto"], input=described,
                         stdout=subprocess.PIPE, check=True).stdout.decode()
messages, open_message = {}, None
for line in decoded.splitlines():
    if line == "  message_type {":
        open_message = []
    elif line == "  }" and open_message:
        messages[open_message[0]] = open_message[1:]
        open_message = None
    elif open_message is not None and (match := re.match(r'(?:    |      )name: "(\w+)"$', line)):
        open_message.append(match[1])
assert len(messages) > 30 and messages["Axis"] == ["name", "size"], messages
for name, fields in messages.items():
    made = getattr(s, name)
    # Enumerations and oneofs inside a message have names of their own.
    assert set(made.FIELDS) <= set(fields) and len(made.FIELDS) >= 1, name
    assert all(field in made.FIELDS for field in fields if re.search(rf"^\s+(optional|repeated|required)?\s*[\w.]+ {field} = \d", (root / "lib/Strategy/strategy.proto").read_text(), re.M)
               and field.islower() and field not in ("optimizer", "distribution", "bound", "scale", "schedule")), (name, fields)
    parameters = inspect.signature(made).parameters
    assert list(parameters) == list(made.FIELDS) and all(p.kind == p.KEYWORD_ONLY and p.annotation for p in parameters.values())
    assert all(f"{field}: " in made.__init__.__doc__ for field in made.FIELDS)

# Text.
made = s.Strategy(
    mesh=s.Mesh(axes=[s.Axis(name="dp", size=2), {"name": "t\"p\\", "size": numpy.int64(3)}]),
    train=s.Train(adamw=s.AdamW(lr={"constant": 0.1}, beta1=float("inf")), group=[]),
    model={"unroll_loops": True, "parameters": "p.*"},
    pipeline=s.Pipeline(axis="pp", schedule="1F1B"), zero={"axes": ("dp",), "ownership": "WHOLE"})
assert str(made) == r'''mesh {
  axes {
    name: "dp"
    size: 2
  }
  axes {
    name: "t\"p\\"
    size: 3
  }
}
model {
  parameters: "p.*"
  unroll_loops: true
}
train {
  adamw {
    lr {
      constant: 0.1
    }
    beta1: inf
  }
}
zero {
  axes: "dp"
  ownership: WHOLE
}
pipeline {
  axis: "pp"
  schedule: "1F1B"
}''', str(made)
assert made == s.Strategy.from_dict({"zero": {"axes": "dp", "ownership": "WHOLE"}, "mesh": made.mesh, "model": made.model, "train": made.train,
                                     "pipeline": {"axis": "pp", "schedule": "1F1B"}})
assert text_of("mesh { }") == "mesh { }" and str(s.Train(sgd={})) == "sgd { }"
made.mesh = None
made.fetch = "grad/*"
assert "mesh" not in str(made) and made.fetch == ["grad/*"]
assert str(s.Strategy.from_dict({"train": {"gradient_merge": {"steps": 2}}})) == "train {\n  gradient_accumulation {\n    steps: 2\n  }\n}"
assert "axes=[Axis(name='dp', size=2)]" in repr(s.Mesh(axes=[s.Axis(name="dp", size=2)]))

# Errors.
raises(StrategyError, 'strategy.mesh.axes[1] has no field called "sise"; it has name, size', text_of,
       {"mesh": {"axes": [{"name": "dp", "size": 2}, {"name": "tp", "sise": 2}]}})
raises(StrategyError, "axis.size takes int64 but got '2'", s.Axis, name="dp", size="2")
raises(StrategyError, "axis.size takes int64 but got True", s.Axis, name="dp", size=True)
raises(StrategyError, "strategy.model.unroll_loops takes bool but got 1", text_of, {"model": {"unroll_loops": 1}})
raises(StrategyError, "takes a Mesh or a dictionary but got 3", s.Strategy, mesh=3)
raises(StrategyError, 'mesh has no field called "sides"; it has axes', setattr, s.Mesh(), "sides", 3)
raises(TypeError, "unexpected keyword argument", s.Mesh, sides=3)
assert issubclass(s.Strategy, Message)
