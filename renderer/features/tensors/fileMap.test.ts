// The picture of a file: groups, boxes, colours, words, keys; names that are cut where they do not fit.
import { describe, expect, it } from "vitest";
import type { TensorRow } from "../../../main/contract/views/model.ts";
import type { ComparedTensor } from "../../../main/contract/views/tensors.ts";
import { heatColor } from "../../../main/contract/heat.ts";
import { NOTHING_KNOWN } from "../../ui/weightColors.ts";
import { columnsFor } from "./columns.ts";
import { fitting } from "./drawMap.ts";
import { errorColor, inkOn, leafAt, leafColors, leafGroups, leafText, mapWords, placeMap } from "./fileMap.ts";
import { leafOfKey } from "./MapView.tsx";

const row = (name: string, bytes: number, part: Partial<TensorRow> = {}): TensorRow => ({
  ...{ name, bytes, shape: [4, 8], type: "Q4_K", parameters: 32, bitsPerWeight: 4, offset: 0, part: 0, held: null },
  ...{ layer: null, role: name.replace(/\.weight$/, "") },
  ...part,
});
const ROWS = [
  row("blk.1.down", 300, { layer: 1, role: "down", offset: 90 }),
  row("blk.1.up", 300, { layer: 1, role: "up", offset: 80, type: "Q6_K" }),
  row("blk.0.down", 200, { layer: 0, role: "down", offset: 20 }),
  row("embd.weight", 150, { offset: 10 }),
];
const BOX = { x: 0, y: 0, width: 400, height: 300 };
const whole = placeMap(leafGroups(ROWS, { matched: 7, matchedBytes: 1000 }), BOX);

describe("the picture of a file", () => {
  it("has layers in their order, their tensors in the file's, and one box for what is small", () => {
    expect(whole.groups.map(({ title, bytes }) => [title, bytes])).toEqual([
      ["outside of layers", 150],
      ["layer 0", 200],
      ["layer 1", 600],
      ["3 smaller tensors", 50],
    ]);
    expect(whole.leaves.map(({ title }) => title)).toEqual(["embd", "down", "up", "down", "3 smaller tensors"]);
  });

  it("gives groups areas by their bytes, keeps their tensors inside, and finds them there", () => {
    for (const { box, bytes } of whole.groups) expect((box.width * box.height) / 120_000).toBeCloseTo(bytes / 1000, 9);
    const layer = whole.groups[2]!.box;
    whole.leaves.slice(2, 4).forEach(({ box }, i) => {
      expect(box.x).toBeGreaterThanOrEqual(layer.x);
      expect(box.y + box.height).toBeLessThanOrEqual(layer.y + layer.height);
      expect(leafAt(whole, box.x + box.width / 2, box.y + box.height / 2)).toBe(2 + i);
    });
    expect(leafAt(whole, -1, -1)).toBe(-1);
  });

  it("gives each of 4000 tensors its box", () => {
    const many = Array.from({ length: 4000 }, (_, i) => row(`blk.${i % 64}.t${i}`, 1 + (i % 97), { layer: i % 64 }));
    const { groups, leaves } = placeMap(leafGroups(many, { matched: 4000, matchedBytes: 1 }), BOX);
    expect([groups.length, leaves.length]).toEqual([64, 4000]);
    expect(leaves.every(({ box }) => box.width > 0 && box.height > 0)).toBe(true);
  });

  it("is coloured by type, or by error on a log scale; what is not known is grey", () => {
    const byType = leafColors(whole.leaves, null);
    expect([new Set(byType.slice(0, 4)).size, byType[4]]).toEqual([2, NOTHING_KNOWN]);
    const error = (relative: number | null) => ({ relative }) as ComparedTensor;
    const errors = new Map([
      ["embd.weight", error(0)],
      ["blk.0.down", error(0.001)],
      ["blk.1.up", error(null)],
    ]);
    const colors = leafColors(whole.leaves, errors);
    expect(colors[0]).toBe(errorColor(0, 0.001, 0.001));
    expect([colors[2], colors[3], colors[4]]).toEqual([heatColor(1), NOTHING_KNOWN, NOTHING_KNOWN]);
    expect([inkOn(heatColor(1)), inkOn(heatColor(0)), inkOn(NOTHING_KNOWN)]).toEqual(["#14161a", "#ffffff", "#ffffff"]);
  });

  it("is said in words", () => {
    expect(leafText(whole.leaves[2]!, 1000, null).join("; ")).toMatch(
      /^blk\.1\.up; Q6_K, 4×8; 300\sB, 30\s% of the file$/,
    );
    expect(mapWords(whole.groups)[0]).toMatch(/^layer 1: 600\sB, 60\s%, 2 boxes$/);
  });

  it("is walked by keys in the order of the file", () => {
    expect(["ArrowRight", "ArrowLeft", "Home", "End", "Enter", "x"].map((key) => leafOfKey(whole, 1, key))).toEqual([
      ...[2, 0, 0, 4, 1, null],
    ]);
    expect(leafOfKey(whole, -1, "ArrowDown")).toBe(0);
    expect(leafOfKey({ groups: [], leaves: [] }, -1, "End")).toBeNull();
  });
});

it("cuts long names", () => {
  const measured = { measureText: (text: string) => ({ width: 6 * text.length }) as TextMetrics };
  expect(["attn", "attn_output_norm", "attn_output"].map((text) => fitting(measured, text, 40))).toEqual([
    ...["attn", "attn_…", "attn_…"],
  ]);
  expect(fitting(measured, "attn_output", 12)).toBe("");
});

it("shows as many columns as fit, names as wide as they are, and has no gap in wide windows", () => {
  const asked = { nameLength: 30, isHeld: true, isCompared: true };
  const ids = (width: number): string =>
    columnsFor({ ...asked, width })
      .columns.map(({ id }) => id)
      .join(" ");
  expect(ids(Infinity)).toBe("name layer shape type bits parameters bytes form held error");
  expect(ids(560)).toBe("name type bytes held error");
  expect(ids(0)).toBe("name type bytes error");
  const { template, whole: width } = columnsFor({ ...asked, width: Infinity });
  expect(template).toMatch(/^minmax\(96px, 201px\) 40px/);
  expect(width).toBeLessThan(1100);
});
