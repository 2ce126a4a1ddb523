/**
 * Answers of the real engine, recorded by `npm run record` over the sample model and the demo graph. They are served by the real
 * contract over a real port, so everything but the engine is the product. For tests and `?recorded`, never in a build.
 */
import type { AttachableClient } from "../../../main/contract/client.ts";
import { createClient } from "../../../main/contract/client.ts";
import { decodeFrame } from "../../../main/contract/codec.ts";
import type { Contract, Input, Output, StreamItemOf } from "../../../main/contract/contract.ts";
import { contract } from "../../../main/contract/contract.ts";
import type { CallContext, CallName, Handlers, StreamName } from "../../../main/contract/define.ts";
import { createPortPair } from "../../../main/contract/port.ts";
import { serve } from "../../../main/contract/serve.ts";
import type { Preferences } from "../../../main/contract/views/preferences.ts";
import { INITIAL_PREFERENCES, preferences } from "../../../main/contract/views/preferences.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { fromWireError, WorkbenchError } from "../../../main/diagnostics/errors.ts";
import file from "./recording.json";

export interface RecordedAnswer {
  readonly method: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly answer: { readonly output: unknown } | { readonly error: WireError };
}

const packed = Uint8Array.from(atob(file.frame), (letter) => letter.charCodeAt(0));
const unpacked = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
const frame = decodeFrame(new Uint8Array(await unpacked.arrayBuffer())) as { readonly answers: RecordedAnswer[] };

/** The contract that the answers were recorded with. */
export const recordedContract: number = file.contract;
export const answers: readonly RecordedAnswer[] = frame.answers;

/** 1: equal; between, the share of what is equal in it. */
function likeness(a: unknown, b: unknown): number {
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return a === b ? 1 : 0;
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  const keys = new Set([...left.keys(), ...right.keys()]);
  const sum = [...keys].reduce((all, key) => all + likeness(left.get(key), right.get(key)), 0);
  return keys.size === 0 ? 1 : sum / keys.size;
}

const modelOf = (input: object): unknown =>
  "model" in input ? input.model : "key" in input ? modelOf(input.key as object) : undefined;

/**
 * The recorded answer whose question is most similar, among those for the same method and model.
 */
function nearest(method: string, input: object): RecordedAnswer["answer"] {
  const mine = answers.filter((each) => each.method === method && modelOf(each.input) === modelOf(input));
  const [first] = mine;
  if (first === undefined)
    throw new WorkbenchError("HANDLE_UNKNOWN", `[recorded] ${method}: got a question that was not recorded`, {
      hint: "Ask it in main/testing/recordWindow.ts, then `npm run record`.",
    });
  return mine.reduce((best, each) => (likeness(each.input, input) > likeness(best.input, input) ? each : best), first)
    .answer;
}

const REPEATED = ["key", "target", "phase", "device", "model", "kind", "backend", "pass"];

/** Parts of the question that an answer repeats come from this question. */
function echo(output: object, input: object): object {
  const asked = Object.entries("stage" in input ? { ...input, key: input } : input);
  return {
    ...output,
    ...Object.fromEntries(
      // A list of devices is asked of a benchmark, and each subject of its answer has one.
      asked.filter(
        ([key, value]) => REPEATED.includes(key) && key in output && value !== null && !Array.isArray(value),
      ),
    ),
  };
}

function outputOf(method: string, input: object): unknown {
  const answer = nearest(method, input);
  if ("error" in answer) throw fromWireError(answer.error);
  return answer.output;
}

/** The recorded answer to a call: for tests that want a part of it otherwise. */
export const answerTo = <K extends CallName<Contract>>(method: K, input: Input<K>): Output<K> =>
  echo(outputOf(method, input) as object, input) as Output<K>;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const PACE_MS = 8;

/** The recorded items of a stream, one by one; stopping ends it as the engine does, with its last report where it has one. */
export async function* itemsOf<K extends StreamName<Contract>>(
  method: K,
  input: Readonly<Record<string, unknown>>,
  { signal }: CallContext,
): AsyncGenerator<StreamItemOf<K>, void> {
  const items = outputOf(method, input) as StreamItemOf<"run.start">[];
  const most = typeof input["maxTokens"] === "number" ? input["maxTokens"] : Infinity;
  let generated = 0;
  for (const item of items) {
    await pause(PACE_MS);
    const isOver = signal.aborted || (item.kind === "token" && generated >= most);
    if (isOver && method !== "run.start") return;
    if (isOver && item.kind !== "done") continue;
    if (item.kind === "token") generated += 1;
    yield (
      item.kind === "start"
        ? { ...echo(item, input), seed: (input["sampling"] as { seed: number | null }).seed ?? item.seed }
        : item.kind === "done" && method === "run.start"
          ? {
              ...item,
              ...(signal.aborted ? ({ reason: "cancelled", sentence: "Stopped." } as const) : {}),
              stats: { ...item.stats, generated },
            }
          : echo(item, input)
    ) as StreamItemOf<K>;
  }
}

