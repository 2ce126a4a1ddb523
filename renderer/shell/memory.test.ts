import { describe, expect, it, vi } from "vitest";
import type { Input } from "../../main/contract/contract.ts";
import type { Overview } from "../../main/contract/views/model.ts";
import type { SessionDocument } from "../../main/contract/views/session.ts";
import { LARGEST_DOCUMENT, readDocument } from "../../main/contract/views/session.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import { memoryDocument } from "../../main/testing/memoryDocument.ts";
import { until } from "../../main/testing/until.ts";
import { current } from "../session/async.ts";
import { fittedText } from "../session/sessionText.ts";
import { answerTo } from "../engine/recorded/replay.ts";
import { createStoreOver } from "../testing/openStore.ts";
import { HYBRID, SAMPLE } from "../testing/sample.ts";

const SESSION = "aaaa-bbbb";

/** A window over an engine that keeps sessions in `kept`: as if it were another start of the same one. */
async function windowOver(kept: Map<string, string>, calls: Parameters<typeof createStoreOver>[0] = {}) {
  const window = await createStoreOver({
    ...calls,
    calls: {
      "sessions.save": ({ session, text }) => {
        kept.set(session, text);
        return { ok: true };
      },
      "sessions.load": ({ session }) => {
        const text = kept.get(session);
        if (text === undefined) throw new WorkbenchError("INPUT_NOT_FOUND", "[session] none");
        return { text };
      },
      ...calls.calls,
    },
  });
  const settled = () =>
    until(() => window.get().graph.kind === "ready" && window.get().routes.prefill.kind === "ready");
  return { ...window, settled };
}

type Window = Awaited<ReturnType<typeof windowOver>>;

async function talk({ get }: Window, text: string): Promise<void> {
  get().setParameters({ maxTokens: 4 });
  get().setDraft(text);
  await get().send();
}

