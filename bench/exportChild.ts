// One export in a process of its own, so that its peak memory is its own: exportChild FILE TARGET PROFILE → JSON.
import type { WeightProfile } from "../main/backends/coreml/weights/forms.ts";
import { exportPackage } from "../main/backends/coreml/export.ts";
import { openGguf } from "../main/formats/gguf/open.ts";
import { openFileSource } from "../main/node/fileByteSource.ts";
import { packageWriter } from "../main/node/packageDirectory.ts";
import { decoderExport, weightsOf } from "../main/testing/decoderExport.ts";

const [path = "", target = "", profile = "gpu"] = process.argv.slice(2);
const started = performance.now();
const file = await openGguf(await openFileSource(path));
const context = 4096;
const request = decoderExport(file, { profile: profile as WeightProfile, context, cacheType: "f16" });
const report = await exportPackage(request, { directory: await packageWriter(target), weights: weightsOf(file) });
await file.close();
process.stdout.write(
  JSON.stringify({
    seconds: (performance.now() - started) / 1000,
    cpuSeconds: (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
    peakMegabytes: process.resourceUsage().maxRSS / 1024,
    packageBytes: report.modelBytes + report.weightBytes,
    worstRms: Math.max(...report.weights.map((w) => w.rmsError)),
    folded: report.weights.filter((w) => w.fold !== 0).length,
  }),
);
