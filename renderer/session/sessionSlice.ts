/**
 * The session: the slices that every feature may read. They hold the connection, the open model, its routes for a target, the
 * plans of other runtimes, the selection and the notices. Features have slices of their own and never read each other's.
 */
import type { Tab } from "../../main/contract/commands.ts";
import type { Input, Output } from "../../main/contract/contract.ts";
import type { ConnectionState } from "../../main/contract/define.ts";
import type { Phase, TargetSpec } from "../../main/contract/views/common.ts";
import type { EngineInfo, EngineStatus } from "../../main/contract/views/engine.ts";
import type { WeightRow } from "../../main/contract/views/export.ts";
import type { NodeView } from "../../main/contract/views/graph.ts";
import type { Overview, Recent, TensorRow } from "../../main/contract/views/model.ts";
import type { MlxRoute } from "../../main/contract/views/mlx.ts";
import type { PlannedRoute, RouteView, TargetList } from "../../main/contract/views/route.ts";
import type { ProfileView } from "../../main/contract/views/run.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import type { Async } from "./async.ts";

import type { CommandLine } from "./command.ts";
import type { LogEntry } from "./log.ts";
import type { Loss, OpenSource, Selection, ShownNotice, UploadProgress } from "./types.ts";

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

export interface ModelSlice {
  readonly recents: Async<readonly Recent[]>;
  readonly source: OpenSource | null;
  /** Name of the file that is being opened. */
  readonly openingTitle: string;
  /** Name of the file that is being opened while another model is still on the screen. */
  readonly arriving: string | null;
  readonly model: Async<Overview>;
  readonly upload: UploadProgress | null;
  /** Measured of this model: the last profile, and the error of each weight in the last export. */
  readonly profiled: ProfileView | null;
  readonly weightErrors: WeightErrors | null;
  readonly open: (source: OpenSource) => Promise<void>;
  readonly close: () => void;
  readonly loadRecents: () => Promise<void>;
  readonly forgetRecent: (path: string) => Promise<void>;
  readonly locate: (folder: string | null) => Promise<string>;
  readonly sendFile: () => Promise<void>;
  readonly cancelUpload: () => void;
  /** Pages that a component shows and forgets: they never enter the state. */
  readonly askMetadata: (input: Input<"model.metadata">) => Promise<Output<"model.metadata">>;
  readonly askMetadataValue: (input: Input<"model.metadataValue">) => Promise<Output<"model.metadataValue">>;
  readonly askWeightErrors: (input: Input<"model.weightErrors">) => Promise<Output<"model.weightErrors">>;
  readonly askBlocks: (model: string) => Promise<Output<"model.blocks">>;
  readonly askTensors: (input: Input<"model.tensors">) => Promise<Output<"model.tensors">>;
  readonly askComparison: (input: Input<"route.compare">) => Promise<Output<"route.compare">>;
  readonly askDoctor: () => Promise<Output<"doctor.run">>;
}

export interface RoutesSlice {
  readonly targets: Async<TargetList>;
  readonly target: TargetSpec | null;
  readonly phase: Phase;
  readonly routes: Readonly<Record<Phase, Async<RouteView>>>;
  /** The legal graph for target and phase; the structure tree, the ribbon and the canvas all read it. */
  readonly graph: Async<GraphModel>;
  readonly setTarget: (target: TargetSpec) => void;
  readonly setPhase: (phase: Phase) => void;
}

/** Asked for by the routing view, never by themselves. */
export interface PlansSlice {
  /** The system's own plan for target and phase. */
  readonly planned: Async<PlannedRoute>;
  /** What MLX would do with the same graph. */
  readonly onMlx: Async<MlxRoute>;
  readonly loadPlanned: () => Promise<void>;
  readonly stopPlanned: () => void;
  readonly loadOnMlx: () => Promise<void>;
}

export interface SelectionSlice {
  readonly selection: Selection;
  readonly node: Async<NodeView>;
  readonly tab: Tab;
  /** The search of the tensor table: links from elsewhere lead to one of its rows. */
  readonly tensorQuery: string;
  /** The row of the tensor table that the inspector describes. */
  readonly chosenTensor: TensorRow | null;
  readonly select: (selection: Selection) => void;
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
  readonly notifyError: (title: string, error: unknown) => void;
  readonly dismissNotice: (id: number) => void;
  readonly addToLog: (entry: Omit<LogEntry, "id" | "at">) => void;
  readonly noteCommand: (command: CommandLine) => void;
  readonly clearLog: () => void;
}

export type SessionState = ConnectionSlice & ModelSlice & RoutesSlice & PlansSlice & SelectionSlice & NoticesSlice;
