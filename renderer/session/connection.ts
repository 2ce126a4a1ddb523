/** Watches the connection: says what was lost, and brings the session back when the engine is there again. */
import type { Job } from "../../main/contract/views/engine.ts";
import type { EngineClient } from "../../main/contract/contract.ts";
import { current, failed, ready } from "./async.ts";
import { appendLog } from "./log.ts";
import type { SessionState } from "./sessionSlice.ts";

export interface SessionStore {
  getState(): SessionState;
  setState(part: Partial<SessionState>): void;
}

/** What a job was doing, before the name of its model. */
const JOBS: { readonly [K in Job["kind"]]: string } = {
  run: "the run of",
  bench: "the benchmark of",
  profile: "the profile of",
  export: "the export of",
  compile: "the compilation of",
  upload: "the upload of",
  hybrid: "the run of",
  calibrate: "the measuring of",
};

const FOREIGN =
  "This window and the engine are of different versions. Reload the window; if that does not help, start the engine again.";

/** Time after which a connection that never came up is called lost on the screen. */
const PATIENCE_MS = 4000;

export function watchConnection(engine: EngineClient, store: SessionStore): () => void {
  const greet = async (): Promise<void> => {
    try {
      store.setState({ info: ready(await engine.call("engine.info", {})) });
    } catch (error) {
      store.setState({ info: failed(error) });
      return;
    }
    void store.getState().loadRecents();
    // Later statuses come as events, when something changes.
    engine.call("engine.status", {}).then(
      (status) => store.setState({ status }),
      () => undefined,
    );
  };

  const onLost = (): void => {
    const { status, loss } = store.getState();
    const foreign = engine.otherVersion !== null;
    if (loss !== null && !loss.over && loss.foreign === foreign) return;
    const jobs = (status?.jobs ?? []).map(({ kind, title }) => `${JOBS[kind]} ${title}`);
    const lost = jobs.length === 0 ? "" : ` Lost: ${jobs.join(", ")}.`;
    store.setState({
      status: null,
      log: appendLog(
        store.getState().log,
        { kind: "error", code: "ENGINE_LOST", text: `${foreign ? FOREIGN : "The engine stopped."}${lost}` },
        Date.now(),
      ),
      loss: {
        sentence: foreign ? FOREIGN : "The engine stopped. It is being started again.",
        // What was lost when the engine stopped is still lost when one of another version comes in its place.
        lost: [...(loss?.over === false ? loss.lost : []), ...jobs],
        jobs: [...(loss?.over === false ? loss.jobs : []), ...(status?.jobs ?? []).map(({ kind }) => kind)],
        over: false,
        foreign,
      },
    });
  };

  const onBack = async (): Promise<void> => {
    const { loss, source, model, tab, target } = store.getState();
    await greet();
    if (loss === null || loss.over) return;
    if (source !== null && model.kind !== "failed") {
      await store.getState().open(source);
      store.getState().setTab(tab);
      if (target !== null && store.getState().target !== null && current(store.getState().model) !== null)
        store.getState().setTarget(target);
    }
    const isOpen = current(store.getState().model) !== null;
    store.setState({
      loss: {
        sentence: isOpen
          ? "The engine stopped and was started again; the model is open again."
          : "The engine stopped and was started again.",
        lost: loss.lost,
        jobs: loss.jobs,
        over: true,
        foreign: false,
      },
    });
  };

  const apply = (state: typeof engine.state): void => {
    store.setState({ connection: state });
    if (state === "connected") void onBack();
    else if (state === "lost") onLost();
  };
  const patience = setTimeout(() => {
    if (engine.state !== "connected") onLost();
  }, PATIENCE_MS);
  const stops = [
    engine.onState(apply),
    engine.on("engine.status", (status) => store.setState({ status })),
    engine.on("engine.notice", ({ level, code, sentence, hint }) =>
      store.getState().notify({
        level,
        title: level === "error" ? "The engine reports an error" : "Notice",
        code,
        text: sentence,
        hint,
        details: null,
      }),
    ),
    () => clearTimeout(patience),
  ];
  if (engine.state === "connected") apply("connected");
  return () => {
    for (const stop of stops) stop();
  };
}
