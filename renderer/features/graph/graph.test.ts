import { describe, expect, it } from "vitest";
import { deviceCode, DEVICES } from "../../../main/contract/views/common.ts";
import { DTYPES, PACKED_TYPES } from "../../../main/ir/dtype.ts";
import { decoderGraph, QWEN_SHAPE } from "../../testing/decoderGraph.ts";
import { classify } from "../../graph/fold.ts";
import { createGraphModel, groupName, opName } from "../../graph/graphModel.ts";
import { createGridIndex } from "../../graph/gridIndex.ts";
import { layoutScene } from "../../graph/layout.ts";
import { logShare, NOTHING_KNOWN, typePlace, weightColors } from "../../ui/weightColors.ts";
import { mixed } from "../../drawing/colors.ts";
import { heatColor } from "../../../main/contract/heat.ts";
import { dimmedBoxes } from "../../drawing/dim.ts";
import { cardWindow, detailAt, fitViewport, MAX_CARDS, stillInside, worldRect } from "../../drawing/lod.ts";
import { paintScene, segmentText } from "../../drawing/paint.ts";

describe("level of detail", () => {
  it("follows the zoom", () => {
    expect([0.01, 0.15, 0.25, 0.7, 1.2].map(detailAt)).toEqual(["tiles", "boxes", "names", "cards", "full"]);
  });

  it("mounts what is in view with room to pan, but never more than the budget", () => {
    const side = 40;
    const at = (pick: (i: number) => number): Float32Array =>
      Float32Array.from({ length: side * side }, (_, i) => pick(i));
    const index = createGridIndex({
      x: at((i) => (i % side) * 100),
      y: at((i) => Math.floor(i / side) * 100),
      w: at(() => 80),
      h: at(() => 80),
    });
    const small = cardWindow(index, { x: 1000, y: 1000, w: 500, h: 500 });
    expect(small!.rect).toEqual({ x: 750, y: 750, w: 1000, h: 1000 });
    const tight = cardWindow(index, { x: 0, y: 0, w: 1400, h: 1400 });
    expect(tight!.boxes.length).toBeLessThanOrEqual(MAX_CARDS);
    expect(tight!.rect.w).toBeLessThan(2800);
    expect(cardWindow(index, { x: 0, y: 0, w: 4000, h: 4000 })).toBeNull();
  });

  it("keeps a window while the view is inside", () => {
    const window = { x: 0, y: 0, w: 100, h: 100 };
    expect(stillInside(window, { x: 10, y: 10, w: 50, h: 50 })).toBe(true);
    expect(stillInside(window, { x: 60, y: 10, w: 50, h: 50 })).toBe(false);
  });

  it("fits a rectangle into the middle of the screen and back", () => {
    const rect = { x: 100, y: 200, w: 1000, h: 400 };
    const viewport = fitViewport(rect, 800, 600, 20, 1);
    const seen = worldRect(viewport, 800, 600);
    expect(seen.x + seen.w / 2).toBeCloseTo(600);
    expect(seen.y + seen.h / 2).toBeCloseTo(400);
    expect(seen.w).toBeGreaterThan(1000);
    expect(fitViewport({ x: 0, y: 0, w: 10, h: 10 }, 800, 600, 20, 1).zoom).toBe(1);
  });
});

describe("colours", () => {
  it("are mixed, whichever way they are written", () => {
    expect(mixed("#fff", "#1b1d21", 0)).toBe("rgb(255 255 255)");
    expect(mixed("#ffffff", "#000", 0.2)).toBe("rgb(204 204 204)");
  });

  it("run from cividis' dark blue to its yellow", () => {
    expect(heatColor(0)).toBe("rgb(0 32 77)");
    expect(heatColor(1)).toBe("rgb(255 233 69)");
    expect(heatColor(7)).toBe(heatColor(1));
  });

  it("are logarithmic", () => {
    expect(logShare(10, 1, 100)).toBeCloseTo(0.5);
    expect(logShare(0, 1, 100)).toBe(0);
    expect(logShare(100, 1, 100)).toBe(1);
    expect(logShare(5, 5, 5)).toBe(1);
  });
});

