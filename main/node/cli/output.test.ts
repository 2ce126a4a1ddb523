import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { createOutput, errorText, exitCode, figureText } from "./output.ts";

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

  it("shows a terminal what a file's control characters are, and a pipe the characters", () => {
    const name = "a\u001b[31mred\u009b1m\u007f\r\tb\n";
    const [pipe, terminal, aside] = [sink(), sink(), sink()];
    createOutput(false, pipe.stream, sink().stream).line(name);
    expect(pipe.text()).toBe(`${name}\n`);
    const output = createOutput(false, Object.assign(terminal.stream, { isTTY: true, columns: 80 }), sink().stream);
    output.line(name);
    output.write(name);
    output.table(["key"], [[name.trim()]]);
    expect(terminal.text()).toContain("a␛[31mred\ufffd1m␡␍\tb\n");
    expect(terminal.text().replaceAll(/[\n\t]/g, "")).not.toMatch(/\p{Cc}/u);
    createOutput(false, sink().stream, Object.assign(aside.stream, { isTTY: true, columns: 80 })).note(name);
    expect(aside.text()).toBe("a␛[31mred\ufffd1m␡␍\tb\n\n");
  });

  it("shows a terminal no marks that turn the order of a text, and a pipe all of them", () => {
    const name = "model\u202egguf.exe\u2066\u200f\u061c";
    const [pipe, terminal, json] = [sink(), sink(), sink()];
    createOutput(false, pipe.stream, sink().stream).line(name);
    expect(pipe.text()).toBe(`${name}\n`);
    createOutput(false, Object.assign(terminal.stream, { isTTY: true, columns: 80 }), sink().stream).line(name);
    expect(terminal.text()).toBe("model\ufffdgguf.exe\ufffd\ufffd\ufffd\n");
    createOutput(true, Object.assign(json.stream, { isTTY: true }), sink().stream).value({ name: `${name}\u009b` });
    expect(json.text()).toContain("model\\u202egguf.exe\\u2066");
    expect(json.text()).not.toMatch(/[\u0080-\u009f\u202e\u2066]/u);
    expect(JSON.parse(json.text())).toEqual({ name: `${name}\u009b` });
  });

  it("fits tables to a terminal, says so, and gives pipes all of them", () => {
    const rows = [["add", "x".repeat(200)]];
    const [pipe, terminal, err] = [sink(), sink(), sink()];
    createOutput(false, pipe.stream, err.stream).table(["op", "reason"], rows, { yields: 1 });
    expect(pipe.text()).toContain(`add  ${"x".repeat(200)}\n`);
    createOutput(false, Object.assign(terminal.stream, { isTTY: true, columns: 40 }), err.stream).table(
      ["op", "reason"],
      rows,
      { yields: 1 },
    );
    const lines = terminal.text().split("\n");
    expect(lines[2]).toBe(`add  ${"x".repeat(34)}…`);
    expect(lines[3]).toContain("--json");
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
