//===- KernelLowering.cpp - lowers a kernel's functions to LLVM -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two ways lead to the llvm dialect: functions written as loops by an emitter (LoopEmitter, GpuEmitter), and whole
// kernels bufferized from linalg, for operations without a loop plan. Both share the expansion of math functions and
// the entry points.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Codegen/KernelLowering.h"
#include "ExactExpansion.h"
#include "FloatExpansion.h"
#include "IntegerPower.h"
#include "KernelAccess.h"
#include "MathExpansion.h"
#include "TwinExpansion.h"
#include "dialects/Dist/Interfaces.h"
#include "meshwright/Codegen/KernelModule.h"
#include "meshwright/Codegen/Targets.h"
#include "meshwright/Kernels/KernelBody.h"
#include "meshwright/Support/Bytes.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace meshwright;
using namespace meshwright::emit;
using schedule::getSignless;

void emit::registerKernelDialects(DialectRegistry &registry) {
  registry
      .insert<affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect, cf::ControlFlowDialect,
              func::FuncDialect, LLVM::LLVMDialect, linalg::LinalgDialect, math::MathDialect, memref::MemRefDialect,
              scf::SCFDialect, tensor::TensorDialect, vector::VectorDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

void emit::loadKernelDialects(MLIRContext &context) {
  context.loadDialect<affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect,
                      cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect, linalg::LinalgDialect,
                      math::MathDialect, memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                      vector::VectorDialect>();
}

KernelLowering::KernelLowering(dist::KernelOp kernel)
    : kernel(kernel), location(kernel.getLoc()), module(ModuleOp::create(location)) {
  for (Value input : kernel.getInputs())
    types.push_back(getSignless(input.getType()));
  for (Type type : kernel.getResultTypes())
    types.push_back(getSignless(type));
  unsigned next = 0;
  for (unsigned index = 0; index < types.size(); ++index) {
    int64_t shared =
        index < getNumInputs() || !kernel.getInPlace() ? -1 : (*kernel.getInPlace())[index - getNumInputs()];
    pointerOf.push_back(shared >= 0 ? pointerOf[shared] : next++);
  }
}

unsigned KernelLowering::getNumInputs() { return kernel.getInputs().size(); }

void KernelLowering::addFunction(StringRef name, function_ref<void(LoopBuilder &, ValueRange)> emit) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  unsigned numPointers = *llvm::max_element(pointerOf) + 1 + hasScratch;
  SmallVector<Type> arguments(numPointers, pointer);
  if (division)
    arguments.append(2, builder.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), arguments);
  auto function = LLVM::LLVMFuncOp::create(builder, location, name, type, LLVM::Linkage::Internal);
  for (unsigned index = 0; index < numPointers; ++index)
    function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  LoopBuilder inner(location, builder);
  Block *entry = function.addEntryBlock(inner);
  inner.setInsertionPointToEnd(entry);
  SmallVector<Value> pointers;
  for (unsigned which : pointerOf)
    pointers.push_back(entry->getArgument(which));
  for (unsigned index = numPointers - hasScratch; index < arguments.size(); ++index)
    pointers.push_back(entry->getArgument(index));
  emit(inner, pointers);
  LLVM::ReturnOp::create(inner, ValueRange());
}

/// Constant tensors that are one number everywhere are filled: as constants they would be memory of the kernel's own.
static void fillConstants(func::FuncOp func) {
  func.walk([](arith::ConstantOp constant) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense || !dense.isSplat())
      return;
    auto type = cast<RankedTensorType>(dense.getType());
    LoopBuilder builder(constant.getLoc(), constant);
    Value number = arith::ConstantOp::create(builder, dense.getSplatValue<TypedAttr>());
    Value empty = tensor::EmptyOp::create(builder, type.getShape(), type.getElementType());
    constant.getResult().replaceAllUsesWith(linalg::FillOp::create(builder, number, empty).getResult(0));
    constant.erase();
  });
}

/// Temporaries that bufferization needs lie on the stack, or are freed at the end where they are large.
static void placeTemporaries(func::FuncOp func) {
  constexpr int64_t kMaxStackBytes = 1 << 16;
  SmallVector<memref::AllocOp> allocations;
  func.walk([&](memref::AllocOp op) { allocations.push_back(op); });
  for (memref::AllocOp op : allocations) {
    MemRefType type = op.getType();
    LoopBuilder builder(op.getLoc(), op);
    bool isOutside = op->getBlock() == &func.getBody().front();
    if (isOutside && type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8) > kMaxStackBytes) {
      builder.setInsertionPoint(func.getBody().front().getTerminator());
      memref::DeallocOp::create(builder, op);
      continue;
    }
    if (!isOutside)
      builder.setInsertionPointToStart(&func.getBody().front());
    op.replaceAllUsesWith(memref::AllocaOp::create(builder, type).getResult());
    op.erase();
  }
}

