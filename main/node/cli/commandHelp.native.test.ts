/** The help of every command as a process says it. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { CHIPS } from "../../backends/coreml/plan/target.ts";
import { COMMAND_NAMES, commandFolder } from "../../testing/commandFolder.ts";
import { WINDOW_FLAGS } from "../../testing/windowFlags.ts";

const { command } = commandFolder();

describe("help", () => {
  it("lists every command", async () => {
    const { code, out, err } = await command("--help");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const listed = [...out.matchAll(/^ {2}([\w-]+)(?:\|\w+)? \[/gm)].map(([, name]) => name);
    expect(listed).toEqual([...COMMAND_NAMES, "help"]);
  });

  it.concurrent.each(COMMAND_NAMES)("of %s describes every option and gives an example", async (name) => {
    const { code, out, err } = await command(`${name} --help`);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(new RegExp(`^Usage: rlx ${name}`));
    expect(out).toMatch(new RegExp(`\\nExamples:\\n {2}\\$ rlx ${name}`));
    const options = /\nOptions:\n([^]*?)\n\n/.exec(out)?.[1]?.split("\n") ?? [];
    expect(options.length).toBeGreaterThan(1);
    for (const option of options) expect(option).toMatch(/^ {2}(-\w, )?--[\w-]+( [<[][\w.]+[>\]])? {2,}\S|^ {10,}\S/);
  });

  it.concurrent.each(Object.entries(WINDOW_FLAGS))(
    "of %s has the flags that the window writes down",
    async (name, flags) => {
      const { out } = await command(`${name} --help`);
      const taken = [...out.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag);
      expect(taken.length).toBeGreaterThan(1);
      for (const flag of flags) expect(taken).toContain(flag);
    },
  );

  it("offers a device only where it is taken", async () => {
    const devices = async (name: string): Promise<string | undefined> =>
      /--device <id> +(.*?) \(default/.exec((await command(`${name} --help`)).out)?.[1];
    expect(await devices("run")).toBe("cpu, mlx, coreml-sim or coreml");
    expect(await devices("bench")).toBe("cpu, mlx or coreml, or a list of them");
    expect(await devices("profile")).toBe("cpu, mlx or coreml");
  });

  it("of compile offers no model that has no package", async () => {
    const { out } = await command("compile --help");
    expect(out).not.toContain("--demo");
    expect(out).toMatch(/--header-only +a 1B-class model without data: for --dry-run only\n/);
    expect(await command("compile --header-only --dry-run")).toMatchObject({ code: 0 });
  });

  it("says what the exit codes mean", async () => {
    expect((await command("--help")).out).toMatch(/Exit codes: 0 success, 1 failure, 2 wrong usage, 130 Ctrl\+C/);
  });

  it("names the chips that there are", async () => {
    const named = /chip to predict for: (.*)\n/.exec((await command("route --help")).out)?.[1];
    const families = CHIPS.map(({ id }) => id);
    expect(named).toBe(`${families.at(0)} to ${families.at(-1)}, or a variant such as m4-pro`);
  });

  it("says which model is taken where none is named", async () => {
    for (const name of ["run", "chat"])
      expect((await command(`${name} --help`)).out).toMatch(
        /file +a \.gguf file [^]*;\s+without\s+one,\s+the\s+model\s+that\s+comes/,
      );
    expect((await command("bench --help")).out).not.toContain("without one");
  });

  it("ends with 2 when nothing was asked, and gives the version when it was", async () => {
    expect(await command("")).toMatchObject({ code: 2, out: "" });
    const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
    expect(await command("--version")).toMatchObject({ code: 0, out: `${version}\n` });
  });
});
