// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: dist-opt %s -split-input-file -verify-diagnostics

// Tests mapping_c1: an axis that stands twice, in whatever places.
// expected-error @below {{axis "dp" stands twice in the dims mapping}}
func.func private @mapping_c1_dims() attributes {m = #dist.mapping<dims = [["dp"], ["dp"]]>}

// -----

// expected-error @below {{axis "dp" stands twice in the dims mapping}}
func.func private @mapping_c1_partial() attributes {m = #dist.mapping<dims = [["dp"]], partial = sum ["dp"]>}

// -----

// expected-error @below {{axis "dp" is empty or stands twice in the support}}
func.func private @mapping_c1_support() attributes {m = #dist.mapping<dims = [[]], on {"dp" = [0], "dp" = [1]}>}

// -----

// Tests digit_c1: digits and parts that are not positive.
// expected-error @below {{digit 0 of the dims mapping is not positive}}
func.func private @digit_c1_plain() attributes {m = #dist.mapping<dims = [[0, "dp"]]>}

// -----

// expected-error @below {{digit -3 of the dims mapping is not positive}}
func.func private @digit_c1_part() attributes {m = #dist.mapping<dims = [["dp" by -3]]>}

// -----

// Tests mapping_c2: holders that are no list of coordinates in increasing order.
// expected-error @below {{support of axis "dp" is empty}}
func.func private @mapping_c2_empty() attributes {m = #dist.mapping<dims = [[]], on {"dp" = []}>}

// -----

// expected-error @below {{support of axis "dp" has coordinate 1 after 1}}
func.func private @mapping_c2_twice() attributes {m = #dist.mapping<dims = [[]], on {"dp" = [1, 1]}>}

// -----

// Tests what the parser says.
// expected-error @below {{expected 'dims'}}
func.func private @mapping_keyword() attributes {m = #dist.mapping<dim = [[]]>}

// -----

// expected-error @below {{expected string}}
func.func private @mapping_digit() attributes {m = #dist.mapping<dims = [[dp]]>}
