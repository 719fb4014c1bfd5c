# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The format of lit tests in builds with sanitizers, and of those under memcheck."""
import lit.Test
from case_table import TableTests
from sanitizer_reports import Reports


class SanitizedTest(TableTests):
    """A shell test that fails where a sanitizer, or memcheck, found something in one of its programs."""

    def execute(self, test, litConfig):
        # The configuration is this process's own, which runs one test at a time.
        reports = Reports(f"{test.getExecPath()}.reports", test.config.environment)
        result = super().execute(test, litConfig)
        found = reports.take()
        return lit.Test.Result(lit.Test.FAIL, f"{result.output}\n{found}") if found else result
