// One export in a process of its own, so that its peak memory is its own: exportChild FILE TARGET PROFILE → JSON.
import type { WeightProfile } from "../main/backends/coreml/weights/forms.ts";
import { decoderVariants, exportPackage } from "../main/backends/coreml/export.ts";
import { prepareInSteps } from "../main/compiler/prepare.ts";
import { requireArchitecture } from "../main/formats/gguf/architecture.ts";
import { openGguf } from "../main/formats/gguf/open.ts";
import { weightSourceOf } from "../main/formats/gguf/weightSource.ts";
import { dequantize } from "../main/formats/quant/dequantize.ts";
import { buildModel } from "../main/models/buildModel.ts";
import { openFileSource } from "../main/node/fileByteSource.ts";
import { packageWriter } from "../main/node/packageDirectory.ts";
import { opOf, opTable } from "../main/ops/index.ts";

const [path = "", target = "", profile = "gpu"] = process.argv.slice(2);
const started = performance.now();
const file = await openGguf(await openFileSource(path));
const context = 4096;
const plan = {
  chip: "m2",
  os: "macos15",
  units: "all",
  profile: profile as WeightProfile,
  context,
  phase: "decode",
} as const;
const report = await exportPackage(
  {
    table: opTable,
    entries: (op) => opOf(op)?.backends.coreml,
    prepare: (graph) => prepareInSteps(graph, "coreml"),
    graph: buildModel(requireArchitecture(file), weightSourceOf(file), {
      capacity: "capacity",
      cacheType: "f16",
      largestStep: 64,
      largestRows: 1,
      largestCapacity: context,
    }),
    variants: decoderVariants(plan, { tokens: "T", rows: "R", capacity: "capacity" }),
    target: plan,
    metadata: { shortDescription: file.name, author: "", license: "", version: "1", userDefined: {} },
  },
  {
    directory: await packageWriter(target),
    weights: {
      read: (name, offset, length, signal) => file.readTensor(file.requireTensor(name), { offset, length, signal }),
      dequantize,
    },
  },
);
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