export interface RecordedOptions {
  /** Answers that a test replaces: late, failed or counted ones. */
  readonly calls?: Partial<Handlers<Contract>["calls"]>;
  readonly streams?: Partial<Handlers<Contract>["streams"]>;
}

/** Sessions are kept for as long as the page lives. */
function sessionCalls(kept: Map<string, string>): Partial<Handlers<Contract>["calls"]> {
  return {
    "sessions.save": ({ session, text }) => {
      kept.set(session, text);
      return { ok: true };
    },
    "sessions.load": ({ session }) => {
      const text = kept.get(session);
      if (text === undefined) throw new WorkbenchError("INPUT_NOT_FOUND", `[session] there is no session ${session}`);
      return { text };
    },
    "sessions.remove": ({ session }) => {
      kept.delete(session);
      return { ok: true };
    },
    "sessions.list": () => ({
      sessions: [...kept].map(([session, text]) => ({
        ...{ session, savedAt: 0, bytes: text.length, problem: null },
        models: [],
      })),
    }),
  };
}

/** Settings are kept for as long as the page lives; nothing is found on a machine that is not here. */
function machineHandlers(): RecordedOptions {
  let now: Preferences = INITIAL_PREFERENCES;
  const view = () => ({
    ...{ preferences: now, file: "~/rlx/settings.json", dataFolder: "~/rlx", problem: null },
    dataFolderBy: "usual" as const,
  });
  const change = (part: Partial<Preferences>) => {
    now = { ...now, ...part };
    return view();
  };
  return {
    calls: {
      "preferences.get": view,
      "preferences.set": (part) => change(preferences.parse({ ...now, ...part })),
      "models.addFolder": ({ path }) => change({ modelFolders: [...now.modelFolders, path] }),
      "models.removeFolder": ({ path }) =>
        change({ modelFolders: now.modelFolders.filter((folder) => folder !== path) }),
      "models.look": () => ({ isModel: true, models: [], note: null }),
    },
    streams: {
      async *"models.find"() {
        await pause(PACE_MS);
        yield { models: [], places: [], usual: true, complete: true };
      },
    },
  };
}

function createHandlers({ calls, streams }: RecordedOptions, kept: Map<string, string>): Handlers<Contract> {
  const call = (method: string) => [method, (input: object) => echo(outputOf(method, input) as object, input)] as const;
  const stream = (method: string) =>
    [
      method,
      (input: Record<string, unknown>, context: CallContext) => itemsOf(method as StreamName<Contract>, input, context),
    ] as const;
  const done = (): { ok: true } => ({ ok: true });
  const machine = machineHandlers();
  return {
    calls: {
      ...Object.fromEntries(Object.keys(contract.calls).map(call)),
      ...{ "model.close": done, "recents.add": done, "recents.remove": done },
      ...sessionCalls(kept),
      ...machine.calls,
      ...calls,
    },
    streams: { ...Object.fromEntries(Object.keys(contract.streams).map(stream)), ...machine.streams, ...streams },
  } as unknown as Handlers<Contract>;
}

export interface RecordedEngine {
  readonly client: AttachableClient<Contract>;
  /** Ends the connection as a crashed engine would, and comes back after a second. */
  crash(): void;
}

export function createRecordedEngine(options: RecordedOptions = {}): RecordedEngine {
  const client = createClient(contract, undefined, { checkOutputs: true });
  const kept = new Map<string, string>();
  const start = () => {
    const [near, far] = createPortPair((each) => structuredClone(each));
    serve(contract, createHandlers(options, kept), far, { onUnexpected: (_method, error) => reportError(error) });
    client.attach(near);
    return near;
  };
  let port = start();
  return {
    client,
    crash() {
      port.close("exit code 9");
      setTimeout(() => (port = start()), 1000);
    },
  };
}
