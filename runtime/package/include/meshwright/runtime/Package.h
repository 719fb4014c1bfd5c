//===- Package.h - a package that can be run --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A package is a folder that need not come from the compiler: every index, offset, size and stride in it is checked
// here, once, so that execution need not check again.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_RUNTIME_PACKAGE_H
#define MESHWRIGHT_RUNTIME_PACKAGE_H

#include "meshwright/runtime/Files.h"
#include "meshwright/runtime/Layout.h"
#include <algorithm>

namespace meshwright::runtime {

/// The layouts of the variables and ports of a program: of the distributed programs, or of the serial one.
struct ProgramLayouts {
  std::vector<Layout> variables, inputs, outputs;
};

/// Steps of an accumulation in which every program runs the same items of its schedule: positions `begin` to `end` - 1.
struct StepVariant {
  uint32_t begin, end;
};

/// True if a step at that position of gradient accumulation runs the item.
inline bool runsAt(const ScheduleItem &item, uint32_t position) {
  return item.first_step() <= position && position < item.end_step();
}

/// True if a program has several actions, as in a pipeline.
inline bool hasActions(const Program &program) {
  return std::any_of(program.tasks().begin(), program.tasks().end(),
                     [&](const Task &task) { return task.action() != program.tasks(0).action(); });
}

/// Calls fn(instruction, item) for what a step at that position of an accumulation runs, in order.
template <typename Fn> void forEachInstruction(const Program &program, uint32_t position, Fn &&fn) {
  for (const ScheduleItem &item : program.schedule())
    if (runsAt(item, position))
      for (const Instruction &instruction : program.tasks(static_cast<int>(item.task())).instructions())
        fn(instruction, item);
}

/// A checked package. Never changes; programs are run by a Session.
class LoadedPackage {
public:
  /// Reads and checks `package.pb` and `constants.bin` in `folder`.
  static Result<LoadedPackage> open(const std::string &folder);
  /// The same for a message in memory, whose hashes are not looked at; `constants` may be absent where no constant
  /// needs it.
  static Result<LoadedPackage> create(meshwright::Package message, std::string folder,
                                      std::optional<InputFile> constants);
  /// The same programs for residues instead of floats, at the same places of larger arenas, with the kernels that the
  /// package has for them. Without the evaluation.
  Result<LoadedPackage> createExact() const;
  /// True if the package was made by `createExact`.
  bool isExact() const { return number == RESIDUE; }
  /// The same programs for f64 instead of floats, of which only the serial one has kernels: its twin, which rounds as
  /// Rounding.h says.
  Result<LoadedPackage> createTwin() const;
  /// True if the package has the kernels of a twin.
  bool hasTwin() const;
  /// True if the package was made by `createTwin`.
  bool isTwin() const { return number == F64; }

  const meshwright::Package &message() const { return *content; }
  const std::string &getFolder() const { return folder; }
  const Mesh &getMesh() const { return mesh; }
  /// Stands for all files of the package, as `package.pb` says.
  uint64_t getHash() const { return content->hash(); }
  /// Checks the bytes of a library's file against the package; `path` goes into errors. A package that was made in
  /// memory says nothing of its files.
  Status checkLibraryFile(const KernelLibrary &library, std::span<const std::byte> bytes,
                          const std::string &path) const;
  std::span<const std::byte> getConstants() const {
    return constants ? constants->bytes() : std::span<const std::byte>();
  }
  /// So many steps are accumulated into one update.
  uint32_t getAccumulationSteps() const { return variants.back().end; }
  /// So many micro-batches a step goes through.
  uint32_t getMicroBatches() const { return std::max(content->micro_batches(), 1u); }
  /// The variants of the step, by their positions; together they are the steps of an accumulation.
  const std::vector<StepVariant> &getVariants() const { return variants; }
  /// The index of the variant that runs at a position.
  size_t getVariant(uint32_t position) const;
  /// The programs that evaluate, which share variables and arenas with these; null where there are none.
  const LoadedPackage *getEvaluation() const { return evaluation.get(); }
  bool hasSerial() const { return content->has_serial(); }
  const ProgramLayouts &getLayouts() const { return layouts; }
  const ProgramLayouts &getSerialLayouts() const { return serialLayouts; }
  /// The narrowest float type in which the serial program (or else the distributed ones) computes, in its buffers or,
  /// as the compiler says, between them; F64 if none does.
  DType getArithmetic() const;

private:
  LoadedPackage() = default;
  Result<LoadedPackage> convert(DType number, const KernelLibrary &library, uint64_t scale) const;
  Status check();
  Status checkConstants() const;
  Status checkValues();
  Status checkPrograms();
  Status checkSupports() const;
  Status openEvaluation();

  std::unique_ptr<meshwright::Package> content;
  std::string folder;
  /// Shared with the programs that evaluate; null where there are none.
  std::shared_ptr<const InputFile> constants;
  std::unique_ptr<LoadedPackage> evaluation;
  Mesh mesh;
  std::vector<StepVariant> variants;
  ProgramLayouts layouts, serialLayouts;
  /// The number that stands for floats in a package that was made of another one.
  DType number = DTYPE_INVALID;
};

/// Checks one program against the package that holds it and the ranks that run it. `context` names it in errors.
Status checkProgram(const LoadedPackage &package, const Program &program, const Mesh &mesh,
                    const ProgramLayouts &layouts, std::span<const int64_t> ranks, const std::string &context);

/// Checks that the programs of `evaluation` find their variables where those of `package` keep them, and write nothing
/// that these keep from step to step.
Status checkEvaluation(const meshwright::Package &package, const meshwright::Package &evaluation);

/// Checks that no arena of a package whose programs are checked is larger than its buffers need.
Status checkArenas(const meshwright::Package &package);

/// The bytes of a checked buffer's array (the buffer may be larger).
uint64_t getArrayBytes(const Buffer &buffer);

/// The last address (in elements, from the beginning of the buffer) that a strided array touches;
/// nothing where they cannot be counted. Strides are not negative.
std::optional<uint64_t> getLastElement(std::span<const int64_t> sizes, std::span<const int64_t> strides);

} // namespace meshwright::runtime

#endif
