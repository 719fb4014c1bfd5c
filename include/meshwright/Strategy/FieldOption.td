//===- FieldOption.td - options of passes that stand for fields -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strategy's field has its type, default and documentation in strategy.proto; the option of a pass that stands for it
// takes them from there.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_STRATEGY_FIELDOPTION_TD
#define MESHWRIGHT_STRATEGY_FIELDOPTION_TD

include "mlir/Pass/PassBase.td"

/// A field of a message; StrategyFields.td has a record for each.
class StrategyField<string optionType, string value, string words> {
  string type = optionType;
  string defaultValue = value;
  string text = words;
}

include "lib/Strategy/StrategyFields.td"

class FieldOption<string cppName, string argument, StrategyField of>
    : Option<cppName, argument, of.type, of.defaultValue, of.text>;
class FieldListOption<string cppName, string argument, StrategyField of>
    : ListOption<cppName, argument, "std::string", of.text>;

#endif
