/** The engine's server for other programs: what it is started with, how it is, and the requests that it answered. */
import type { StreamItemOf } from "../../../main/contract/contract.ts";
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import { DEFAULT_DEVICE } from "../../../main/contract/views/engine.ts";
import type { ServerRequest, ServerStatus } from "../../../main/contract/views/server.ts";
import { LOOPBACK } from "../../../main/contract/views/server.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import { isCancelled } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";

export interface ServerFields {
  /** Files and folders, one in each line. */
  readonly models: string;
  readonly host: string;
  readonly port: number;
  /** Empty: a new one is made. */
  readonly key: string;
  readonly device: RunDevice;
  readonly context: number;
  readonly keepTexts: boolean;
}

export interface ServerChoice {
  readonly path: string;
  readonly name: string;
}

type Running = ServerStatus["running"];

export interface ServerSlice {
  readonly serverFields: ServerFields;
  /** undefined: not known yet. */
  readonly serverRunning: Running | undefined;
  /** The newest last. */
  readonly serverRequests: readonly ServerRequest[];
  /** Models of this machine, to be named by a click: those that were open before first. */
  readonly serverChoices: readonly ServerChoice[];
  readonly loadServerChoices: () => Promise<void>;
  /** One more line of the models. */
  readonly addServerModel: (path: string) => void;
  readonly serverBusy: "starting" | "stopping" | null;
  readonly serverError: WireError | null;
  /** Of the request that is looked at. */
  readonly serverShown: number | null;
  readonly setServer: (part: Partial<ServerFields>) => void;
  readonly showRequest: (id: number | null) => void;
  readonly startServer: () => Promise<void>;
  readonly stopServer: () => Promise<void>;
  /** Follows the server until the returned function is called. */
  readonly watchServer: () => () => void;
}

const MOST = 500;

export const pathsOf = (models: string): readonly string[] =>
  models.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));

/** The requests with a newer state of one of them. */
export function withRequest(requests: readonly ServerRequest[], request: ServerRequest): readonly ServerRequest[] {
  const at = requests.findLastIndex(({ id }) => id === request.id);
  return at < 0 ? [...requests, request].slice(-MOST) : requests.with(at, request);
}

export function createServerSlice({ engine, set, get, on }: SliceTools<ServerSlice>): ServerSlice {
  on("modelShown", ({ file, argument }) => {
    // What was typed stays; a file that was sent here goes with its window.
    const path = argument === null ? null : (file?.path ?? null);
    if (path !== null && get().serverFields.models === "") get().setServer({ models: path });
  });
  const take = (item: StreamItemOf<"server.watch">): void => {
    if (item.kind === "status") set({ serverRunning: item.status.running });
    else set({ serverRequests: withRequest(get().serverRequests, item.request) });
  };
  const change = async (busy: "starting" | "stopping", work: () => Promise<ServerStatus>): Promise<void> => {
    if (get().serverBusy !== null) return;
    set({ serverBusy: busy, serverError: null });
    try {
      set({ serverRunning: (await work()).running });
    } catch (error) {
      set({ serverError: toWireError(error) });
    } finally {
      set({ serverBusy: null });
    }
  };
  return {
    serverFields: {
      ...{ models: "", host: LOOPBACK, port: 0, key: "", device: DEFAULT_DEVICE, context: 8192, keepTexts: false },
    },
    serverRunning: undefined,
    serverRequests: [],
    serverChoices: [],
    serverBusy: null,
    serverError: null,
    serverShown: null,
    setServer: (part) => set({ serverFields: { ...get().serverFields, ...part } }),
    async loadServerChoices() {
      try {
        const { recents } = await engine.call("recents.list", {});
        const opened = recents.filter(({ exists }) => exists).map(({ path, name }) => ({ path, name }));
        set({ serverChoices: opened });
        for await (const { models } of engine.stream("models.find", { watch: false })) {
          const found = models.filter(
            ({ path, problem }) => problem === null && !opened.some((one) => one.path === path),
          );
          set({ serverChoices: [...opened, ...found.map(({ path, name }) => ({ path, name }))] });
        }
      } catch (error) {
        if (!isCancelled(error)) get().notifyError("The models of this machine could not be listed", error);
      }
    },
    addServerModel(path) {
      const paths = pathsOf(get().serverFields.models);
      if (!paths.includes(path)) get().setServer({ models: [...paths, path].join("\n") });
    },
    showRequest: (serverShown) => set({ serverShown }),
    startServer: () =>
      change("starting", () => {
        const { models, host, port, key, device, context, keepTexts } = get().serverFields;
        // A new server counts its requests anew.
        set({ serverRequests: [], serverShown: null });
        return engine.call("server.start", {
          ...{ models: [...pathsOf(models)], host: host.trim() === "" ? LOOPBACK : host.trim(), port, device },
          ...{ context, keepTexts, key: key === "" ? "made" : { given: key } },
        });
      }),
    stopServer: () => change("stopping", () => engine.call("server.stop", {})),
    watchServer() {
      const leaving = new AbortController();
      const follow = async (): Promise<void> => {
        try {
          for await (const item of engine.stream("server.watch", {}, { signal: leaving.signal })) {
            if (leaving.signal.aborted) return;
            take(item);
          }
        } catch (error) {
          if (leaving.signal.aborted || isCancelled(error)) return;
          // The engine was lost, and the server with it.
          set({ serverRunning: null });
        }
      };
      void follow();
      const offState = engine.onState((state) => {
        if (state === "connected") void follow();
      });
      return () => {
        offState();
        leaving.abort();
      };
    },
  };
}
