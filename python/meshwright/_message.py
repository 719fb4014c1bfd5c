# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages of the strategy's schema, and their text. The classes of `strategy.py` are made from the schema."""
from __future__ import annotations

import operator
import re
from typing import Any, ClassVar, Dict, List, Mapping, Optional, Type

from ._errors import StrategyError


class Field:
    """A field of a message, as the schema has it."""

    def __init__(self, type: str, *, repeated: bool = False, message: Optional[Type["Message"]] = None, alias: Optional[str] = None):
        self.type, self.repeated, self.message, self.alias = type, repeated, message, alias


class Message:
    """A message: its fields are attributes, `None` where they are not set."""

    FIELDS: ClassVar[Dict[str, Field]] = {}

    def __init__(self, values: Optional[Mapping[str, Any]] = None):
        for name, value in (values or {}).items():
            if value is not None:
                value = _check(f"{_name(type(self))}.{name}", self.FIELDS[name], value)
            object.__setattr__(self, name, value)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], path: str = "") -> "Message":
        """The message with these fields; a field may have its alias for a name."""
        path = path or _name(cls)
        aliases = {field.alias: name for name, field in cls.FIELDS.items() if field.alias}
        message = cls()
        for name, value in values.items():
            known = aliases.get(name, name)
            if known not in cls.FIELDS:
                raise StrategyError(f"{path} has no field called \"{name}\"; it has {', '.join(cls.FIELDS)}")
            if value is not None:
                object.__setattr__(message, known, _check(f"{path}.{name}", cls.FIELDS[known], value))
        return message

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.FIELDS:
            raise StrategyError(f"{_name(type(self))} has no field called \"{name}\"; it has {', '.join(self.FIELDS)}")
        object.__setattr__(self, name, None if value is None else _check(f"{_name(type(self))}.{name}", self.FIELDS[name], value))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(other) == str(self)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.FIELDS if getattr(self, name) is not None)
        return f"{type(self).__name__}({fields})"

    def __str__(self) -> str:
        return "\n".join(_lines(self, ""))


def _name(cls: Type[Message]) -> str:
    """The name of a message in errors: as fields are spelt."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


def _check(path: str, field: Field, value: Any) -> Any:
    if not field.repeated:
        return _check_one(path, field, value)
    many = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
    return [_check_one(f"{path}[{index}]", field, one) for index, one in enumerate(many)]


def _check_one(path: str, field: Field, value: Any) -> Any:
    if field.message:
        if isinstance(value, field.message):
            return value
        if isinstance(value, Mapping):
            return field.message.from_dict(value, path)
    elif field.type in ("string", "enum"):
        if isinstance(value, str):
            return value
    elif field.type == "bool":
        if isinstance(value, bool) or type(value).__name__ == "bool_":
            return bool(value)
    elif field.type == "double":
        if hasattr(value, "__float__") and not isinstance(value, (bool, str)):
            return float(value)
    elif not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    wanted = f"a {field.message.__name__} or a dictionary" if field.message else {"enum": "the name of a value"}.get(field.type, field.type)
    raise StrategyError(f"{path} takes {wanted} but got {value!r}")


def _lines(message: Message, indent: str) -> List[str]:
    lines = []
    for name, field in message.FIELDS.items():
        value = getattr(message, name)
        for one in (value if field.repeated and value is not None else [] if value is None else [value]):
            if isinstance(one, Message):
                inner = _lines(one, indent + "  ")
                lines += [f"{indent}{name} {{", *inner, f"{indent}}}"] if inner else [f"{indent}{name} {{ }}"]
            else:
                lines.append(f"{indent}{name}: {_scalar(field, one)}")
    return lines


def _scalar(field: Field, value: Any) -> str:
    if field.type == "bool":
        return "true" if value else "false"
    # Names such as 1F1B, which are none to protobuf, are quoted.
    if field.type == "string" or (field.type == "enum" and not re.fullmatch(r"[A-Za-z_]\w*", value)):
        return '"' + "".join(_escape(c) for c in value) + '"'
    return repr(value) if field.type == "double" else str(value)


def _escape(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    return c if ord(c) >= 32 else f"\\{ord(c):03o}"


def text_of(strategy: Any) -> str:
    """The text of a strategy that is given as text, as a dictionary, or as a message."""
    from . import strategy as schema

    if isinstance(strategy, str):
        return strategy
    if isinstance(strategy, Mapping):
        strategy = schema.Strategy.from_dict(strategy, "strategy")
    if not isinstance(strategy, schema.Strategy):
        raise TypeError(f"a strategy is a text, a dictionary or a Strategy, but not a {type(strategy).__name__}")
    return str(strategy)
