/**
 * The session: the slices that every feature may read. They hold the connection, the open model, its routes for a target, the
 * plans of other runtimes, the selection and the notices. Features have slices of their own and never read each other's.
 */
import type { Tab } from "../../main/contract/commands.ts";
import type { Input, Output, StreamItemOf } from "../../main/contract/contract.ts";
import type { ConnectionState } from "../../main/contract/define.ts";
import type { Figure, Phase, TargetSpec } from "../../main/contract/views/common.ts";
import type { AdvicePreview } from "../../main/contract/views/advice.ts";
import type { EngineInfo, EngineStatus } from "../../main/contract/views/engine.ts";
import type { WeightRow } from "../../main/contract/views/export.ts";
import type { Backend, NodeView, Placement } from "../../main/contract/views/graph.ts";
import type { AdapterSource, Overview, Recent, TensorRow } from "../../main/contract/views/model.ts";
import type { MlxRoute } from "../../main/contract/views/mlx.ts";
import type { PlannedRoute, RouteView, TargetList } from "../../main/contract/views/route.ts";
import type { ProfileView } from "../../main/contract/views/run.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import type { Async } from "./async.ts";

import type { CommandLine } from "./command.ts";
import type { LogEntry } from "./log.ts";
import type { Selection } from "./selected.ts";
import type { Loss, OpenSource, ShownNotice, UploadProgress } from "./types.ts";

/** Errors belong to the target that the weights were mapped for. */
export interface WeightErrors {
  readonly target: TargetSpec;
  readonly rows: readonly WeightRow[];
}

export interface ConnectionSlice {
  readonly connection: ConnectionState;
  readonly loss: Loss | null;
  readonly info: Async<EngineInfo>;
  readonly status: EngineStatus | null;
  readonly dismissLoss: () => void;
  /** Once, when the store is whole. */
  readonly watchEngine: () => void;
}

export interface Outside {
  readonly startDrag: (paths: readonly string[]) => void;
  /** Makes a file of what the window made; null where that did not succeed. */
  readonly stage: (name: string, blob: Blob) => Promise<string | null>;
  /** Only a Mac has a list of ways to share. */
  readonly share: ((path: string) => void) | null;
}

export interface ModelSlice {
  readonly recents: Async<readonly Recent[]>;
  readonly source: OpenSource | null;
  /** Name of the file that is being opened. */
  readonly openingTitle: string;
  /** Name of the file that is being opened while another model is still on the screen. */
  readonly arriving: string | null;
  readonly model: Async<Overview>;
  readonly upload: UploadProgress | null;
  /** Applied to the open model. */
  readonly adapters: readonly AdapterSource[];
  /** Measured of this model: the last profile, and the error of each weight in the last export. */
  readonly profiled: ProfileView | null;
  readonly weightErrors: WeightErrors | null;
  readonly open: (source: OpenSource) => Promise<void>;
  readonly close: () => void;
  /** Opens the model once more with these; the conversation stays. */
  readonly setAdapters: (adapters: readonly AdapterSource[]) => Promise<void>;
  /** The system's dialog for a folder of models; null in a browser. */
  readonly pickFolder: (() => Promise<string | null>) | null;
  /** The system's dialog for a file; null in a browser. */
  readonly pickFile: (() => Promise<string | null>) | null;
  readonly loadRecents: () => Promise<void>;
  readonly forgetRecent: (path: string) => Promise<void>;
  readonly locate: (folder: string | null) => Promise<string>;
  readonly sendFile: () => Promise<void>;
  readonly cancelUpload: () => void;
  /** null in a browser, which has no folders to show. */
  readonly showInFolder: ((path: string) => void) | null;
  /** The ways of a file out of the window; null in a browser, which has none but its downloads. */
  readonly outside: Outside | null;
  /** Pages that a component shows and forgets: they never enter the state. */
  readonly askMetadata: (input: Input<"model.metadata">) => Promise<Output<"model.metadata">>;
  readonly askMetadataValue: (input: Input<"model.metadataValue">) => Promise<Output<"model.metadataValue">>;
  readonly askWeightErrors: (input: Input<"model.weightErrors">) => Promise<Output<"model.weightErrors">>;
  readonly askBlocks: (model: string) => Promise<Output<"model.blocks">>;
  readonly askTensors: (input: Input<"model.tensors">) => Promise<Output<"model.tensors">>;
  readonly askVerdict: (input: Input<"verdict.get">, signal: AbortSignal) => Promise<Output<"verdict.get">>;
  readonly askCost: (input: Input<"cost.get">, signal: AbortSignal) => Promise<Output<"cost.get">>;
  readonly askRoute: (input: Input<"route.get">, signal: AbortSignal) => Promise<Output<"route.get">>;
  readonly askDoctor: () => Promise<Output<"doctor.run">>;
  readonly askOps: () => Promise<Output<"ops.list">>;
  readonly askOpSample: (op: string, sample: number) => Promise<Output<"ops.sample">>;
  readonly askCompiles: () => Promise<Output<"compiles.list">>;
  readonly allowCompile: (verdict: string) => Promise<Output<"compiles.allow">>;
  readonly verifyCompiles: (signal: AbortSignal) => AsyncIterable<StreamItemOf<"compiles.verify">>;
}

