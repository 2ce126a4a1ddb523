/**
 * The portable door of the library, `rlx-workbench`: graphs, derivatives, evaluation, compiling, and GGUF files. It runs in
 * browsers as well as in Node. What needs a machine is behind `rlx-workbench/node`. docs/library.md shows how it is used.
 */

// Graphs
export { buildGraph, verifyGraph } from "./graphs.ts";
export type { GraphMaker, TypeText } from "./graphs.ts";
export { hostScalar, hostTensor } from "../ir/hostTensor.ts";
export type { HostTensor } from "../ir/hostTensor.ts";
export { formatType, parseType } from "../ir/type.ts";
export type { TensorType } from "../ir/type.ts";
export { printGraph, printWhole } from "../ir/text/print.ts";
export type { PrintOptions } from "../ir/text/print.ts";
export { parseGraph, readGraph } from "./graphs.ts";
export { scanOver } from "../ops/families/turns.ts";
export type { ScanLists, ScanMade, ScanOptions } from "../ops/families/turns.ts";
export { customFunction } from "../ops/families/customFn.ts";
export type { CustomFunction, CustomJvp, CustomVjp, CustomVmap } from "../ops/families/customFn.ts";
export type { ReadGraph, TextOptions } from "../ir/text/build.ts";
export type { Diagnostic, Fix } from "../ir/text/diagnostics.ts";
export { formatText } from "../ir/text/format.ts";
export { graphHash } from "../ir/hash.ts";
export { registerCustomKernel } from "../ops/signal/customKernels.ts";
export type { CustomKernel } from "../ops/signal/customKernels.ts";
export { fft2, irfft, istft, rfft, stft } from "./spectra.ts";
export type { Frames } from "./spectra.ts";
export { registerSparseKernels } from "../ops/families/sparse/kernels.ts";
export type { Bindings, Dim, Shape } from "../ir/dim.ts";
export type { DType, ElementType, PackedType } from "../ir/dtype.ts";
export type { Graph, GraphOutput, GraphState, Node, NodeId, Origin, Value } from "../ir/graph.ts";
export type { Initial } from "../ir/initial.ts";
export type { Finding } from "../ir/verify.ts";

// Derivatives and batches: a graph in, a graph out
export { grad, hvp, jacfwd, jacrev, valueAndGrad } from "../autodiff/transforms.ts";
export type { DerivativeRequest } from "../autodiff/transforms.ts";
export { gradientGraph as vjp } from "../autodiff/vjp.ts";
export type { GradientRequest } from "../autodiff/vjp.ts";
export { tangentGraph as jvp } from "../autodiff/jvp.ts";
export type { TangentRequest } from "../autodiff/jvp.ts";
export { mapGraph as vmap } from "../autodiff/vmap.ts";
export type { BatchAxis, BatchRequest } from "../autodiff/vmap.ts";
export { checkpoint } from "../compiler/recompute.ts";
export type { Checkpointed, CheckpointRequest, Trade } from "../compiler/recompute.ts";

// Running in TypeScript, and compiling
export { evaluate, freeze } from "./graphs.ts";
export type { EvaluateOptions } from "./graphs.ts";
export type { Numbers } from "../runtime/numbers.ts";
export type { Evaluation } from "../ops/evaluate.ts";
export { compileNow as compile } from "../compiler/compile.ts";
export type { Compiled, CompileOptions } from "../compiler/compile.ts";
export { formatReport } from "../compiler/legalise.ts";
export type { DispatchReport } from "../compiler/legalise.ts";
export type { Backend } from "../ops/defineOp.ts";

// Training: optimisers, schedules, and sessions over a device
export { TrainingSession } from "../training/session.ts";
export { calibrate, quantizedGraph } from "../training/quantized.ts";
export type { QuantizedBits, Ranges } from "../passes/fewBits.ts";
export type { StepResult, TrainConfig, UpdatePath } from "../training/session.ts";
export type { Fault, FaultOperand } from "../training/fault.ts";
export { trainingOn } from "../training/trainingDevice.ts";
export type { TrainingDevice, TrainingRunner } from "../training/trainingDevice.ts";
export {
  OPTIMIZERS as optimizers,
  OPTIMIZER_NAMES as optimizerNames,
  optimizerNamed,
} from "../training/optimisers/index.ts";
export type { Optimizer } from "../training/optimisers/optimizer.ts";
export { MUON_SCALINGS as muonScalings } from "../training/optimisers/muon.ts";
export { withAverage } from "../training/average.ts";
export { muonForMatrices } from "../training/groups.ts";
export type { GroupRule } from "../training/groups.ts";
export * as schedules from "../training/schedules.ts";
export type { Schedule } from "../training/schedules.ts";
export type { Clipping } from "../training/clipping.ts";
export type { LossScaleOptions } from "../training/lossScale.ts";

// GGUF files and what is in them
export { openGguf } from "../formats/gguf/open.ts";
export type { OpenOptions } from "../formats/gguf/open.ts";
export { memorySource } from "../formats/byteSource.ts";
export type { ByteSource } from "../formats/byteSource.ts";
export type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
export type { Metadata } from "../formats/gguf/metadata.ts";
export type { MetadataEntry, MetadataValue } from "../formats/gguf/values.ts";
export { previewValue } from "../formats/gguf/metadata.ts";
export { dequantize } from "../formats/quant/dequantize.ts";
// Two files, and two graphs, against each other
export { compareFiles } from "../compare/files.ts";
export type { ComparedFiles, ComparedKey, ComparedTensorForm, CompareFilesOptions } from "../compare/files.ts";
export { compareGraphs } from "../compare/graphs.ts";
export type { ComparedGraphs, ComparedOp } from "../compare/graphs.ts";
export { modelGraph, readNumbers } from "./models.ts";
export { describeModel } from "../models/describe.ts";
export type { ModelDescription } from "../models/describe.ts";
export { createTokenizer } from "../tokenizer/tokenizer.ts";
export type { DecodeOptions, EncodeOptions, Tokenizer } from "../tokenizer/tokenizer.ts";
export { chatSupport, encodeRendered, templateNames } from "../chatTemplate/chatTemplate.ts";
export type { ChatMessage, ChatSupport, ChatTemplate, RenderOptions } from "../chatTemplate/chatTemplate.ts";
export { writeConversation } from "../chatTemplate/conversation.ts";
// Answers taken apart: reasoning, words, calls of tools
export { chatPrompt } from "../runtime/chatPrompt.ts";
export type { ChatPrompt, Conversation } from "../runtime/chatPrompt.ts";
export { inspectTemplate, messagesIn, templateIn } from "../runtime/templates/inspect.ts";
export type { InspectOptions, TemplateReport, TemplateToken } from "../runtime/templates/inspect.ts";
export type { TemplateAbility } from "../runtime/templates/abilities.ts";
export type { RoundTrip } from "../runtime/templates/roundTrip.ts";
export { replyStyle } from "../replies/families.ts";
export type { ReplyStyle } from "../replies/families.ts";
export { ReplyReader } from "../replies/reader.ts";
export { parameterTypes } from "../replies/reply.ts";
export type { Reply, ReplyPiece, ToolCall } from "../replies/reply.ts";

// Errors: each has a code, a message, and often a hint
export { WorkbenchError } from "../diagnostics/errors.ts";
export type { ErrorCode } from "../diagnostics/codes.ts";