func::FuncOp KernelLowering::createFunction(StringRef name) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  SmallVector<Type> memrefs;
  for (auto [index, type] : llvm::enumerate(types)) {
    // No element, whatever the shape: MLIR has no pointer to a matrix of rows without elements.
    SmallVector<int64_t> shape(type.getShape());
    if (type.getNumElements() == 0)
      shape = {0};
    if (pointerOf[index] == memrefs.size())
      memrefs.push_back(MemRefType::get(shape, type.getElementType()));
  }
  auto func = func::FuncOp::create(builder, location, name, builder.getFunctionType(memrefs, {}));
  func.setPrivate();
  func->setAttr("llvm.linkage", LLVM::LinkageAttr::get(func.getContext(), LLVM::Linkage::Internal));
  for (unsigned index = 0; index < memrefs.size(); ++index)
    func.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  func.addEntryBlock();
  return func;
}

/// Computes the outputs from the inputs as tensors. An input without elements is not read, and an output without is not
/// written.
LogicalResult KernelLowering::buildBody(func::FuncOp func) {
  Block *block = &func.getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  ArrayRef<unsigned> outputPointers = ArrayRef(pointerOf).drop_front(getNumInputs());
  SmallVector<Value> inputs;
  for (unsigned index = 0; index < getNumInputs(); ++index) {
    RankedTensorType type = types[index];
    bool isWritten = llvm::is_contained(outputPointers, pointerOf[index]);
    if (type.getNumElements() == 0)
      inputs.push_back(tensor::EmptyOp::create(builder, location, type.getShape(), type.getElementType()));
    else
      inputs.push_back(bufferization::ToTensorOp::create(builder, location, type, block->getArgument(pointerOf[index]),
                                                         /*restrict=*/true, /*writable=*/isWritten));
  }
  FailureOr<SmallVector<Value>> outputs = schedule::lowerBody(kernel.getBody().front(), builder, inputs);
  if (failed(outputs))
    return failure();
  for (auto [output, which] : llvm::zip_equal(*outputs, outputPointers))
    if (cast<RankedTensorType>(output.getType()).getNumElements() != 0)
      bufferization::MaterializeInDestinationOp::create(builder, location, Type(), output, block->getArgument(which),
                                                        /*restrict=*/true, /*writable=*/true);
  func::ReturnOp::create(builder, location);
  return success();
}

/// Lets `op` read as much of an operand as its result takes, if that is a part from the beginning on: the extents of
/// loops are those of the first operand that a loop indexes by itself.
static void cutOperands(linalg::LinalgOp op, OpBuilder &builder) {
  SmallVector<int64_t> extents(op.getNumLoops(), ShapedType::kDynamic);
  for (OpOperand &init : op.getDpsInitsMutable())
    for (auto [expr, size] : llvm::zip(op.getMatchingIndexingMap(&init).getResults(), op.getShape(&init)))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        extents[dim.getPosition()] = size;
  for (OpOperand *input : op.getDpsInputOperands()) {
    SmallVector<int64_t> sizes(op.getShape(input));
    for (auto [expr, size] : llvm::zip(op.getMatchingIndexingMap(input).getResults(), sizes))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && !ShapedType::isDynamic(extents[dim.getPosition()]))
        size = extents[dim.getPosition()];
    if (ArrayRef(sizes) == op.getShape(input))
      continue;
    auto type = cast<MemRefType>(input->get().getType());
    auto [strides, offset] = type.getStridesAndOffset();
    auto layout = StridedLayoutAttr::get(builder.getContext(), offset, strides);
    auto cut = MemRefType::get(sizes, type.getElementType(), layout, type.getMemorySpace());
    input->set(memref::ReinterpretCastOp::create(builder, op.getLoc(), cut, input->get(), offset, sizes, strides));
  }
}

LogicalResult KernelLowering::addBufferized(StringRef name) {
  func::FuncOp func = createFunction(name);
  if (failed(buildBody(func)))
    return failure();
  fillConstants(func);
  IRRewriter rewriter(module->getContext());
  // Removes the makers of empty outputs, and the values that stood for empty inputs.
  (void)runRegionDCE(rewriter, func->getRegions());
  bufferization::OneShotBufferizationOptions options;
  options.allowReturnAllocsFromLoops = true;
  options.bufferizeFunctionBoundaries = false;
  bufferization::BufferizationState state;
  if (failed(bufferization::eliminateEmptyTensors(rewriter, *module)) ||
      failed(bufferization::runOneShotBufferize(*module, options, state)))
    return kernel.emitError() << "kernel cannot be bufferized";
  SmallVector<linalg::LinalgOp> structured;
  func.walk([&](linalg::LinalgOp op) { structured.push_back(op); });
  for (linalg::LinalgOp op : structured) {
    rewriter.setInsertionPoint(op);
    cutOperands(op, rewriter);
    if (failed(linalg::linalgOpToLoops(rewriter, op)))
      return kernel.emitError() << "kernel has an operation without loops";
    rewriter.eraseOp(op);
  }
  placeTemporaries(func);
  return success();
}

