/**
 * The one store of a window: the session and the slices of the features. It only composes: each slice writes its own fields and
 * hears of the others by events (session/slice.ts).
 */
import type { StoreApi } from "zustand/vanilla";
import { createStore } from "zustand/vanilla";
import type { EngineClient } from "../../main/contract/contract.ts";
import type { ShellBridge } from "../../main/contract/shell.ts";
import type { DevicesSlice } from "../devices/slice.ts";
import { createDevicesSlice } from "../devices/slice.ts";
import type { AdviceSlice } from "../features/advice/slice.ts";
import { createAdviceSlice } from "../features/advice/slice.ts";
import type { BenchSlice } from "../features/bench/slice.ts";
import { createChoiceSlice } from "../features/bench/choiceSlice.ts";
import type { ChoiceSlice } from "../features/bench/choiceSlice.ts";
import { createBenchSlice } from "../features/bench/slice.ts";
import type { CompareSlice } from "../features/compare/slice.ts";
import { createCompareSlice } from "../features/compare/slice.ts";
import type { ExpertsSlice } from "../features/experts/slice.ts";
import { createExpertsSlice } from "../features/experts/slice.ts";
import type { EmbedSlice } from "../features/embed/slice.ts";
import { createEmbedSlice } from "../features/embed/slice.ts";
import type { ExportSlice } from "../features/export/slice.ts";
import type { ConvertSlice } from "../features/convert/slice.ts";
import { createConvertSlice } from "../features/convert/slice.ts";
import type { QuantizeSlice } from "../features/quantize/slice.ts";
import { createQuantizeSlice } from "../features/quantize/slice.ts";
import type { AgainstSlice } from "../features/tensors/againstSlice.ts";
import type { StartSlice } from "../features/start/slice.ts";
import { createStartSlice } from "../features/start/slice.ts";
import type { TensorsSlice } from "../features/tensors/slice.ts";
import { createAgainstSlice } from "../features/tensors/againstSlice.ts";
import { createTensorsSlice } from "../features/tensors/slice.ts";
import { createExportSlice } from "../features/export/slice.ts";
import { createGraphSlice } from "../features/graph/slice.ts";
import type { GraphSlice } from "../features/graph/graphState.ts";
import type { NotesSlice } from "../features/notes/slice.ts";
import { createNotesSlice } from "../features/notes/slice.ts";
import type { FindSlice } from "../features/pipeline/findSlice.ts";
import { createFindSlice } from "../features/pipeline/findSlice.ts";
import type { LaneSlice } from "../features/pipeline/laneSlice.ts";
import { createLaneSlice } from "../features/pipeline/laneSlice.ts";
import type { ResultSlice } from "../features/pipeline/resultSlice.ts";
import { createResultSlice } from "../features/pipeline/resultSlice.ts";
import type { PipelineSlice } from "../features/pipeline/slice.ts";
import { createPipelineSlice } from "../features/pipeline/slice.ts";
import type { ProfileSlice } from "../features/profile/slice.ts";
import { createProfileSlice } from "../features/profile/slice.ts";
import type { ReportSlice } from "../features/report/slice.ts";
import { createReportSlice } from "../features/report/slice.ts";
import { createHistorySlice } from "../features/run/historySlice.ts";
import { createHybridSlice } from "../features/run/hybridSlice.ts";
import { createConversationSlice } from "../features/run/conversationSlice.ts";
import { createColumnsSlice } from "../features/run/columnsSlice.ts";
import type { RunSlice } from "../features/run/slice.ts";
import { createTalkSlice } from "../features/run/slice.ts";
import type { KeptRunsSlice } from "../features/train/runsSlice.ts";
import { createKeptRunsSlice } from "../features/train/runsSlice.ts";
import type { TrainSlice } from "../features/train/slice.ts";
import { createTrainSlice } from "../features/train/slice.ts";
import type { TemplateSlice } from "../features/template/slice.ts";
import { createTemplateSlice } from "../features/template/slice.ts";
import type { TextSlice } from "../features/text/slice.ts";
import { createTextSlice } from "../features/text/slice.ts";
import type { ServerSlice } from "../features/server/slice.ts";
import { createServerSlice } from "../features/server/slice.ts";
import { browserLayoutWorker, createLayoutClient } from "../graph/layoutClient.ts";
import type { LayoutClient } from "../graph/layoutClient.ts";
import type { MemorySlice } from "../session/memory.ts";
import { createMemorySlice } from "../session/memory.ts";
import { createSession } from "../session/createSession.ts";
import type { SessionState } from "../session/sessionSlice.ts";
import { createTools } from "../session/slice.ts";
import { DOCUMENT_PARTS } from "./documentParts.ts";
import type { WindowSlice } from "./windowSlice.ts";
import { createWindowSlice } from "./windowSlice.ts";

export type WorkbenchState = SessionState &
  WindowSlice &
  MemorySlice &
  GraphSlice &
  PipelineSlice &
  LaneSlice &
  ResultSlice &
  FindSlice &
  RunSlice &
  DevicesSlice &
  AdviceSlice &
  BenchSlice &
  ChoiceSlice &
  ProfileSlice &
  EmbedSlice &
  ExpertsSlice &
  ExportSlice &
  ConvertSlice &
  QuantizeSlice &
  ServerSlice &
  CompareSlice &
  ReportSlice &
  StartSlice &
  TensorsSlice &
  AgainstSlice &
  TemplateSlice &
  TextSlice &
  TrainSlice &
  KeptRunsSlice &
  NotesSlice;
export type WorkbenchStore = StoreApi<WorkbenchState>;

export function createWorkbenchStore(
  engine: EngineClient,
  shell: ShellBridge | null,
  layout: LayoutClient = createLayoutClient(browserLayoutWorker),
): WorkbenchStore {
  const store: WorkbenchStore = createStore<WorkbenchState>()((_set, _get, api) => {
    const tools = createTools(engine, shell, api);
    return {
      ...createSession(tools),
      ...createWindowSlice(tools()),
      ...createGraphSlice(tools(), layout),
      ...createPipelineSlice(tools()),
      ...createLaneSlice(tools()),
      ...createResultSlice(tools()),
      ...createFindSlice(tools()),
      ...createTalkSlice(tools()),
      ...createConversationSlice(tools()),
      ...createColumnsSlice(tools()),
      ...createHistorySlice(tools()),
      ...createHybridSlice(tools()),
      ...createDevicesSlice(tools()),
      ...createAdviceSlice(tools()),
      ...createBenchSlice(tools()),
      ...createChoiceSlice(tools()),
      ...createProfileSlice(tools()),
      ...createExpertsSlice(tools()),
      ...createExportSlice(tools()),
      ...createConvertSlice(tools()),
      ...createQuantizeSlice(tools()),
      ...createTensorsSlice(tools()),
      ...createAgainstSlice(tools()),
      ...createEmbedSlice(tools()),
      ...createNotesSlice(tools()),
      ...createTemplateSlice(tools()),
      ...createTextSlice(tools()),
      ...createServerSlice(tools()),
      ...createTrainSlice(tools()),
      ...createKeptRunsSlice(tools()),
      ...createCompareSlice(tools()),
      ...createReportSlice(tools()),
      ...createStartSlice(tools()),
      // Behind the others: it hears of a model when they have made room for it.
      ...createMemorySlice<WorkbenchState>(tools(), DOCUMENT_PARTS),
    };
  });
  store.getState().watchEngine();
  return store;
}
