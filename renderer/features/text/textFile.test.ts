// A text that was opened by its path: it stays that file's when it is used, and goes back there.
import { expect, it } from "vitest";
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import { hashText } from "../../../main/ir/hash.ts";
import { current } from "../../session/async.ts";
import { createStoreOver, openSample } from "../../testing/openStore.ts";
import { isUnsaved } from "./slice.ts";

const PATH = "/graphs/a.rlx";

/** An engine with one file, which it opens and writes as the real one does. */
async function withFile() {
  const overview = current((await openSample()).get().model)!;
  const disk = { text: "one" };
  let open = { name: "a.rlx", file: { path: PATH, hash: "" } as { path: string; hash: string } | null, text: "" };
  let opened = 0;
  const ran: unknown[] = [];
  const made = await createStoreOver({
    calls: {
      "model.open": ({ source }) => {
        const file = source.kind === "text" ? (source.file ?? null) : { path: PATH, hash: hashText(disk.text) };
        open = { name: "a.rlx", file, text: source.kind === "text" ? source.text : disk.text };
        return { ...overview, kind: "text", model: `t${++opened}`, file: null };
      },
      "text.source": () => open,
      "text.read": () => ({ diagnostics: [], types: [], graph: null }),
      "text.run": ({ text, name }) => {
        ran.push([text, name]);
        throw new WorkbenchError("IR_STRUCTURE", `[${name ?? "text"}:1:1] no graph`);
      },
      "text.save": ({ text, was, overwrite }) => {
        if (was !== hashText(disk.text) && !overwrite)
          throw new WorkbenchError("INPUT_ARGUMENT", "[text] changed", { details: { exists: true } });
        disk.text = text;
        return { path: PATH, hash: hashText(text) };
      },
    },
  });
  await made.get().open({ kind: "path", path: PATH });
  await made.get().loadText();
  return { ...made, disk, ran };
}

it("stays the file's when an edited text is used, is marked, and is saved there", async () => {
  const { get, disk } = await withFile();
  expect(isUnsaved(get())).toBe(false);
  get().setTextDraft("two");
  expect(isUnsaved(get())).toBe(true);
  await get().applyText();
  await get().loadText();
  expect(current(get().text)).toEqual({ name: "a.rlx", file: { path: PATH, hash: hashText("one") }, text: "two" });
  expect([get().textDraft, get().textOnDisk, isUnsaved(get())]).toEqual([null, "one", true]);
  await get().saveTextFile(false);
  expect([disk.text, isUnsaved(get()), get().textNotSaved]).toEqual(["two", false, null]);
});

it("tells where another program wrote, and then writes over it or reads it again", async () => {
  const { get, disk } = await withFile();
  disk.text = "theirs";
  get().setTextDraft("mine");
  await get().saveTextFile(false);
  expect([disk.text, get().textNotSaved?.details]).toEqual(["theirs", { exists: true }]);
  await get().saveTextFile(true);
  expect([disk.text, isUnsaved(get()), get().textNotSaved]).toEqual(["mine", false, null]);
  disk.text = "theirs again";
  get().setTextDraft("lost");
  await get().reloadText();
  await get().loadText();
  expect([current(get().text)?.text, get().textDraft, isUnsaved(get())]).toEqual(["theirs again", null, false]);
});

it("runs under its file's name, which the faults of the engine say", async () => {
  const { get, ran } = await withFile();
  await get().runGraph();
  expect(ran).toEqual([["one", "a.rlx"]]);
  expect(get().graphRuns).toMatchObject([{ result: { ok: false, error: { message: "[a.rlx:1:1] no graph" } } }]);
});

it("is not saved anywhere without a file", async () => {
  const { get, disk } = await withFile();
  await get().open({ kind: "text", name: "b.rlx", text: "three" });
  await get().loadText();
  get().setTextDraft("four");
  await get().saveTextFile(true);
  expect([disk.text, isUnsaved(get())]).toEqual(["one", false]);
});