/// Polynomials in f32 where they are good to the last digits, integer operations for bf16 and floats of 8 bits, and
/// expansions of the rest where there is no library.
LogicalResult KernelLowering::simplifyMath(MathFunctions functions, bool roundsToBf16) {
  RewritePatternSet patterns(module->getContext());
  if (functions != MathFunctions::Library)
    populateMathExpansionPatterns(patterns);
  if (functions == MathFunctions::Approximate)
    populateApproximationPatterns(patterns);
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained({math::ExpOp::getOperationName(), math::LogOp::getOperationName(),
                               math::TanhOp::getOperationName(), math::ErfOp::getOperationName(),
                               math::ErfcOp::getOperationName(), math::Log1pOp::getOperationName(),
                               math::ExpM1Op::getOperationName()},
                              name);
  });
  if (!roundsToBf16)
    arith::populateExpandBFloat16Patterns(patterns);
  populateFloatExpansionPatterns(patterns);
  populateIntegerPowerPatterns(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  populateAffineToStdConversionPatterns(patterns);
  GreedyRewriteConfig config;
  config.enableFolding(true);
  return applyPatternsGreedily(*module, std::move(patterns), config);
}

/// Lowers loops, and functions to calls of the library if there is one.
LogicalResult KernelLowering::lowerStructure(MathFunctions functions) {
  MLIRContext *context = module->getContext();
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  if (functions == MathFunctions::Library)
    populateMathToLibmConversionPatterns(patterns);
  ConversionTarget target(*context);
  target.addLegalDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                         memref::MemRefDialect, vector::VectorDialect>();
  // LLVM lowers its intrinsics itself, with vectors if it can.
  target.addLegalOp<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp,
                    math::RoundEvenOp, math::SqrtOp>();
  target.addIllegalOp<math::Atan2Op, math::CbrtOp, math::ErfOp, math::ErfcOp, math::ExpM1Op, math::Log1pOp,
                      math::TanOp>();
  bool hasLibrary = functions == MathFunctions::Library;
  target.addDynamicallyLegalOp<math::CosOp, math::ExpOp, math::LogOp, math::PowFOp, math::SinOp, math::TanhOp>(
      [=](Operation *) { return hasLibrary; });
  target.addIllegalDialect<scf::SCFDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  if (failed(applyPartialConversion(*module, target, std::move(patterns))))
    return kernel.emitError() << "kernel has a function that no library has";
  return success();
}

LogicalResult KernelLowering::convertToLLVM() {
  MLIRContext *context = module->getContext();
  LowerToLLVMOptions options(context);
  options.useBarePtrCallConv = true;
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  if (failed(applyFullConversion(*module, target, std::move(patterns))))
    return kernel.emitError() << "kernel cannot be lowered to LLVM";
  return success();
}

LogicalResult KernelLowering::lower(MathFunctions functions, bool roundsToBf16) {
  if (numbers == Numbers::Residues && failed(expandExact(*module, wordScale)))
    return failure();
  if (numbers == Numbers::Doubles && failed(expandTwin(*module, wordScale)))
    return failure();
  return success(succeeded(simplifyMath(functions, roundsToBf16)) && succeeded(lowerStructure(functions)) &&
                 succeeded(convertToLLVM()));
}

void KernelLowering::addBuffers(StringRef name, StringRef callee) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto function = module->lookupSymbol<LLVM::LLVMFuncOp>(callee);
  SmallVector<int64_t> numbers = {static_cast<int64_t>(types.size())};
  for (auto [type, which] : llvm::zip_equal(types, pointerOf)) {
    auto memory = std::distance(pointerOf.begin(), llvm::find(pointerOf, which));
    auto access = static_cast<int64_t>(findAccess(function.getArgument(which)));
    numbers.append({getBytes(type) * wordScale, access, static_cast<int64_t>(memory)});
  }
  auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), numbers.size());
  auto global = LLVM::GlobalOp::create(builder, location, type, /*isConstant=*/true, LLVM::Linkage::External, name,
                                       builder.getI64TensorAttr(numbers));
  // The table of the kernels alone refers to it.
  global.setVisibility_(LLVM::Visibility::Hidden);
}

