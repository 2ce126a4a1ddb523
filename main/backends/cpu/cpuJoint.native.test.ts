// Joint steps of the CPU engine.
import { loadAddon } from "../../node/native/addon.ts";
import { openDecoder } from "../../runtime/devices/cpu.ts";
import { optimised } from "../../testing/decoderRuns.ts";
import { testJointSteps } from "../../testing/jointSessions.ts";

testJointSteps("on the CPU", (file, path) =>
  openDecoder(loadAddon(), file, [path], { cacheType: "f32", chunk: 8, threads: 2, prepare: optimised }),
);
