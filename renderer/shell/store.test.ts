import { describe, expect, it } from "vitest";
import { contract } from "../../main/contract/contract.ts";
import { createPortPair } from "../../main/contract/port.ts";
import type { Input } from "../../main/contract/contract.ts";
import type { Overview } from "../../main/contract/views/model.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import { until } from "../../main/testing/until.ts";
import { current } from "../session/async.ts";
import { withinContext } from "../session/routes.ts";
import { shownTabs } from "./tabs.ts";
import type { RecordedOptions } from "../engine/recorded/replay.ts";
import { answerTo } from "../engine/recorded/replay.ts";
import { SAMPLE, HYBRID } from "../testing/sample.ts";
import { createStoreOver } from "../testing/openStore.ts";

/** A path with "broken" in it is no model. */
const open = ({ source }: { readonly source: Input<"model.open">["source"] }): Overview => {
  if (source.kind === "path" && source.path.includes("broken"))
    throw new WorkbenchError("INPUT_NOT_GGUF", "[gguf] magic: got 50 4b 03 04, expected GGUF");
  return answerTo("model.open", { source });
};

const setUp = ({ calls, streams }: RecordedOptions = {}) =>
  createStoreOver({ calls: { "model.open": open, ...calls }, ...(streams && { streams }) });

/** As the engine tells of a run. */
const RUN_JOB = { id: "1", kind: "run", title: "Qwen3", phase: "decode", fraction: null, elapsedSeconds: 1 } as const;
/** Of this window's model, and of another window's. */
const jobsOf = (model: string | undefined) => [
  { ...RUN_JOB, id: "2", kind: "bench", title: "Elsewhere", model: "another" } as const,
  { ...RUN_JOB, model: model ?? null },
];