describe("a session", () => {
  it("comes back as it was: model, target, phase, tab, op, talk, runs, benches", async () => {
    const kept = new Map<string, string>();
    const first = await windowOver(kept);
    await first.get().beginSession(SESSION);
    expect(first.get().sessionId).toBe(SESSION);
    await first.get().open(SAMPLE);
    await first.settled();
    const target = first.get().target;
    if (target === null) throw new Error("an open model has a target");
    first.get().setTarget({ ...target, units: "cpu" });
    first.get().setPhase("prefill");
    await first.settled();
    await talk(first, "Why?");
    first.get().setDraft("half a ques");
    await first.get().startBench();
    first.get().setGraphMode("bytes");
    first.get().showNode(5);
    first.get().setTab("run");
    await first.get().saveSession();

    const second = await windowOver(kept);
    await second.get().beginSession(SESSION);
    await until(() => second.get().tab === "run");
    const state = second.get();
    expect(current(state.model)?.title).toBe("RLX Sample");
    expect(state).toMatchObject({ phase: "prefill", draft: "half a ques", target: { units: "cpu" } });
    expect(state.turns).toEqual(first.get().turns);
    expect(state.runHistory).toEqual(first.get().runHistory);
    // Paths in their JSON stay on this machine: the file's name is kept.
    const nameOnly = (json: string): string => json.replaceAll("~/workbench/assets/models/", "");
    expect(state.benchResults).toEqual(
      first
        .get()
        .benchResults.map((each) => ({ ...each, result: { ...each.result, json: nameOnly(each.result.json) } })),
    );
    expect(state.notices).toEqual([]);
    await until(() => second.get().selection.kind === "node");
    expect(second.get().selection).toMatchObject({ node: 5, key: { phase: "prefill" } });
    expect(second.get().graphMode).toBe("bytes");
    expect(second.get().openGroups).toEqual(first.get().openGroups);
    // New runs have numbers of their own.
    await talk(second, "And then?");
    expect(new Set(second.get().runHistory.map(({ id }) => id)).size).toBe(2);
    await second.get().startBench();
    expect(new Set(second.get().benchResults.map(({ id }) => id)).size).toBe(2);
  });

  it("takes what its page held when it was left, where that is newer than what was saved", async () => {
    const kept = new Map<string, string>();
    const first = await windowOver(kept);
    await first.get().beginSession(SESSION);
    await first.get().open(SAMPLE);
    first.get().setDraft("saved");
    await first.get().saveSession();
    expect(first.get().unsavedText()).toBeNull();
    await until(() => Date.now() > (first.get().sessionSavedAt ?? Infinity));
    first.get().setDraft("not saved");
    const left = first.get().unsavedText();
    const draftOf = async (leftText: string | null) => {
      const { get } = await windowOver(kept);
      await get().beginSession(SESSION, { leftText });
      return get().draft;
    };
    expect(await draftOf(left)).toBe("not saved");
    await first.get().saveSession();
    first.get().setDraft("newer");
    await until(() => Date.now() > (first.get().sessionSavedAt ?? Infinity));
    await first.get().saveSession();
    expect(await draftOf(left)).toBe("newer");
    kept.clear();
    expect(await draftOf(left)).toBe("not saved");
  });

  it("keeps the talk of a model while another one is open", async () => {
    const window = await windowOver(new Map());
    const { get } = window;
    await get().beginSession(SESSION);
    await get().open(SAMPLE);
    await talk(window, "Why?");
    const { turns, runHistory } = get();
    await get().open(HYBRID);
    expect(get().turns).toEqual([]);
    await get().open(SAMPLE);
    await until(() => get().turns.length > 0);
    expect(get()).toMatchObject({ turns, runHistory });
    get().close();
    expect(get().turns).toEqual([]);
    await get().open(SAMPLE);
    await until(() => get().turns.length > 0);
  });

  it("is saved on its own, once for what has changed, and not while the engine is away", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    try {
      const save = vi.fn(() => ({ ok: true as const }));
      const { get } = await createStoreOver({
        calls: {
          "sessions.save": save,
          "sessions.load": () => {
            throw new WorkbenchError("INPUT_NOT_FOUND", "[session] none");
          },
        },
      });
      await get().beginSession(SESSION);
      await vi.advanceTimersByTimeAsync(10_000);
      // No model, nothing to find again.
      expect(save).not.toHaveBeenCalled();
      await get().open(SAMPLE);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(save).toHaveBeenCalled();
      save.mockClear();
      get().showDialog("doctor");
      await vi.advanceTimersByTimeAsync(10_000);
      expect(save).not.toHaveBeenCalled();
      for (const draft of ["a", "ab", "abc"]) get().setDraft(draft);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(save).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
    }
  });

  it("says what could not be saved, once", async () => {
    const failing = {
      "sessions.save": () => {
        throw new WorkbenchError("ENV_IO", "[sessions] the disk is full");
      },
    };
    const { get } = await windowOver(new Map(), { calls: failing });
    await get().beginSession(SESSION);
    await get().open(SAMPLE);
    await get().saveSession();
    await get().saveSession();
    expect(get().notices.map(({ title }) => title)).toEqual(["The session could not be saved"]);
  });

  it("says that its file has changed, and keeps the old talk for the old file", async () => {
    const kept = new Map<string, string>();
    const path = { kind: "path", path: "/models/m.gguf" } as const;
    let hash = "old";
    const open = ({ source }: { readonly source: Input<"model.open">["source"] }): Overview => {
      const overview = answerTo("model.open", { source });
      return { ...overview, file: overview.file === null ? null : { ...overview.file, headerHash: hash } };
    };
    const first = await windowOver(kept, { calls: { "model.open": open } });
    await first.get().beginSession(SESSION);
    await first.get().open(path);
    await talk(first, "Why?");
    await first.get().saveSession();
    hash = "new";
    const second = await windowOver(kept, { calls: { "model.open": open } });
    await second.get().beginSession(SESSION);
    expect(second.get().missing?.sentence).toContain("RLX Sample has changed");
    expect(second.get().turns).toEqual([]);
    await second.get().saveSession();
    const hashes = readDocument(kept.get(SESSION) ?? "").models.map(({ headerHash }) => headerHash);
    expect(new Set(hashes)).toEqual(new Set(["new", "old"]));
  });

  it("restores what it can of a damaged document, says so, and does not write over one that it cannot read", async () => {
    const kept = new Map<string, string>();
    const first = await windowOver(kept);
    await first.get().beginSession(SESSION);
    await first.get().open(SAMPLE);
    await talk(first, "Why?");
    first.get().setTab("run");
    await first.get().saveSession();
    const document = JSON.parse(kept.get(SESSION) ?? "") as { models: { parts: Record<string, unknown> }[] };
    const [model] = document.models;
    if (model === undefined) throw new Error("the session has a model");
    model.parts["talk"] = { turns: 7 };
    model.parts["later"] = { of: "a newer version" };
    kept.set(SESSION, JSON.stringify(document));
    const second = await windowOver(kept);
    await second.get().beginSession(SESSION);
    await until(() => second.get().notices.length > 0);
    expect(second.get().notices[0]?.text).toContain("talk");
    expect(second.get()).toMatchObject({ turns: [], tab: "run", runHistory: first.get().runHistory });
    // What is not known here stays for the version that wrote it.
    await second.get().saveSession();
    expect(readDocument(kept.get(SESSION) ?? "").models[0]?.parts["later"]).toEqual({ of: "a newer version" });

    kept.set(SESSION, "{");
    const third = await windowOver(kept);
    await third.get().beginSession(SESSION, { opens: SAMPLE });
    expect(third.get().notices[0]).toMatchObject({ title: "The session could not be read" });
    await third.get().saveSession();
    expect(kept.get(SESSION)).toBe("{");
    expect(kept.size).toBe(2);
  });
});

it("a document that is too large loses the models of long ago first, then large parts", () => {
  const base = memoryDocument(1);
  const [model] = base.models;
  if (model === undefined) throw new Error("the document has a model");
  const large = (identity: string, usedAt: number, letters: number): SessionDocument["models"][number] => ({
    ...{ ...model, identity, usedAt, title: identity },
    parts: { talk: "x".repeat(letters), small: 1 },
  });
  const many = fittedText({ ...base, models: [large("old", 1, 4_000_000), large("new", 2, 4_000_000)] });
  expect(many.leftOut).toEqual(["old"]);
  expect(readDocument(many.text).models.map(({ identity }) => identity)).toEqual(["new"]);
  const one = fittedText({ ...base, models: [large("only", 1, LARGEST_DOCUMENT + 1)] });
  expect(one.leftOut).toEqual(["talk of only"]);
  expect(readDocument(one.text).models[0]?.parts).toEqual({ small: 1 });
});

it("a notice about a file goes with it; one about the session stays", async () => {
  const { get } = await windowOver(new Map());
  await get().open(SAMPLE);
  const notice = { level: "error", code: null, text: "", hint: null, details: null } as const;
  get().notify({ ...notice, title: "of the file" });
  get().notify({ ...notice, title: "of the session", stays: true });
  await get().open(HYBRID);
  expect(get().notices.map(({ title }) => title)).toEqual(["of the session"]);
});
