import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { createOutput, errorText, exitCode, figureText, table } from "./output.ts";

function sink(): { readonly stream: Writable; readonly text: () => string } {
  let text = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  return { stream, text: () => text };
}

const figure = { value: 0, low: null, high: null, basis: "" };

describe("output", () => {
  it("is JSON and nothing else with --json", () => {
    const [out, err] = [sink(), sink()];
    const output = createOutput(true, out.stream, err.stream);
    output.line("for people");
    output.progress("working");
    output.value({ tokens: Uint32Array.of(1, 2) });
    expect(JSON.parse(out.text())).toEqual({ tokens: [1, 2] });
    expect(err.text()).toBe("");
  });

  it("writes progress to stderr as plain lines where there is no terminal", () => {
    const [out, err] = [sink(), sink()];
    const output = createOutput(false, out.stream, err.stream);
    output.progress("a");
    output.progress("a");
    output.progress("b");
    output.line("result");
    expect(err.text()).toBe("a\nb\n");
    expect(out.text()).toBe("result\n");
  });

  it("aligns numbers to the right", () => {
    expect(
      table(
        ["op", "n"],
        [
          ["add", "5"],
          ["matmul", "12"],
        ],
        new Set([1]),
      ),
    ).toBe("op       n\n──────  ──\nadd      5\nmatmul  12");
  });

  it("marks what is not measured", () => {
    expect(figureText({ ...figure, value: 0.0123, unit: "seconds", truth: "predicted" })).toBe("~12.3 ms");
    expect(figureText({ ...figure, value: 395e6, unit: "bytes", truth: "exact" })).toBe("395 MB");
    expect(figureText({ ...figure, value: 3, low: 2, high: 4, unit: "tokens/s", truth: "measured" })).toBe(
      "2 – 4 tok/s",
    );
  });

  it("tells a wrong command from a failed one", () => {
    expect(exitCode({ code: "INPUT_ARGUMENT", message: "" })).toBe(2);
    expect(exitCode({ code: "INPUT_NOT_GGUF", message: "" })).toBe(1);
    expect(exitCode({ code: "CANCELLED", message: "" })).toBe(130);
    expect(errorText({ code: "INPUT_NOT_GGUF", message: "m", hint: "h" })).toBe("error INPUT_NOT_GGUF: m\n  → h");
  });
});
