/**
 * The session: the connection, the model that is open, the target it is looked at for, and what is selected. Features have
 * slices of their own; they read this one and never each other's.
 */
import type { Tab } from "../../main/contract/commands.ts";
import type { EngineClient, Input, Output } from "../../main/contract/contract.ts";
import type { ConnectionState } from "../../main/contract/define.ts";
import type { ShellBridge } from "../../main/contract/shell.ts";
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
import { IDLE } from "./async.ts";
import type { CommandLine } from "./command.ts";
import type { LogEntry } from "./log.ts";
import type { Loss, OpenSource, Selection, ShownNotice, UploadProgress } from "./types.ts";

/** Errors belong to the target that the weights were mapped for. */
export interface WeightErrors {
  readonly target: TargetSpec;
  readonly rows: readonly WeightRow[];
}

export interface SessionData {
  readonly connection: ConnectionState;
  readonly loss: Loss | null;
  readonly info: Async<EngineInfo>;
  readonly status: EngineStatus | null;
  readonly recents: Async<readonly Recent[]>;
  readonly source: OpenSource | null;
  /** Name of what is being opened, for the words on the screen. */
  readonly openingTitle: string;
  /** What is being opened while another model is still on the screen. */
  readonly arriving: string | null;
  readonly model: Async<Overview>;
  readonly upload: UploadProgress | null;
  readonly targets: Async<TargetList>;
  readonly target: TargetSpec | null;
  readonly phase: Phase;
  readonly routes: Readonly<Record<Phase, Async<RouteView>>>;
  /** What the system itself plans for target and phase, and what MLX would do with the same graph; asked for by the routing view. */
  readonly planned: Async<PlannedRoute>;
  readonly onMlx: Async<MlxRoute>;
  /** The legal graph for target and phase; the structure tree, the ribbon and the canvas all read it. */
  readonly graph: Async<GraphModel>;
  readonly selection: Selection;
  readonly node: Async<NodeView>;
  readonly tab: Tab;
  /** What the tensor table is searched for: links from elsewhere lead to a row of it. */
  readonly tensorQuery: string;
  /** The row of the tensor table that the inspector speaks about. */
  readonly chosenTensor: TensorRow | null;
  /** What was measured of this model: the last profile, and what each weight lost in the last export. The graph shows both. */
  readonly profiled: ProfileView | null;
  readonly weightErrors: WeightErrors | null;
  readonly notices: readonly ShownNotice[];
  readonly lastCommand: string | null;
  readonly log: readonly LogEntry[];
}

export interface SessionActions {
  readonly open: (source: OpenSource) => Promise<void>;
  readonly close: () => void;
  readonly setTarget: (target: TargetSpec) => void;
  readonly setPhase: (phase: Phase) => void;
  readonly setTab: (tab: Tab) => void;
  readonly setTensorQuery: (query: string) => void;
  readonly showTensor: (name: string) => void;
  readonly chooseTensor: (tensor: TensorRow | null) => void;
  readonly select: (selection: Selection) => void;
  readonly loadRecents: () => Promise<void>;
  readonly forgetRecent: (path: string) => Promise<void>;
  readonly locate: (folder: string | null) => Promise<string>;
  readonly sendFile: () => Promise<void>;
  readonly cancelUpload: () => void;
  readonly notify: (notice: Omit<ShownNotice, "id">) => void;
  readonly dismissNotice: (id: number) => void;
  readonly dismissLoss: () => void;
  readonly noteCommand: (command: CommandLine) => void;
  readonly clearLog: () => void;
  /** Pages that a component shows and forgets: they never enter the state. */
  readonly askMetadata: (input: Input<"model.metadata">) => Promise<Output<"model.metadata">>;
  readonly askMetadataValue: (input: Input<"model.metadataValue">) => Promise<Output<"model.metadataValue">>;
  readonly askWeightErrors: (input: Input<"model.weightErrors">) => Promise<Output<"model.weightErrors">>;
  readonly askTensors: (input: Input<"model.tensors">) => Promise<Output<"model.tensors">>;
  readonly askComparison: (input: Input<"route.compare">) => Promise<Output<"route.compare">>;
  readonly askDoctor: () => Promise<Output<"doctor.run">>;
}

export type SessionState = SessionData & SessionActions;

/** What a slice is made with: the engine, the shell if there is one, and the store's own get and set. */
export interface SliceTools<S> {
  readonly engine: EngineClient;
  readonly shell: ShellBridge | null;
  readonly set: (part: Partial<S>) => void;
  readonly get: () => S;
}

export const NO_ROUTES: SessionData["routes"] = { prefill: IDLE, decode: IDLE };

/** Everything that belongs to one model: set when it is closed. */
export const NO_MODEL = {
  source: null,
  openingTitle: "",
  model: IDLE,
  upload: null,
  target: null,
  routes: NO_ROUTES,
  planned: IDLE,
  onMlx: IDLE,
  graph: IDLE,
  selection: { kind: "none" },
  node: IDLE,
  tab: "overview",
  tensorQuery: "",
  chosenTensor: null,
} as const satisfies Partial<SessionData>;

export const INITIAL_SESSION: SessionData = {
  connection: "connecting",
  loss: null,
  arriving: null,
  info: IDLE,
  status: null,
  recents: IDLE,
  targets: IDLE,
  phase: "decode",
  notices: [],
  lastCommand: null,
  log: [],
  // They go with the profile and the export that they come from.
  profiled: null,
  weightErrors: null,
  ...NO_MODEL,
};
