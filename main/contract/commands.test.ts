import { describe, expect, it } from "vitest";
import { accelerator, COMMANDS, keyText } from "./commands.ts";

describe("commands", () => {
  it("have ids and keys of their own", () => {
    const ids = COMMANDS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const scope of ["window", "graph"]) {
      const keys = COMMANDS.filter((command) => command.scope === scope).flatMap((command) => command.keys);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  it("read as a person expects", () => {
    expect(keyText("Mod+Shift+C", true)).toBe("⌘⇧C");
    expect(keyText("Mod+Shift+C", false)).toBe("Ctrl+Shift+C");
    expect(keyText("+", false)).toBe("+");
    expect(keyText("Mod+.", true)).toBe("⌘.");
    expect(keyText("ArrowUp", false)).toBe("↑");
  });

  it("become Electron's accelerators", () => {
    expect(accelerator("Mod+Alt+0")).toBe("CommandOrControl+Alt+0");
    expect(accelerator("+")).toBe("Plus");
    expect(accelerator("Escape")).toBe("Esc");
    expect(accelerator("ArrowLeft")).toBe("Left");
  });
});