describe("the store", () => {
  it("opens a model: overview, graph, both routes, passes, a picture", async () => {
    const { get } = await setUp();
    await get().open(SAMPLE);
    expect(current(get().model)?.title).toBe("RLX Sample");
    await until(() => get().passes.kind === "ready" && get().picture.kind === "ready");
    expect(get().routes.decode.kind).toBe("ready");
    expect(get().routes.prefill.kind).toBe("ready");
    expect(get().lastCommand).toContain("rlx inspect");
    expect(shownTabs(get())).toContain("bench");
  });

  it("says why a file cannot be opened, and opens another one after it", async () => {
    const { get } = await setUp();
    await get().open({ kind: "path", path: "/models/broken.gguf" });
    expect(get().model).toMatchObject({ kind: "failed", error: { code: "INPUT_NOT_GGUF" } });
    await get().open(SAMPLE);
    expect(get().model.kind).toBe("ready");
  });

  it("keeps the open model and its talk when another cannot be opened", async () => {
    const { get } = await setUp();
    await get().open(SAMPLE);
    get().setParameters({ maxTokens: 4 });
    get().setDraft("Why?");
    await get().send();
    get().setDraft("half a ques");
    get().setTab("run");
    const before = current(get().model);
    await get().open({ kind: "path", path: "/models/broken.gguf" });
    expect(current(get().model)).toBe(before);
    expect(get()).toMatchObject({ tab: "run", draft: "half a ques", source: SAMPLE, arriving: null });
    expect(get().turns).toHaveLength(1);
    expect(get().notices.at(-1)).toMatchObject({
      level: "error",
      title: "/models/broken.gguf could not be opened",
      code: "INPUT_NOT_GGUF",
    });
    // And what was kept still answers.
    await get().send();
    expect(get().turns).toHaveLength(2);
  });

  it("drops the answer for a model that was overtaken by another", async () => {
    const { get } = await setUp();
    const first = get().open(HYBRID);
    const second = get().open(SAMPLE);
    await Promise.all([first, second]);
    expect(current(get().model)?.title).toBe("RLX Sample");
  });

  it("asks for no context beyond the trained one, neither on opening nor later", async () => {
    const { get } = await setUp();
    await get().open(SAMPLE);
    const trained = current(get().model)?.context.trained ?? 0;
    expect(trained).toBeGreaterThan(0);
    const target = get().target;
    if (target === null) throw new Error("an open model has a target");
    get().setTarget({ ...target, context: trained * 4 });
    expect(get().target?.context).toBe(trained);
    const overview = current(get().model);
    if (overview === null) throw new Error("the model is open");
    const small = { ...overview, context: { trained: 100, chosen: 100 } };
    expect(withinContext(target, small).context).toBe(100);
  });

  it("keeps the runs of the session and puts one back with the seed that it used", async () => {
    const { get } = await setUp();
    await get().open(SAMPLE);
    get().setParameters({ temperature: 0.3 });
    get().setDraft("first");
    await get().send();
    get().setParameters({ temperature: 1.5 });
    get().newConversation();
    await until(() => get().running === null);
    const [run] = get().runHistory;
    expect(run).toMatchObject({ prompt: "first", parameters: { temperature: 0.3 } });
    expect(run?.stats?.generated).toBeGreaterThan(0);
    expect(run?.seed).not.toBeNull();
    get().restoreRun(run?.id ?? -1);
    expect(get().draft).toBe("first");
    expect(get().parameters).toMatchObject({ temperature: 0.3, seed: run?.seed });
    for (const id of [1, 2, 3]) get().toggleCompared(id);
    expect(get().comparedRuns).toEqual([2, 3]);
    await get().open(HYBRID);
    expect(get().runHistory).toEqual([]);
  });

  it("asks for no more tokens than the context has, and keeps what came before an error", async () => {
    const asked: number[] = [];
    const { get } = await setUp({
      streams: {
        async *"run.start"({ maxTokens }) {
          asked.push(maxTokens);
          yield { kind: "token", token: { id: 1, text: "Once", logprob: 0, at: 0, top: [], pieces: [] } };
          throw new WorkbenchError("INPUT_NOT_GGUF", "[fake] failed");
        },
      },
    });
    await get().open(SAMPLE);
    get().setParameters({ context: 128, maxTokens: 4096, seed: 7 });
    get().setDraft("Why?");
    await get().send();
    expect(asked).toEqual([128]);
    expect(get().turns[0]?.answer).toMatchObject({ text: "Once", end: "Failed.", error: { code: "INPUT_NOT_GGUF" } });
    expect(get().runHistory[0]).toMatchObject({ text: "Once", seed: null });
    get().setParameters({ seed: 1 });
    get().restoreRun(get().runHistory[0]?.id ?? -1);
    expect(get().parameters.seed).toBe(7);
  });

  it("asks for a completion when the file has no template, also when the question comes before that is known", async () => {
    const asked: string[] = [];
    let templates = 0;
    const { get } = await setUp({
      calls: {
        "chat.template": async () => {
          templates += 1;
          await new Promise((resolve) => setTimeout(resolve, 30));
          return {
            origin: null,
            sentence: "No template.",
            source: "",
            rendered: null,
            names: [],
            switches: [],
            callFamily: null,
          };
        },
      },
      streams: {
        async *"run.start"({ prompt }) {
          asked.push(prompt.kind);
          yield { kind: "token", token: { id: 1, text: "Once", logprob: 0, at: 0, top: [], pieces: [] } };
        },
      },
    });
    await get().open(SAMPLE);
    // As the tab does when it opens.
    void get().loadTemplate();
    get().setDraft("Why?");
    await get().send();
    expect(asked).toEqual(["completion"]);
    expect(templates).toBe(1);
    expect(get()).toMatchObject({ draft: "", running: null, runMode: "completion" });
  });

  it("gives a question back that is stopped before the template is known", async () => {
    const { get } = await setUp({ calls: { "chat.template": () => new Promise(() => undefined) } });
    await get().open(SAMPLE);
    get().setDraft("Why?");
    const sent = get().send();
    expect(get().running?.sentence).toBe("Reading the chat template");
    get().stop();
    await sent;
    expect(get()).toMatchObject({ draft: "Why?", running: null, turns: [] });
  });

  it("shows only the tabs that a demo graph has", async () => {
    const { get } = await setUp();
    await get().open(HYBRID);
    expect(shownTabs(get())).toEqual(["overview", "graph", "pipeline", "run", "export", "compare", "train"]);
  });

  it("streams an answer and stops it with its last report", async () => {
    const { get } = await setUp();
    await get().open(SAMPLE);
    get().setDraft("Why?");
    const sent = get().send();
    await until(() => (get().turns[0]?.answer.tokens.length ?? 0) > 3);
    expect(get().draft).toBe("");
    get().stop();
    await sent;
    expect(get().turns[0]?.answer.end).toBe("Stopped.");
    expect(get().turns[0]?.answer.stats?.generated).toBeGreaterThan(3);
    expect(get().running).toBeNull();
  });

  it("keeps what a benchmark had measured when it is stopped, as no result", async () => {
    const { get } = await setUp();
    await get().open(SAMPLE);
    const measured = get().startBench();
    await until(() => get().benchSamples.length > 2);
    get().stopBench();
    await measured;
    expect(get().benchRunning).toBeNull();
    expect(get().benchResults).toHaveLength(0);
    expect(get().benchPartial?.samples.length).toBeGreaterThan(1);
    get().setBench({ repeats: 1 });
    await get().startBench();
    expect(get().benchPartial).toBeNull();
    expect(get().benchResults).toHaveLength(1);
  });

  it("opens the groups around an op that is looked for", async () => {
    const { get } = await setUp();
    await get().open(SAMPLE);
    await until(() => get().picture.kind === "ready");
    get().setGraphQuery("op:attention_cached layer:3");
    expect(get().graphHits).toHaveLength(1);
    get().nextHit(1);
    await until(() => get().node.kind === "ready" && get().picture.kind === "ready");
    expect(current(get().node)?.placement?.device).toBe("ane");
    const picture = current(get().picture)!;
    const box = picture.scene.boxOfNode[get().graphHits[0]!]!;
    expect(picture.scene.kind[box]).toBe(0);
  });
});

