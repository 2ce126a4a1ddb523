import { describe, expect, it } from "vitest";
import { commandFor, isMac, parseChord } from "./shortcuts.ts";
import type { KeyContext, KeyPress } from "./shortcuts.ts";

const press = (key: string, code: string, part: Partial<KeyPress> = {}): KeyPress => ({
  key,
  code,
  metaKey: false,
  ctrlKey: false,
  shiftKey: false,
  altKey: false,
  ...part,
});
const context = (part: Partial<KeyContext> = {}): KeyContext => ({
  mac: false,
  shell: false,
  canvasFocused: false,
  typing: false,
  ...part,
});

describe("shortcuts", () => {
  it("are Command on a Mac and Control elsewhere", () => {
    expect(commandFor(press("k", "KeyK", { ctrlKey: true }), context())).toBe("view.palette");
    expect(commandFor(press("k", "KeyK", { metaKey: true }), context())).toBeNull();
    expect(commandFor(press("k", "KeyK", { metaKey: true }), context({ mac: true }))).toBe("view.palette");
    expect(commandFor(press("k", "KeyK", { ctrlKey: true }), context({ mac: true }))).toBeNull();
  });

  it("know the key under Option and Shift", () => {
    expect(commandFor(press("£", "Digit3", { altKey: true }), context({ mac: true }))).toBe("view.graph");
    expect(commandFor(press("}", "BracketRight", { shiftKey: true }), context({ canvasFocused: true }))).toBe(
      "navigate.nextPass",
    );
  });

  it("of single letters work on the canvas only, and never while typing", () => {
    expect(commandFor(press("d", "KeyD"), context())).toBeNull();
    expect(commandFor(press("d", "KeyD"), context({ canvasFocused: true }))).toBe("graph.byDevice");
    expect(commandFor(press("d", "KeyD"), context({ canvasFocused: true, typing: true }))).toBeNull();
    expect(commandFor(press("N", "KeyN", { shiftKey: true }), context({ canvasFocused: true }))).toBe(
      "navigate.previousHop",
    );
    expect(commandFor(press("+", "Equal", { shiftKey: true }), context({ canvasFocused: true }))).toBe("graph.zoomIn");
  });

  it("leave the browser what is the browser's", () => {
    const reload = press("r", "KeyR", { ctrlKey: true });
    expect(commandFor(reload, context())).toBeNull();
    expect(commandFor(reload, context({ shell: true }))).toBe("model.run");
    expect(commandFor(press("Enter", "Enter", { ctrlKey: true }), context())).toBe("model.run");
  });

  it("parse chords with a plus in them", () => {
    expect(parseChord("Mod+Shift+C")).toEqual({ mod: true, shift: true, alt: false, key: "c" });
    expect(parseChord("+")).toEqual({ mod: false, shift: false, alt: false, key: "+" });
  });

  it("know a Mac", () => {
    expect(isMac("MacIntel")).toBe(true);
    expect(isMac("Linux x86_64")).toBe(false);
  });
});
