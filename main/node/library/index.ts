/**
 * The Node door of the library, `rlx-workbench/node`: files, the native engines, sessions that run graphs and write text, and
 * Core ML packages. Graphs come from the portable door. docs/library.md shows how it is used.
 */

// Graphs on the CPU engine
export { compileForCpu } from "./cpu.ts";
export type { CpuOptions, CpuProgram, CpuRunOptions, CpuSession, TypedTensor } from "./cpu.ts";
// Devices for training sessions
export { simulatedTraining, trainingDevice } from "./training.ts";
export type { TrainingDeviceOptions } from "./training.ts";
export { loadCheckpoint, saveCheckpoint } from "./checkpoints.ts";
// Fine-tuning of a model's file: an adapter beside it (LoRA), or its own weights
export { batchOf } from "../../training/tuning/tuning.ts";
export type { TokenWindow, Tuning } from "../../training/tuning/tuning.ts";
export { loraTuning } from "../../training/tuning/lora.ts";
export type { LoraOptions, LoraTuning } from "../../training/tuning/lora.ts";
export { fullTuning } from "../../training/tuning/full.ts";
export type { FullOptions, FullTuning } from "../../training/tuning/full.ts";
export { mergeAdapters, saveAdapter, saveTuned } from "./tuning.ts";
export type { SaveAdapterOptions, SaveTunedOptions } from "./tuning.ts";
export type { TrainedNumbers } from "../../training/tuning/result.ts";
export { devices } from "./addon.ts";
export type { DeviceFact } from "./addon.ts";

// Models: files, sessions, text
export { openModel, sampleModel } from "./model.ts";
export type {
  ExpertUseOptions,
  Model,
  ModelSession,
  OpenModelOptions,
  Prompt,
  SessionOptions,
  TextOptions,
} from "./model.ts";
export type { ExpertUse, LayerUse } from "../../runtime/expertUse.ts";
export type { FinishReason, GenerateEvent, GenerateStats } from "../../runtime/generate.ts";
export type { SamplingSettings, TokenBias } from "../../runtime/sampling/settings.ts";
export type { PromptCacheFacts } from "../../runtime/promptCache.ts";
export type { DecoderSession } from "../../runtime/decoderSession.ts";

// Other containers and types
export { convertModel } from "./convert.ts";
export type { ConvertModelOptions } from "./convert.ts";
export type { ConvertProgress } from "../../formats/gguf/convert.ts";
// The same model in smaller types
export { quantizeModel } from "./quantize.ts";
export type { QuantizeModelOptions } from "./quantize.ts";
export type { QuantizeProgress, QuantizeReport } from "../../quantize/write.ts";
// Which file of a model to take
export { compareQuality } from "./quality.ts";
export type { QualityOptions } from "./quality.ts";
export type { Distance } from "../../runtime/quality.ts";
// Vectors of texts
export type { Embedder, EmbedderOptions, EmbedTextOptions, RankedDocument } from "./embedder.ts";

// The numbers in its tensors
export { blockScales, checkModel, compareModels, tensorStatistics, tensorValues } from "./tensors.ts";
export type { CheckModelOptions, CompareModelsOptions, PageOptions, StatisticsOptions } from "./tensors.ts";
export type { CheckProgress, CheckReport } from "../../statistics/check.ts";
export type { ComparedTensor, CompareProgress, Comparison, ErrorSum, LeftOut } from "../../statistics/compare.ts";
export type { Finding } from "../../statistics/findings.ts";
export type { Spread } from "../../statistics/scales.ts";
export type { TensorScan } from "../../statistics/scan.ts";
export type { PageOfValues } from "../../statistics/values.ts";

// What the workbench says of a model on a runtime and a target
export { advise, graphSvg, pipelineSteps } from "./subjects.ts";
export type { AdviseOptions, GraphSvgOptions, ModelAdvice, ModelStep, SubjectOptions } from "./subjects.ts";

// Core ML packages
export { exportGraph, exportModel, openPackage } from "./packages.ts";
export { requireModelFits } from "../../backends/coreml/package.ts";
export type {
  GraphPackageOptions,
  ModelPackageOptions,
  PackageOptions,
  PredictOptions,
  SimulatedPackage,
} from "./packages.ts";
export type { ExportProgress, ExportReport } from "../../backends/coreml/export.ts";
export type { PackageState } from "../../backends/coreml/package/packageRunner.ts";
export type { PackageTensor } from "../../backends/coreml/package/packageTensor.ts";