describe("painting", () => {
  const view = decoderGraph(
    { ...QWEN_SHAPE, layers: 4 },
    { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" },
  );
  const model = createGraphModel(view);
  const device = new Uint8Array(view.nodeCount);
  const work = new Float32Array(view.nodeCount);
  for (let n = 0; n < view.nodeCount; n++) {
    if (model.hidden[n] === 1) continue;
    device[n] = deviceCode(opName(view, n) === "attention" ? "gpu" : "ane");
    work[n] = opName(view, n) === "attention" ? 0.1 : 0.001;
  }
  const classes = classify(model, device);
  const picture = {
    model,
    classes,
    rough: classes,
    scene: layoutScene(model, { open: new Set(), classes }),
    serial: 1,
  };

  it("sums up shares of work by device for a stack of blocks", () => {
    const paint = paintScene(picture, "device", { device, work, segment: null, values: null });
    const stack = [...picture.scene.kind].indexOf(2);
    const shares = [...paint.shares.subarray(stack * DEVICES.length, (stack + 1) * DEVICES.length)];
    expect(shares.reduce((a, b) => a + b, 0)).toBeCloseTo(1);
    expect(paint.device[stack]).toBe(deviceCode("gpu"));
    expect(paint.work[stack]!).toBeGreaterThan(0.4);
    expect(paint.heat[stack]).toBeNull();
  });

  it("says of a group that a cut goes through in which segments it lies", () => {
    const segment = Int32Array.from(device, (code, n) => (code === 0 ? -1 : opName(view, n) === "attention" ? 0 : 1));
    const paint = paintScene(picture, "segment", { device, work, segment, values: null });
    const stack = [...picture.scene.kind].indexOf(2);
    expect(segmentText(paint.segments[stack]!)).toBe("segments 1–2");
    const head = [...picture.scene.kind].findIndex(
      (kind, box) => kind === 1 && groupName(view, picture.scene.ref[box]!) === "head",
    );
    expect(segmentText(paint.segments[head]!)).toBe("segment 2");
    expect(paintScene(picture, "device", { device, work, segment, values: null }).segments).toEqual([]);
  });

  it("names only the segments that have a part in a group", () => {
    expect(segmentText([])).toBe("");
    expect(segmentText([4])).toBe("segment 5");
    expect(segmentText([2, 0])).toBe("segments 1, 3");
    expect(segmentText([1, 0, 4, 2])).toBe("segments 1–3, 5");
    expect(segmentText([0, 2, 4, 6, 16])).toBe("5 segments, 1 to 17");
  });

  it("scales quantities over what is drawn, and takes counts where no work is known", () => {
    const values = Float32Array.from({ length: view.nodeCount }, (_, n) => (opName(view, n) === "linear" ? 10 : 0));
    const paint = paintScene(picture, "bytes", { device, work: null, segment: null, values });
    const head = [...picture.scene.kind].findIndex(
      (kind, box) => kind === 1 && groupName(view, picture.scene.ref[box]!) === "head",
    );
    expect(paint.value[head]).toBe(10);
    expect(paint.low).toBe(10);
    expect(paint.high).toBe(240);
    expect(paint.device[head]).toBe(deviceCode("ane"));
  });

  it("dims what has no part in a device or a segment", () => {
    const paint = paintScene(picture, "device", { device, work, segment: null, values: null });
    const segment = Int32Array.from(device, (code, n) => (code === 0 ? -1 : opName(view, n) === "attention" ? 0 : 1));
    const stack = [...picture.scene.kind].indexOf(2);
    const head = [...picture.scene.kind].findIndex(
      (kind, box) => kind === 1 && groupName(view, picture.scene.ref[box]!) === "head",
    );
    const of = (only: { device: number; segment: number; highlight?: Uint8Array }): (number | undefined)[] => {
      const dimmed = dimmedBoxes(picture.scene, paint, segment, { highlight: null, ...only });
      return [dimmed?.[stack], dimmed?.[head]];
    };
    expect(of({ device: -1, segment: 0 })).toEqual([0, 1]);
    expect(of({ device: -1, segment: 1 })).toEqual([0, 0]);
    expect(of({ device: deviceCode("gpu"), segment: -1 })).toEqual([0, 1]);
    expect(of({ device: deviceCode("gpu"), segment: 1 })).toEqual([0, 1]);
    expect(dimmedBoxes(picture.scene, paint, segment, { device: -1, segment: -1, highlight: null })).toBeNull();
    const inStack = Uint8Array.from({ length: view.nodeCount }, (_, n) => (opName(view, n) === "attention" ? 1 : 0));
    expect(of({ device: -1, segment: -1, highlight: inStack })).toEqual([0, 1]);
  });

  it("gives a type one colour, whatever is folded or in view", () => {
    const legend = ["i32", "f32", "q4_k", "f16"];
    const values = Float32Array.from({ length: view.nodeCount }, (_, n) => (opName(view, n) === "input" ? 0 : 1));
    const columns = { device, work, segment: null, values, legend };
    const folded = paintScene(picture, "type", columns);
    const open = layoutScene(model, { open: new Set([1, 2, 3]), classes });
    const opened = paintScene({ ...picture, scene: open }, "type", columns);
    for (const paint of [folded, opened])
      expect(new Set(paint.heat)).toEqual(new Set(weightColors(legend).slice(0, 2)));
    expect(new Set([...DTYPES, ...PACKED_TYPES].map(typePlace)).size).toBe(DTYPES.length + PACKED_TYPES.length);
    // Few bits are at the bright end, whatever else there is; what is not a type has no place on the scale.
    expect(weightColors(["q4_k", "f16", "q6_k + q4_k", "?"])).toEqual([
      heatColor(83 / 127),
      heatColor(1),
      heatColor(38 / 127),
      NOTHING_KNOWN,
    ]);
  });
});
