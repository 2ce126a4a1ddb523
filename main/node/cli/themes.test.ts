// The colours of pictures that no browser makes are those of the window.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { THEMES } from "../../../renderer/drawing/themes.ts";

describe("the colours of both themes", () => {
  const css = readFileSync(join(import.meta.dirname, "../../../renderer/tokens.css"), "utf8");
  const tokens = (theme: string): ReadonlyMap<string, string> => {
    const block = css.slice(css.indexOf(theme)).split("}")[0]!;
    return new Map([...block.matchAll(/--([\w-]+): ([^;]+);/g)].map(([, name, value]) => [name!, value!]));
  };

  it.each(["light", "dark"] as const)("are those of the tokens, %s", (theme) => {
    const [all, of] = [tokens(":root {"), tokens(`[data-theme="${theme}"]`)];
    const { font, mono, change, device, lineStrong, ink2, ink3, ...rest } = THEMES[theme];
    expect([font, mono]).toEqual([all.get("font"), all.get("mono")]);
    expect([lineStrong, ink2, ink3]).toEqual(["line-strong", "ink-2", "ink-3"].map((name) => of.get(name)));
    for (const [name, color] of Object.entries({ ...rest, ...change })) expect(color, name).toBe(of.get(name));
    const { none, ...devices } = device;
    expect(none).toBe(of.get("ink-3"));
    for (const [name, color] of Object.entries(devices)) expect(color, name).toBe(of.get(name));
  });
});
