// RUN: dist-opt %s --dist-emit -verify-diagnostics

// expected-error @below {{no folder was named for the package}}
module {
}
