import { describe, expect, it } from "vitest";
import { until } from "../../main/testing/until.ts";
import { current } from "../session/async.ts";
import { answerTo } from "../engine/recorded/replay.ts";
import { createStoreOver } from "../testing/openStore.ts";
import { HYBRID, SAMPLE } from "../testing/sample.ts";
import type { Bar } from "./address.ts";
import { bindAddress, showView } from "./address.ts";
import { readAddress } from "../session/address.ts";

/** A browser's history, as far as the window uses it. */
function historyBar() {
  const steps: { hash: string; state: unknown }[] = [{ hash: "", state: null }];
  let at = 0;
  let popped = (): void => undefined;
  const set = (state: unknown, url: string): void => void (steps[at] = { hash: new URL(url, "http://h").hash, state });
  const bar: Bar = {
    location: {
      pathname: "/",
      search: "",
      get hash() {
        return steps[at]?.hash ?? "";
      },
    },
    history: {
      get state(): unknown {
        return steps[at]?.state;
      },
      pushState(state, _title, url) {
        at += 1;
        steps.length = at;
        set(state, String(url));
      },
      replaceState: (state, _title, url) => set(state, String(url)),
    },
    addEventListener: (_name, listener) => (popped = listener),
  };
  const go = (step: number): void => {
    at += step;
    popped();
  };
  return { bar, go, steps };
}

async function bound(options: Parameters<typeof createStoreOver>[0] = {}) {
  const window = await createStoreOver(options);
  await window.get().beginSession("aaaa-bbbb");
  const { bar, go, steps } = historyBar();
  bindAddress(window.store, bar);
  const shows = (hash: string) => until(() => bar.location.hash === hash);
  return { ...window, bar, go, steps, shows };
}

const at = (tab: string): string => `#open=offer:sample&tab=${tab}`;

describe("the address of a window", () => {
  it("leads from a page of the first screen back to it, and there again", async () => {
    const { get, go, steps, shows } = await bound();
    get().showStartPage("server");
    await shows("#tab=server");
    expect(steps).toHaveLength(2);
    go(-1);
    await until(() => get().startPage === "first");
    go(1);
    await until(() => get().startPage === "server");
    // A model in between.
    await new Promise((resolve) => setTimeout(resolve, 150));
    await get().open(SAMPLE);
    await shows(at("overview"));
    go(-1);
    await until(() => get().model.kind === "idle" && get().startPage === "server");
  });

  it("follows model and tab, and back and forward lead through them", async () => {
    const { get, go, steps, shows } = await bound();
    await get().open(SAMPLE);
    await shows(at("overview"));
    get().setTab("run");
    await shows(at("run"));
    get().setTab("bench");
    await shows(at("bench"));
    expect(steps).toHaveLength(4);
    go(-1);
    await until(() => get().tab === "run");
    go(-1);
    await until(() => get().tab === "overview");
    go(-1);
    await until(() => get().model.kind === "idle");
    go(2);
    await until(() => get().tab === "run" && current(get().model)?.title === "RLX Sample");
    expect(steps).toHaveLength(4);
    // Another way from here drops what was ahead.
    await shows(at("run"));
    await new Promise((resolve) => setTimeout(resolve, 150));
    await get().open(HYBRID);
    await until(() => steps.length === 4 && steps[3]?.hash.includes("demo-hybrid") === true);
  });

  it("names the selected op without a step, and a link leads to it", async () => {
    const { get, store, steps, shows } = await bound();
    await get().open(SAMPLE);
    await until(() => get().graph.kind === "ready" && get().picture.kind === "ready");
    await shows(at("overview"));
    get().setTab("graph");
    await shows(at("graph"));
    get().showNode(5);
    await shows(`${at("graph")}&op=coreml-decode-5`);
    expect(steps).toHaveLength(3);
    showView(store, readAddress(`${at("run")}&op=coreml-prefill-7`));
    const chosen = (): number => {
      const { selection } = get();
      return selection.kind === "node" && selection.key.phase === "prefill" ? selection.node : -1;
    };
    await until(() => chosen() === 7);
    expect(get().tab).toBe("run");
    // There is no such op, nor such a tab for this model.
    showView(store, readAddress(`#tab=embed&op=coreml-prefill-99999`));
    expect(get()).toMatchObject({ tab: "run", selection: { node: 7 } });
  });

  it("tells a dropped file from none", async () => {
    const { get, go, shows } = await bound({
      calls: {
        "header.begin": () => ({ kind: "ready", header: "h", foundPath: null }),
        "model.open": () => answerTo("model.open", { source: SAMPLE }),
      },
    });
    const file = new File(["x"], "m.gguf");
    await get().open({ kind: "file", dropped: { file, folder: null, beside: new Map() } });
    await shows("#tab=overview");
    get().setTab("run");
    await shows("#tab=run");
    go(-1);
    await until(() => get().tab === "overview");
    expect(current(get().model)).not.toBeNull();
  });
});
