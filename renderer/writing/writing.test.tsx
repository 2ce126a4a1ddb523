import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { WritePlan } from "../../main/contract/views/write.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import type { WriteParts, WriteState } from "./writing.ts";
import { createWriting, isSuggestedFolder, isThereAlready, NOT_WRITING } from "./writing.ts";
import { WritePanel } from "./WritePanel.tsx";

it("tells free space only of the folder that it was asked for", () => {
  const plan = { suggestedPath: "/home/me/a.mlpackage" };
  expect(isSuggestedFolder("/home/me/b.mlpackage ", plan)).toBe(true);
  expect(isSuggestedFolder("/home/me/nowhere/b.mlpackage", plan)).toBe(false);
  expect(isSuggestedFolder("b.mlpackage", plan)).toBe(false);
});

it("knows what stands in the way from what may pass", () => {
  const error = { code: "INPUT_ARGUMENT", message: "x" } as const;
  expect(isThereAlready({ ...error, details: { exists: true } })).toBe(true);
  expect(isThereAlready({ ...error, details: {} })).toBe(false);
  expect(isThereAlready(error)).toBe(false);
});

type Item =
  | { readonly kind: "progress"; readonly sentence: string; readonly doneBytes: number; readonly totalBytes: number }
  | { readonly kind: "done"; readonly path: string | null };
const STEP = { kind: "progress", sentence: "Writing a", doneBytes: 1, totalBytes: 2 } as const;
const planAt = (suggestedPath: string): WritePlan => ({
  suggestedPath,
  bytes: { value: 2, low: null, high: null, unit: "bytes", truth: "exact", basis: "" },
  sourceBytes: 2,
  freeDiskBytes: null,
  sentence: "",
  can: { ok: true },
});

/** A form over a plan and a stream; `leave`: another model is opened. */
function form(
  write: WriteParts<WritePlan, Item>["write"],
  plan: () => WritePlan | Promise<WritePlan> = () => planAt("/m/a.gguf"),
) {
  let state: WriteState<WritePlan, Item> = NOT_WRITING;
  const seen: WriteState<WritePlan, Item>["work"]["kind"][] = [];
  let leave = (): void => undefined;
  const actions = createWriting<WritePlan, Item>(
    {
      shell: null,
      on: (_event, react) => {
        leave = () => react({ opensAgain: false } as never);
      },
    },
    {
      get: () => state,
      set: (next) => {
        state = next;
        seen.push(next.work.kind);
      },
      plan: async () => plan(),
      write,
      measures: true,
      onLeft: () => undefined,
    },
  );
  return { actions, get: () => state, seen, leave: () => leave() };
}

describe("a form that writes", () => {
  it("goes from a plan by progress to a report, and measures without a path", async () => {
    const places: (string | null)[] = [];
    const { actions, get, seen } = form(async function* ({ path }) {
      places.push(path);
      yield STEP;
      yield { kind: "done", path };
    });
    await actions.load();
    expect(get().path).toBe("/m/a.gguf");
    await actions.start();
    expect(seen).toContain("running");
    expect(get()).toMatchObject({ work: { kind: "none" }, report: { path: "/m/a.gguf" } });
    await actions.measure?.();
    expect(places).toEqual(["/m/a.gguf", null]);
  });

  it("follows a suggestion, but keeps a path that was typed", async () => {
    let suggested = "/m/a.gguf";
    const { actions, get } = form(
      async function* () {},
      () => planAt(suggested),
    );
    await actions.load();
    suggested = "/m/b.gguf";
    await actions.choose();
    expect(get().path).toBe("/m/b.gguf");
    actions.setPath("/mine.gguf");
    suggested = "/m/c.gguf";
    await actions.choose();
    expect(get().path).toBe("/mine.gguf");
  });

  it("keeps the choices of the last plan in sight where none can be made", async () => {
    let isWrong = false;
    const { actions, get } = form(
      async function* () {},
      () => (isWrong ? Promise.reject(new WorkbenchError("INPUT_ARGUMENT", "[fake] type")) : planAt("/m/a.gguf")),
    );
    const words = { thing: "file", verb: "Write", title: "A file" };
    const shown = (): string =>
      renderToStaticMarkup(
        <WritePanel<WritePlan, Item> words={words} actions={actions} state={get()} about={null} report={null}>
          {() => ({ body: "the choices" })}
        </WritePanel>,
      );
    await actions.load();
    expect(shown()).toMatch(/the choices.*Write<\/button>/);
    isWrong = true;
    await actions.choose();
    expect(get().plan.kind).toBe("failed");
    expect(shown()).toMatch(/the choices.*The file could not be planned.*Try again/);
    expect(shown()).not.toContain("Write</button>");
    isWrong = false;
    await actions.choose();
    expect(shown()).toMatch(/the choices.*Write<\/button>/);
  });

  it("shows an error until something else is asked, and says when it was cancelled", async () => {
    const failing = form(async function* (_place, signal) {
      yield STEP;
      if (signal.aborted) throw new WorkbenchError("CANCELLED", "[fake] stopped");
      throw new WorkbenchError("INPUT_ARGUMENT", "[fake] exists", { details: { exists: true } });
    });
    failing.actions.setPath("/a.gguf");
    await failing.actions.start();
    expect(failing.get().work).toMatchObject({ kind: "failed", error: { code: "INPUT_ARGUMENT" } });
    failing.actions.setOverwrite(true);
    expect(failing.get().work.kind).toBe("none");
    const running = failing.actions.start();
    failing.actions.stop();
    await running;
    expect(failing.get().work.kind).toBe("cancelled");
  });

  it("forgets everything with the model, also what still arrives", async () => {
    const { actions, get, leave } = form(async function* () {
      yield STEP;
      await new Promise((resolve) => setTimeout(resolve, 5));
      yield { kind: "done", path: "late" };
    });
    await actions.load();
    const running = actions.start();
    leave();
    await running;
    expect(get()).toEqual(NOT_WRITING);
  });
});
