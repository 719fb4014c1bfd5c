//===- Pipeline.h - the actions of a pipeline as modules --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_LIB_EXPORT_PIPELINE_H
#define MESHWRIGHT_LIB_EXPORT_PIPELINE_H

#include "meshwright/Export/Export.h"

namespace meshwright::exporter {

/// The modules of a pipelined step and the list of who runs which. `module` has the functions of the actions and their
/// order, as CutTasks leaves them, and is changed. Fails after an error at what cannot be written.
mlir::FailureOr<Exported> writePipeline(mlir::ModuleOp module, ModuleForm form);

} // namespace meshwright::exporter

#endif