/// The function that takes the addresses out of an array, and the iterations as they come. Each output that shares an
/// input's memory is taken out once, so that no two pointers of the function alias.
LLVM::LLVMFuncOp KernelLowering::addCall(StringRef name, StringRef callee) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  MLIRContext *context = builder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> taken = {pointer};
  if (division)
    taken.append(2, builder.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), taken);
  auto entry = LLVM::LLVMFuncOp::create(builder, location, name, type);
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToEnd(block);
  SmallVector<Value> arguments;
  auto addAddress = [&](size_t index) {
    Value slot = LLVM::GEPOp::create(builder, location, pointer, pointer, block->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    arguments.push_back(LLVM::LoadOp::create(builder, location, pointer, slot));
  };
  for (auto [index, which] : llvm::enumerate(pointerOf))
    if (which == arguments.size())
      addAddress(index);
  if (hasScratch)
    addAddress(types.size());
  llvm::append_range(arguments, block->getArguments().drop_front());
  LLVM::CallOp::create(builder, location, TypeRange(), callee, arguments);
  LLVM::ReturnOp::create(builder, location, ValueRange());
  return entry;
}

/// Adds `name`, which runs all iterations of `part`, and the record by which the runtime divides them.
void KernelLowering::addDivision(StringRef name, LLVM::LLVMFuncOp part) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  MLIRContext *context = builder.getContext();
  // The loops are there once.
  part.setPassthroughAttr(builder.getStrArrayAttr({"noinline"}));
  part.setVisibility_(LLVM::Visibility::Hidden);
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto entry = LLVM::LLVMFuncOp::create(builder, location, name,
                                        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer}));
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToEnd(block);
  auto addNumber = [&](int64_t number) {
    return LLVM::ConstantOp::create(builder, location, builder.getI64IntegerAttr(number)).getResult();
  };
  Value first = addNumber(0), end = addNumber(division->iterations);
  LLVM::CallOp::create(builder, location, part, ValueRange{block->getArgument(0), first, end});
  LLVM::ReturnOp::create(builder, location, ValueRange());

  builder.setInsertionPointToEnd(module->getBody());
  Type number = builder.getI64Type();
  auto type = LLVM::LLVMStructType::getLiteral(context, {pointer, number, number});
  auto record = LLVM::GlobalOp::create(builder, location, type, /*isConstant=*/true, LLVM::Linkage::External,
                                       (name + "_division").str(), Attribute());
  record.setVisibility_(LLVM::Visibility::Hidden);
  builder.setInsertionPointToEnd(builder.createBlock(&record.getInitializerRegion()));
  Value content = LLVM::UndefOp::create(builder, location, type);
  Value fields[] = {LLVM::AddressOfOp::create(builder, location, part), addNumber(division->iterations),
                    addNumber(division->grain)};
  for (auto [index, field] : llvm::enumerate(fields))
    content = LLVM::InsertValueOp::create(builder, location, content, field, static_cast<int64_t>(index));
  LLVM::ReturnOp::create(builder, location, content);
}

void KernelLowering::addEntry(StringRef name, StringRef callee) {
  addBuffers((name + "_buffers").str(), callee);
  if (division)
    addDivision(name, addCall((name + "_part").str(), callee));
  else
    addCall(name, callee);
}

void KernelLowering::addDeviceEntry(StringRef name, StringRef callee, unsigned threads) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  MLIRContext *context = builder.getContext();
  SmallVector<Type> pointers(types.size() + hasScratch, LLVM::LLVMPointerType::get(context));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), pointers);
  auto entry = LLVM::LLVMFuncOp::create(builder, location, name, type, LLVM::Linkage::External, /*dsoLocal=*/false,
                                        LLVM::CConv::PTX_Kernel);
  for (unsigned index = 0; index < pointers.size(); ++index)
    entry.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  // Registers are shared out among so many threads.
  Attribute limit[] = {builder.getStringAttr("nvvm.maxntid"), builder.getStringAttr(std::to_string(threads))};
  entry.setPassthroughAttr(builder.getArrayAttr(builder.getArrayAttr(limit)));
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToEnd(block);
  SmallVector<Value> arguments;
  for (auto [index, which] : llvm::enumerate(pointerOf))
    if (which == arguments.size())
      arguments.push_back(block->getArgument(index));
  if (hasScratch)
    arguments.push_back(block->getArguments().back());
  LLVM::CallOp::create(builder, location, TypeRange(), callee, arguments);
  LLVM::ReturnOp::create(builder, location, ValueRange());
}
