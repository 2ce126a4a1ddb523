/** The numbers of tensors over recorded answers: what is asked, what is shown of it, and what goes with the model. */
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { createStore } from "zustand/vanilla";
import type { TensorRow } from "../../../main/contract/views/model.ts";
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import { current } from "../../session/async.ts";
import { StoreProvider } from "../../session/context.tsx";
import { openSample } from "../../testing/openStore.ts";
import { CheckCard } from "./CheckCard.tsx";
import { CompareCard } from "./CompareCard.tsx";
import { heldQuestion } from "./againstSlice.ts";
import { NumbersCards } from "./NumbersCards.tsx";
import { ValuesView, valueText } from "./ValuesView.tsx";

async function opened() {
  const { get } = await openSample();
  const model = current(get().model)?.model ?? "";
  const { rows } = await get().askTensors({ model, query: "", sort: "file", descending: false, offset: 0, limit: 100 });
  const tensor = rows.find(({ name }) => name === "blk.0.attn_k.weight")!;
  get().chooseTensor(tensor);
  // Markup without a browser shows the state that a store began with.
  const text = (shown: React.ReactNode): string =>
    renderToStaticMarkup(<StoreProvider store={createStore(() => get() as never)}>{shown}</StoreProvider>).replace(
      /<[^>]+>/g,
      " ",
    );
  return { get, tensor, text };
}

it("shows the numbers of the chosen tensor, and forgets them with it", async () => {
  const { get, tensor, text } = await opened();
  expect(text(<NumbersCards tensor={tensor} />)).toMatch(/Reading the values/);
  await get().loadStatistics();
  const shown = text(<NumbersCards tensor={tensor} />);
  expect(shown).toMatch(/Values\s+all are numbers[^]*smallest[^]*deviation[^]*Block scales\s+1024[^]*mean/);
  expect(shown).not.toMatch(/Health|NaN|undefined/);
  get().chooseTensor(null);
  expect([get().statistics.kind, get().values.kind, get().tensorsView]).toEqual(["idle", "idle", "table"]);
});

it("does not read a large tensor unasked", async () => {
  const { text, tensor } = await opened();
  const large: TensorRow = { ...tensor, bytes: 2e9 };
  expect(text(<NumbersCards tensor={large} />)).toMatch(/Read 2\sGB/);
});

it("pages through values within the tensor", async () => {
  const { get, tensor, text } = await opened();
  await get().showValues({ matrix: 9, row: 500, column: -4 }, { rows: 24, columns: 12 });
  expect(get().valuesCorner).toEqual({ matrix: 0, row: 128 - 24, column: 0 });
  expect(text(<ValuesView tensor={tensor} />)).toMatch(/row\s+0\s+1[^]*104\s+−?0\.\d/);
});

it("writes values so that they fit into a column", () => {
  expect([NaN, -Infinity, 0, -0.000012345, 0.123456789, 3e30].map(valueText)).toEqual([
    ...["NaN", "−∞", "0", "−1.23e−5", "0.12346", "3.00e+30"],
  ]);
});

it("checks the file, says the verdict and the command, and goes with the model", async () => {
  const { get, text } = await opened();
  expect(text(<CheckCard />)).toBe("");
  const checking = get().startCheck();
  expect(get().checkRunning).toBe(true);
  expect(text(<CheckCard />)).toMatch(/Checking\s+Cancel/);
  await checking;
  expect([get().checkRunning, get().checkReport?.verdict, get().lastCommand]).toEqual([
    ...[false, "sound", "rlx check --sample"],
  ]);
  expect(text(<CheckCard />)).toMatch(/The file is sound[^]*46 tensors, 2\.8 MB, and every value is a number\./);
  get().close();
  expect(get().checkReport).toBeNull();
});

it("says why the place of a finding cannot be shown", async () => {
  const calls = {
    "model.tensors": () => {
      throw new WorkbenchError("ENGINE_LOST", "[fake] gone");
    },
  };
  const { get } = await openSample({ calls });
  await get().showFinding({ tensor: "blk.0.attn_k.weight", kind: "broken", place: null, sentence: "" });
  expect(get().notices).toMatchObject([{ title: "The tensor could not be shown", code: "ENGINE_LOST" }]);
  expect(get().tensorsView).toBe("table");
});

it("says that a check was cancelled", async () => {
  const { get, text } = await opened();
  const checking = get().startCheck();
  get().stopCheck();
  await checking;
  expect(text(<CheckCard />)).toMatch(/Cancelled\./);
});

it("compares with another file: progress, errors of each tensor, the command; and forgets them", async () => {
  const { get, text } = await opened();
  await get().startAgainst();
  expect(get().against).toBeNull();
  get().setAgainstPath(" /models/smaller.gguf ");
  const comparing = get().startAgainst();
  expect(text(<CompareCard />)).toMatch(/Comparing\s+Cancel/);
  await comparing;
  expect(text(<CompareCard />)).toMatch(/Against smaller\.gguf[^]*46 tensors: [\d.]+ % \([\d.]+ dB\) away/);
  const { against: comparison, mapColor, lastCommand } = get();
  expect([comparison!.errors.size, comparison!.path, mapColor]).toEqual([46, "/models/smaller.gguf", "error"]);
  expect(comparison!.errors.get("blk.0.attn_q.weight")).toMatchObject({ type: "Q8_0", theirs: "Q4_0" });
  expect(lastCommand).toBe("rlx tensors --sample --against /models/smaller.gguf");
  get().closeAgainst();
  expect([get().against, get().mapColor, text(<CompareCard />)]).toEqual([null, "type", ""]);
});

it("says that a comparison was cancelled, and why one failed", async () => {
  const { get, text } = await opened();
  get().setAgainstPath("/models/smaller.gguf");
  const comparing = get().startAgainst();
  get().stopAgainst();
  await comparing;
  expect(text(<CompareCard />)).toMatch(/Comparison[^]*Cancelled\./);
  get().setAgainstPath("/models/other.gguf");
  expect(text(<CompareCard />)).toBe("");
});

it("asks how tensors are held when that is known without work", async () => {
  const { get } = await opened();
  get().setBackend("mlx");
  expect(heldQuestion(get())).toMatchObject({ subject: { backend: "mlx" }, phase: get().phase });
  const waiting = {
    ...get(),
    backend: "coreml",
    routes: { decode: { kind: "idle" }, prefill: { kind: "idle" } },
  } as const;
  expect(heldQuestion(waiting)).toBeNull();
});
