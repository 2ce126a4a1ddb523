// The cases of training on the simulator of Core ML, and on Core ML over the double.
import { mkdtempSync, rmSync } from "node:fs";
import { cp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { cpuDevice } from "../../runtime/devices/cpu.ts";
import { doubleModule, noDouble } from "../../testing/coremlDouble.ts";
import { trainingCases } from "../../testing/trainingSuite.ts";
import { trainingOn } from "../../training/trainingDevice.ts";
import { coremlAccess, openRunner } from "../devices/coreml/device.ts";
import { prepareModel } from "../devices/coreml/prepare.ts";
import { loadAddon } from "../native/addon.ts";
import { packageTraining } from "./packageTraining.ts";
import { simulatedTraining } from "./training.ts";

const cpu = trainingOn(cpuDevice(loadAddon(), { threads: 2 }), "cpu");

describe("coreml-sim", () => {
  trainingCases({ open: () => Promise.resolve({ device: simulatedTraining(), cpu }) });
});

describe.skipIf(noDouble)(`coreml over the double ${noDouble ?? ""}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "rlx-coreml-training-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  trainingCases({
    open: () => {
      const access = coremlAccess(folder, doubleModule());
      const device = packageTraining({
        id: "coreml",
        title: "Core ML",
        units: "all",
        open: async (path) => {
          const write = (to: string): Promise<void> => cp(path, to, { recursive: true });
          const runner = openRunner(access, await prepareModel(access, { units: "all", facts: [path], write }), "all");
          return { runner, close: () => runner.dispose() };
        },
      });
      return Promise.resolve({ device, cpu });
    },
  });
});
