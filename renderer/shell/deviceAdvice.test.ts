// Which device is fastest is told for one model: advice never stands under another one, and a measurement that is stopped leaves what
// was there.
import { describe, expect, it, vi } from "vitest";
import { current } from "../session/async.ts";
import type { RecordedOptions } from "../engine/recorded/replay.ts";
import { answerTo } from "../engine/recorded/replay.ts";
import { sampleId } from "../testing/sample.ts";
import { openSample } from "../testing/openStore.ts";

const OTHER = { kind: "path", path: "/models/other.gguf" } as const;

/** Something that happens when the test says so. */
function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

async function opened(options: RecordedOptions) {
  const { get } = await openSample(options);
  return get;
}

/** The window may get the same id for another model: each answer has a number of its own. */
const adviceOf = (question: number) => ({
  ...answerTo("devices.advise", { model: sampleId }),
  need: `question ${question}`,
});

/** Numbered advice, whose second question is answered when the gate opens. */
const secondWaitsFor = (slow: Pick<ReturnType<typeof gate>, "opened">) => {
  let asked = 0;
  return async () => {
    asked += 1;
    const question = asked;
    if (question === 2) await slow.opened;
    return adviceOf(question);
  };
};

describe("advice", () => {
  it("goes with its model, and comes too late for the next", async () => {
    const slow = gate();
    const get = await opened({
      calls: { "devices.advise": secondWaitsFor(slow) },
    });
    await get().loadAdvice();
    expect(current(get().advice)?.need).toBe("question 1");
    const late = get().loadAdvice();
    await get().open(OTHER);
    expect(get().advice.kind).toBe("idle");
    slow.open();
    await late;
    expect(get().advice.kind).toBe("idle");
  });

  it("of a measurement that began under another model is asked for anew", async () => {
    const slow = gate();
    const get = await opened({
      calls: { "devices.advise": () => adviceOf(2) },
      streams: {
        "devices.calibrate": async function* () {
          await slow.opened;
          yield { kind: "done", advice: adviceOf(1) };
        },
      },
    });
    const measured = get().calibrate();
    await get().open(OTHER);
    slow.open();
    await measured;
    expect(get().calibrating).toBeNull();
    expect(current(get().advice)).toBeNull();
    await vi.waitFor(() => expect(current(get().advice)?.need).toBe("question 2"));
  });

  it("stays when the measurement is stopped, also when it was just being asked for", async () => {
    const slow = gate();
    const get = await opened({
      calls: { "devices.advise": secondWaitsFor(slow) },
      streams: {
        // oxlint-disable-next-line require-yield -- it ends by being cancelled only
        "devices.calibrate": async function* (_, { signal }) {
          await new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason as Error)),
          );
        },
      },
    });
    await get().loadAdvice();
    const again = get().loadAdvice();
    const measured = get().calibrate();
    get().stopCalibration();
    await measured;
    slow.open();
    await again;
    expect(get().advice).toEqual({ kind: "ready", value: adviceOf(2) });
  });
});
