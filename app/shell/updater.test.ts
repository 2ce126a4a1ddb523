import { describe, expect, it } from "vitest";
import { createUpdater, type Updates } from "./updater.ts";

interface Asked {
  readonly message: string;
  readonly detail?: string;
}

/** A run of the updater: what it asked, what it did. `answers`: the buttons that are pressed, in order. */
function setUp(found: Awaited<ReturnType<Updates["checkForUpdates"]>>, answers: readonly number[], fails?: "download") {
  const asked: Asked[] = [];
  const done: string[] = [];
  const updates: Updates = {
    autoDownload: true,
    autoInstallOnAppQuit: true,
    checkForUpdates: async () => {
      done.push("check");
      return found;
    },
    downloadUpdate: async () => {
      done.push("download");
      if (fails === "download") throw new Error("no route to host");
    },
    quitAndInstall: () => void done.push("install"),
  };
  const run = createUpdater({
    installed: true,
    version: "0.2.0",
    load: async () => updates,
    ask: async ({ message, detail }) => {
      asked.push({ message, ...(detail === undefined ? {} : { detail }) });
      return answers[asked.length - 1] ?? 0;
    },
  });
  return { run, asked, done, updates };
}
const newer = { isUpdateAvailable: true, updateInfo: { version: "0.3.0" } };

describe("checking for updates", () => {
  it("never downloads by itself", async () => {
    const { run, done, updates } = setUp(newer, [1]);
    await run();
    expect(done).toEqual(["check"]);
    expect(updates).toMatchObject({ autoDownload: false, autoInstallOnAppQuit: false });
  });

  it("says that there is nothing newer", async () => {
    const { run, asked } = setUp({ isUpdateAvailable: false, updateInfo: { version: "0.2.0" } }, []);
    await run();
    expect(asked).toEqual([{ message: "Version 0.2.0 is the latest." }]);
  });

  it("downloads after a yes, and installs at once or at the end as the user says", async () => {
    const atOnce = setUp(newer, [0, 0]);
    await atOnce.run();
    expect(atOnce.done).toEqual(["check", "download", "install"]);
    const later = setUp(newer, [0, 1]);
    await later.run();
    expect(later.done).toEqual(["check", "download"]);
    expect(later.updates.autoInstallOnAppQuit).toBe(true);
  });

  it("says why it failed and can be asked again", async () => {
    const { run, asked, done } = setUp(newer, [0, 0, 0], "download");
    await run();
    expect(asked.at(-1)).toMatchObject({ message: "The update did not succeed." });
    expect(asked.at(-1)?.detail).toContain("no route to host");
    await run();
    expect(done).toEqual(["check", "download", "check", "download"]);
  });

  it("does one check at a time", async () => {
    const { run, done } = setUp(newer, [1]);
    await Promise.all([run(), run()]);
    expect(done).toEqual(["check"]);
  });

  it("in the source folder says how to update it", async () => {
    const asked: string[] = [];
    await createUpdater({
      installed: false,
      version: "0.2.0",
      load: () => Promise.reject(new Error("must not be loaded")),
      ask: async ({ message }) => asked.push(message),
    })();
    expect(asked).toEqual(["This workbench runs from its source folder."]);
  });
});
