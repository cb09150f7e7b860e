# SPDX-License-Identifier: Apache-2.0
"""Exceptions. Each is a leat.Error, and also what Python itself would raise in such a case."""
from __future__ import annotations

from typing import Any


class Error(Exception):
    """Something that leat could not do. The message says what, where, and what to do.

    code    name of the kind: "NOT_FOUND", "DECODE", ...
    stage   where in the life of a sample: "read", "decode", ...; "" if not about a sample
    sample  number of the sample in the dataset, or None
    column  column of the pipeline text, from 1; 0 if not about the text
    text    the pipeline text

        try:
            for images, labels in ds: ...
        except leat.Error as error:
            print(error.code, error.stage, error.sample, error)
    """

    code = "ARGUMENT"
    stage: str = ""
    sample: int | None = None
    column: int = 0
    text: str = ""

    def __init__(self, message: str, *rest: Any) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,), dict(self.__dict__)


class ArgumentError(Error, ValueError):
    """A wrong argument."""


class TextError(Error, ValueError):
    """The pipeline text cannot be read: an unknown name, or a value of the wrong kind."""


class NotFoundError(Error, FileNotFoundError):
    """A file, folder or field does not exist."""


class ReadError(Error, OSError):
    """The operating system, or a function of the program, refused to read or write."""


class MemoryLimitError(Error, MemoryError):
    """No memory, or the byte budget is used up."""


class FormatError(Error, ValueError):
    """The bytes are not what they should be."""


class CorruptError(FormatError):
    """A checksum does not match."""


class DecodeError(FormatError):
    """An image cannot be decoded."""


class ShapeError(Error, ValueError):
    """Shapes do not fit together."""


class DTypeError(Error, TypeError):
    """Types do not fit together."""


class LimitError(Error, ValueError):
    """Something is larger than a limit allows."""


class StateError(Error, ValueError):
    """A saved state does not belong to this pipeline."""


class ForkedError(Error, RuntimeError):
    """A pipeline that was opened before fork() is used in the child."""


class UnsupportedError(Error, NotImplementedError):
    """This cannot be done here."""


class StoppedError(Error, RuntimeError):
    """The pipeline was stopped, or could not go on."""


CLASSES: dict[str, type[Error]] = {
    "ARGUMENT": ArgumentError, "SYNTAX": TextError, "NOT_FOUND": NotFoundError, "IO": ReadError,
    "MEMORY": MemoryLimitError, "FORMAT": FormatError, "CORRUPT": CorruptError, "DECODE": DecodeError,
    "SHAPE": ShapeError, "TYPE": DTypeError, "LIMIT": LimitError, "SLOTS_HELD": StoppedError, "STATE": StateError,
    "FORKED": ForkedError, "THREAD": StoppedError, "UNSUPPORTED": UnsupportedError, "CANCELLED": StoppedError,
}
for _code, _kind in CLASSES.items():
    _kind.code = _code  # of what the package raises itself


def make(code: str, message: str, stage: str, sample: int | None, column: int, errno: int, text: str | None) -> Error:
    """The exception for an error of the engine; called by the binding."""
    error = CLASSES.get(code, Error)(message)
    error.code, error.stage, error.sample, error.column, error.text = code, stage, sample, column, text or ""
    if errno and isinstance(error, OSError):
        error.errno = errno
    if text and column > 0:
        error.add_note(f"{text}\n{' ' * (column - 1)}^")
    return error