describe("a lost engine", () => {
  it("leaves the conversation on the screen, opens the model again and says what was lost", async () => {
    const { fake, get } = await setUp();
    await get().open(SAMPLE);
    get().setTab("run");
    get().setDraft("Why?");
    const sent = get().send();
    await until(() => (get().turns[0]?.answer.tokens.length ?? 0) > 2);
    fake.crash();
    await sent;
    expect(get().connection).toBe("lost");
    expect(get().loss?.over).toBe(false);
    expect(get().turns[0]?.answer.error?.code).toBe("ENGINE_LOST");
    await until(() => get().loss?.over === true);
    expect(get().model.kind).toBe("ready");
    expect(get().tab).toBe("run");
    expect(get().turns).toHaveLength(1);
    // And it works again, without a word of what is being written.
    get().setDraft("And now?");
    await get().resend(get().turns[0]?.id ?? -1);
    expect(get().draft).toBe("And now?");
    expect(get().turns).toHaveLength(1);
    expect(get().turns[0]).toMatchObject({ prompt: "Why?", answer: { error: null } });
    get().setParameters({ maxTokens: 4 });
    await get().send();
    expect(get().turns[1]?.answer.end).toContain("The model ended its answer");
    expect(get().runHistory[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(get().loss?.over).toBe(true);
    await get().open(HYBRID);
    expect(get().loss).toBeNull();
    get().close();
    expect(get().turns).toHaveLength(0);
  });

  it("of another version is named so, once, with what was lost before, and is forgotten when the right one comes", async () => {
    const { fake, store, get } = await setUp();
    await get().open(SAMPLE);
    get().setDraft("Why?");
    const sent = get().send();
    await until(() => (get().turns[0]?.answer.tokens.length ?? 0) > 2);
    const jobs = jobsOf(current(get().model)?.model);
    store.setState({ status: { engineBytes: 1, freeBytes: 1, totalBytes: 1, jobs, models: [] } });
    fake.crash();
    await sent;
    expect(get().loss).toMatchObject({
      ...{ foreign: false, jobs: ["run"] },
      lost: ["the run of Qwen3", "in another window the benchmark of Elsewhere"],
    });
    for (let tries = 0; tries < 2; tries++) {
      const [near, far] = createPortPair();
      fake.client.attach(near);
      far.send({ t: "hello", version: contract.version + 1 });
      await until(() => get().connection === "lost");
    }
    expect(get().loss).toMatchObject({ foreign: true, over: false, jobs: ["run"] });
    expect(get().loss?.sentence).toContain("of different versions. Reload the window");
    expect(get().log.filter(({ text }) => text.includes("different versions"))).toHaveLength(1);
    await until(() => get().loss?.over === true);
    expect(get().loss).toMatchObject({ foreign: false, jobs: ["run"] });
  });
});