export type Chooser = "person" | "session" | "window";

/** Where an op ran before the subject changed. */
export interface PlacedBefore {
  readonly backend: Backend;
  readonly placement: Placement;
}

/** The subject of the window is `backend`, `target` and `phase` together. */
export interface RoutesSlice {
  readonly targets: Async<TargetList>;
  /** The runtime that everything speaks of. */
  readonly backend: Backend;
  readonly target: TargetSpec | null;
  readonly phase: Phase;
  readonly routes: Readonly<Record<Phase, Async<RouteView>>>;
  /** The legal graph of the subject; the structure tree, the ribbon and the canvas all read it. */
  readonly graph: Async<GraphModel>;
  /** A choice of the window itself gives way to a person's, also to one that is restored. */
  readonly setBackend: (backend: Backend, by?: Chooser) => void;
  readonly setTarget: (target: TargetSpec) => void;
  readonly setPhase: (phase: Phase) => void;
}

export interface Ghost {
  /** Of the advice that it comes from. */
  readonly rule: string;
  readonly title: string;
  readonly route: RouteView;
  readonly rows: AdvicePreview["rows"];
  /** Seconds of a step. */
  readonly before: Figure;
  readonly after: Figure;
}

/** Asked for by the routing view, never by themselves. */
export interface PlansSlice {
  /** The system's own plan for target and phase. */
  readonly planned: Async<PlannedRoute>;
  /** What MLX would do with the same graph. */
  readonly onMlx: Async<MlxRoute>;
  /** A route that is not the target's, drawn under it: what a change would make of it. Another subject takes it away. */
  readonly ghost: Ghost | null;
  readonly showGhost: (ghost: Ghost | null) => void;
  readonly loadPlanned: () => Promise<void>;
  readonly stopPlanned: () => void;
  readonly loadOnMlx: () => Promise<void>;
}

export interface SelectionSlice {
  readonly selection: Selection;
  readonly node: Async<NodeView>;
  /** Of the selected op, under the subject before this one; null where it was not changed. */
  readonly placedBefore: PlacedBefore | null;
  readonly tab: Tab;
  /** The search of the tensor table: links from elsewhere lead to one of its rows. */
  readonly tensorQuery: string;
  /** The row of the tensor table that the inspector describes. */
  readonly chosenTensor: TensorRow | null;
  readonly select: (selection: Selection) => void;
  /** Another graph is about to be shown: nothing is selected until `findAgain` finds the same op in it. */
  readonly holdSelection: (shown: GraphModel | null) => void;
  readonly findAgain: (graph: GraphModel) => void;
  readonly setTab: (tab: Tab) => void;
  readonly setTensorQuery: (query: string) => void;
  readonly showTensor: (name: string) => void;
  readonly chooseTensor: (tensor: TensorRow | null) => void;
}

export interface NoticesSlice {
  readonly notices: readonly ShownNotice[];
  readonly lastCommand: string | null;
  readonly log: readonly LogEntry[];
  readonly notify: (notice: Omit<ShownNotice, "id">) => void;
  /** Says nothing of a request that was cancelled. */
  readonly notifyError: (title: string, error: unknown, of?: Pick<ShownNotice, "stays">) => void;
  readonly dismissNotice: (id: number) => void;
  readonly addToLog: (entry: Omit<LogEntry, "id" | "at">) => void;
  /** `of`: another model than the open one, as the command line names it. */
  readonly noteCommand: (command: CommandLine, of?: string | null) => void;
  readonly clearLog: () => void;
}

export type SessionState = ConnectionSlice & ModelSlice & RoutesSlice & PlansSlice & SelectionSlice & NoticesSlice;
