import { describe, expect, it } from "vitest";
import type { Reading } from "../../../main/contract/views/machine.ts";
import { conditionRows } from "./conditions.ts";

const reading = (id: Reading["id"], value: string | null, state: Reading["state"] = "ok"): Reading => ({
  id,
  title: id,
  value,
  source: "not exposed on this machine",
  state,
});
const state = (...readings: readonly Reading[]) => ({ at: 0, readings: [...readings] });

describe("the conditions of a benchmark", () => {
  it("say what changed, and what is not told", () => {
    const rows = conditionRows({
      device: "cpu",
      conditions: {
        before: state(reading("power", "mains"), reading("thermal", "nominal"), reading("swap", null, "unknown")),
        after: state(
          reading("power", "mains"),
          reading("thermal", "fair", "warning"),
          reading("swap", null, "unknown"),
        ),
      },
    });
    expect(rows.map(({ text, flagged }) => [text, flagged])).toEqual([
      ["mains", false],
      ["nominal → fair", true],
      ["not exposed on this machine", false],
    ]);
  });

  it("do not blame others for the load that the benchmark made", () => {
    const rows = conditionRows({
      device: "cpu",
      conditions: {
        before: state(reading("load", "0.2 on 2 processors")),
        after: state(reading("load", "2.1 on 2 processors", "warning")),
      },
    });
    expect(rows).toMatchObject([{ text: "0.2 on 2 processors", flagged: false }]);
  });

  it("tell a device's memory where that device was measured, and not elsewhere", () => {
    const after = state(
      { ...reading("mlx-memory", "3.4 MB"), device: "mlx", title: "in use" },
      { ...reading("mlx-peak", "3.8 MB"), device: "mlx", title: "most so far" },
    );
    const conditions = { before: state({ ...reading("mlx-memory", "0 B"), device: "mlx" }), after };
    expect(conditionRows({ device: "mlx", conditions })).toMatchObject([
      { title: "Device memory", text: "in use 3.4 MB, most so far 3.8 MB" },
    ]);
    expect(conditionRows({ device: "cpu", conditions })).toEqual([]);
  });
});
