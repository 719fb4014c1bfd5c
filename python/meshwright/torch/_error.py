# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception


class ExportError(Exception):
    """The module has no text, or not this one; the message says what was found and where in the model."""
