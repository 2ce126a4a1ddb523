// The sentence, the table and the lanes of a recording agree; of each other kind of sum, that it is the same time put otherwise.
import { describe, expect, it } from "vitest";
import { disagreements } from "../../testing/agreement.ts";
import { madeRecording } from "../../testing/recordings.ts";
import { tokenSeconds, typicalTokens } from "./pieces.ts";
import { bottomUp, layerOf, layerSums, opSums, phaseScope, stepScope, totalOf } from "./sums.ts";

const SEEDS = Array.from({ length: 50 }, (_, i) => i + 1);

describe("sentence, table and lanes", () => {
  it.each(SEEDS)("agree on recording %i", (seed) => {
    expect(disagreements(madeRecording({ seed, attributed: seed % 3 === 0 }))).toEqual([]);
  });

  it("that do not agree are told apart", () => {
    const made = madeRecording({ seed: 1 });
    const [first, ...rest] = made.decode.rows;
    const otherRow = {
      ...made,
      decode: { ...made.decode, rows: [{ ...first!, seconds: first!.seconds * 1.1 }, ...rest] },
    };
    expect(disagreements(otherRow)).not.toEqual([]);
    const { sentence } = made;
    expect(disagreements({ ...made, sentence: sentence.replace(/\d+ %/, "1 %") })).toEqual([
      expect.stringContaining("the sentence and the largest row"),
    ]);
    const slices = { ...made.slices, seconds: made.slices.seconds.map((each) => each / 2) };
    expect(disagreements({ ...made, slices })).not.toEqual([]);
  });
});

describe("sums", () => {
  const made = madeRecording({ seed: 7, tokens: 9 });
  const scope = phaseScope(made, "decode");

  it("of ops, of layers and of the tree's leaves are the same time", () => {
    const whole = totalOf(opSums(made, scope));
    expect(totalOf(layerSums(made, scope))).toBeCloseTo(whole, 9);
    const leaves = bottomUp(made, scope, [], whole).flatMap((op) =>
      op.kind === "op"
        ? bottomUp(made, scope, [op], whole).flatMap((layer) => bottomUp(made, scope, [op, layer], whole))
        : [op],
    );
    expect(totalOf(leaves)).toBeCloseTo(whole, 9);
    expect(leaves.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
  });

  it("of a step are its time, without what follows it", () => {
    expect(totalOf(opSums(made, stepScope(3)))).toBeCloseTo(made.steps.seconds[3]!, 6);
  });

  it("of a typical token leave out what another program held up, and the last one", () => {
    const typical = typicalTokens(made);
    const times = [...made.steps.decode.keys()].filter((step) => made.steps.decode[step] === 1 && step < 9);
    const most = times.reduce((a, b) => (tokenSeconds(made, a) > tokenSeconds(made, b) ? a : b));
    expect(typical).not.toContain(most);
    expect(typical).not.toContain(9);
    expect(typical).toHaveLength(4);
    expect(typicalTokens(madeRecording({ seed: 3, tokens: 1 }))).toEqual([1]);
  });

  it("know the layer by the label", () => {
    const layer = (label: string, op = "linear") => layerOf({ kind: "op", op, label });
    expect(
      ["blk.12/attention", "model.layers.3.mlp", "embedding", "output_norm/x"].map((label) => layer(label)),
    ).toEqual([...["block 12", "block 3", "embedding", "output_norm"]]);
    expect([layer("", "add"), layer("iota", "iota")]).toEqual(["outside of blocks", "outside of blocks"]);
  });
});
