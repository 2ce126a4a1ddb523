/** The connection to the engine: says what was lost with it, and opens the model again when the engine is back. */
import type { Job } from "../../main/contract/views/engine.ts";
import { current, failed, IDLE, ready } from "./async.ts";
import type { ConnectionSlice } from "./sessionSlice.ts";
import type { SliceTools } from "./slice.ts";
import { isOwnJob } from "./types.ts";

/** What a job was doing, before the name of its model. */
const JOBS: { readonly [K in Job["kind"]]: string } = {
  run: "the run of",
  bench: "the benchmark of",
  profile: "the profile of",
  export: "the export of",
  compile: "the compilation of",
  upload: "the upload of",
  hybrid: "the run of",
  calibrate: "the calibration of",
  convert: "the conversion of",
  quantize: "the new file of",
  check: "the check of",
  compare: "the comparison of",
  train: "the training of",
};

const OTHER_VERSION =
  "This window and the engine are of different versions. Reload the window; if that does not help, start the engine again.";

/** A connection that has not come up after this time is shown as lost. */
const PATIENCE_MS = 4000;

const FREED_MS = 1000;

export const NO_CONNECTION = { connection: "connecting", loss: null, info: IDLE, status: null } as const;

export function createConnectionSlice(tools: SliceTools<ConnectionSlice>): ConnectionSlice {
  const { engine, set, get, on } = tools;
  on("modelLeft", ({ opensAgain }) => {
    // Its memory is given back a little later than it is closed.
    setTimeout(() => void askStatus(tools), FREED_MS);
    // The loss was about the model that is gone.
    if (!opensAgain && get().loss?.over === true) set({ loss: null });
  });
  return {
    ...NO_CONNECTION,
    dismissLoss: () => set({ loss: null }),
    watchEngine() {
      const follow = (connection: ConnectionSlice["connection"]): void => {
        set({ connection });
        if (connection === "connected") void restore(tools);
        else if (connection === "lost") noteLoss(tools);
      };
      setTimeout(() => {
        if (engine.state !== "connected") noteLoss(tools);
      }, PATIENCE_MS);
      engine.onState(follow);
      engine.on("engine.status", (status) => set({ status }));
      engine.on("engine.notice", ({ level, code, sentence: text, hint }) => {
        const title = level === "error" ? "The engine reports an error" : "Notice";
        get().notify({ level, title, code, text, hint, details: null, stays: true });
      });
      if (engine.state === "connected") follow("connected");
    },
  };
}

/** A lost engine has none. */
const askStatus = ({ engine, set }: SliceTools<ConnectionSlice>): Promise<void> =>
  engine.call("engine.status", {}).then(
    (status) => set({ status }),
    () => undefined,
  );

async function greet(tools: SliceTools<ConnectionSlice>): Promise<void> {
  const { engine, set, get } = tools;
  try {
    set({ info: ready(await engine.call("engine.info", {})) });
  } catch (error) {
    set({ info: failed(error) });
    return;
  }
  void get().loadRecents();
  // Later statuses come as events, when something changes.
  void askStatus(tools);
}

function noteLoss({ engine, set, get }: SliceTools<ConnectionSlice>): void {
  const { status, loss, model } = get();
  const foreign = engine.otherVersion !== null;
  if (loss !== null && !loss.over && loss.foreign === foreign) return;
  const jobs = status?.jobs ?? [];
  const open = current(model)?.model ?? null;
  const mine = jobs.filter((job) => isOwnJob(job, open));
  const others = jobs.filter((job) => !mine.includes(job));
  const words = ({ kind, title }: Job): string => `${JOBS[kind]} ${title}`;
  const lost = [...mine.map(words), ...others.map((job) => `in another window ${words(job)}`)];
  // What an engine took with it is still lost when one of another version takes its place.
  const before = loss?.over === false ? loss : { lost: [], jobs: [] };
  set({
    status: null,
    loss: {
      sentence: foreign ? OTHER_VERSION : "The engine stopped. It is being started again.",
      lost: [...before.lost, ...lost],
      jobs: [...before.jobs, ...mine.map(({ kind }) => kind)],
      over: false,
      foreign,
    },
  });
  const said = foreign ? OTHER_VERSION : "The engine stopped.";
  const list = lost.length === 0 ? "" : ` Lost: ${lost.join(", ")}.`;
  get().addToLog({ kind: "error", code: "ENGINE_LOST", text: said + list });
}

async function restore(tools: SliceTools<ConnectionSlice>): Promise<void> {
  const { set, get } = tools;
  const { loss, source, model, tab, target } = get();
  await greet(tools);
  if (loss === null || loss.over) return;
  if (source !== null && model.kind !== "failed") {
    await get().open(source);
    get().setTab(tab);
    if (target !== null && get().target !== null && current(get().model) !== null) get().setTarget(target);
  }
  const isOpen = current(get().model) !== null;
  const sentence = isOpen
    ? "The engine stopped and was started again; the model is open again."
    : "The engine stopped and was started again.";
  set({ loss: { sentence, lost: loss.lost, jobs: loss.jobs, over: true, foreign: false } });
}
