import { describe, expect, it } from "vitest";
import { appendLog, logText } from "./log.ts";

const command = (text: string) => ({ kind: "command", code: null, text }) as const;

describe("the log", () => {
  it("keeps the order and numbers its lines", () => {
    const log = appendLog(appendLog([], command("rlx inspect m"), 1), command("rlx route m"), 2);
    expect(log.map(({ id, text }) => [id, text])).toEqual([
      [1, "rlx inspect m"],
      [2, "rlx route m"],
    ]);
  });

  it("writes a repeated command once, with the later time, but every error", () => {
    const once = appendLog(appendLog([], command("rlx bench m"), 1), command("rlx bench m"), 5);
    expect(once).toHaveLength(1);
    expect(once[0]!.at).toBe(5);
    const error = { kind: "error", code: "ENGINE_LOST", text: "gone" } as const;
    expect(appendLog(appendLog(once, error, 6), error, 7)).toHaveLength(3);
  });

  it("forgets the oldest lines, not the newest", () => {
    let log = appendLog([], command("0"), 0);
    for (let i = 1; i < 1000; i++) log = appendLog(log, command(String(i)), i);
    expect(log).toHaveLength(400);
    expect(log.at(-1)!.text).toBe("999");
  });

  it("reads as lines with times and codes", () => {
    const log = appendLog([], { kind: "error", code: "ENGINE_LOST", text: "gone" }, 0);
    expect(logText(log)).toBe("1970-01-01T00:00:00.000Z\terror\tENGINE_LOST\tgone");
  });
});
