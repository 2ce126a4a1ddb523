/**
 * An engine that answers from a script, for looking at the window while the real one is built and for component work. It serves
 * the real contract over a real port, so everything but the answers is the product. Never part of a production build.
 */
import { testDevice } from "../../devices/testDevices.ts";
import type { AttachableClient } from "../../../main/contract/client.ts";
import { createClient } from "../../../main/contract/client.ts";
import type { Contract } from "../../../main/contract/contract.ts";
import { contract } from "../../../main/contract/contract.ts";
import type { Handlers } from "../../../main/contract/define.ts";
import { createPortPair } from "../../../main/contract/port.ts";
import { serve } from "../../../main/contract/serve.ts";
import type { TargetSpec } from "../../../main/contract/views/common.ts";
import type { GraphKey, GraphView } from "../../../main/contract/views/graph.ts";
import { routedStage } from "../../../main/contract/views/graph.ts";
import type { Overview } from "../../../main/contract/views/model.ts";
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import { nodeName, nodeType, opName } from "../../graph/graphModel.ts";
import { decoderGraph, QWEN_SHAPE } from "./decoder.ts";
import { demoGraph } from "./demoGraph.ts";
import { fakeDeviceCalls, fakeOnMlx } from "./devices.ts";
import { fakeOverview, M4 } from "./overview.ts";
import { fakeNode, fakeRoute, figure } from "./route.ts";
import { fakeStreams, pause } from "./run.ts";

export interface FakeOptions {
  readonly layers?: number;
  /** Answers that a test wants otherwise: later, failed, or counted. */
  readonly calls?: Partial<Handlers<Contract>["calls"]>;
  readonly streams?: Partial<Handlers<Contract>["streams"]>;
}

function createHandlers({ layers = 28, calls, streams }: FakeOptions): Handlers<Contract> {
  let opened: Overview | null = null;
  const shape = { ...QWEN_SHAPE, layers, oddLayers: [] };
  const graphOf = (key: GraphKey): GraphView =>
    opened?.kind === "demo-graph" ? demoGraph(key) : decoderGraph(shape, key);
  const legal = (model: string, target: TargetSpec, phase: GraphKey["phase"]): GraphView =>
    graphOf({ model, stage: routedStage(target), phase });
  const irText = (view: GraphView): string[] =>
    Array.from({ length: view.nodeCount }, (_, n) => {
      const inputs = Array.from(
        view.edges.source.subarray(view.edges.start[n] ?? 0, view.edges.start[n + 1] ?? 0),
        (i) => `%${i}`,
      );
      return `  %${n}: ${nodeType(view, n)} = ${opName(view, n)}(${inputs.join(", ")})  // ${nodeName(view, n)}`;
    });
  const engineStatus = { engineBytes: 410e6, freeBytes: 16.1e9, totalBytes: 24e9, jobs: [] };
  const passes = [
    ["dead code", "Takes out what nothing reads.", false, 0, 0],
    ["common subexpressions", "Computes equal things once.", true, -28, 28],
    ["fold constants", "Computes what is known already.", true, -57, 57],
    ["fuse gated linear", "One pass over the data instead of three.", true, -56, 28],
    ["fuse residual add", "A sum while the product is in registers.", true, -28, 28],
    ["fuse attention", "Scores, softmax and sum without the matrix between them.", true, -84, 27],
    ["fuse norm", "Rows are normed where they are read.", true, -171, 57],
    ["fold transposes", "Moves of data that cancel each other.", false, 0, 0],
    ["legal", "Replaces what the target has no op for.", true, 12, 12],
  ] as const;
  return {
    calls: {
      "engine.info": () => ({
        version: "0.1.0",
        contractVersion: contract.version,
        platform: "darwin",
        osTitle: "macOS 26.5",
        chip: "Apple M4",
        cpu: { cores: 10, threads: 10, features: ["neon", "dotprod", "i8mm"], kernels: "NEON i8mm" },
        memory: { totalBytes: 24e9, freeBytes: 16.1e9 },
        readBandwidth: figure(105e9, "bytes/s", "measured"),
        devices: [
          testDevice("cpu", { title: "CPU", sentence: "10 cores, NEON i8mm" }),
          testDevice("coreml-sim", {
            title: "Core ML, simulated",
            sentence: "Reads the package back and runs its meaning; slow, and says so.",
          }),
          testDevice("coreml", {
            title: "Core ML",
            available: false,
            sentence: "Needs a Mac. Here the route is predicted and the package simulated.",
          }),
          testDevice("mlx", { title: "MLX", sentence: "MLX 0.30, Metal: runs on this Mac’s GPU." }),
        ],
        offers: [
          {
            id: "sample",
            kind: "sample",
            title: "Pebble, 1.6 M parameters",
            sentence: "Answers in words, made with this program",
            bytes: 2.1e6,
          },
          {
            id: "one-b",
            kind: "header-only",
            title: "A 1B model, header only",
            sentence: "Graph, routing and segments without the weights",
            bytes: 3.2e6,
          },
          {
            id: "hybrid",
            kind: "demo-graph",
            title: "Hybrid demo",
            sentence: "Spectrogram, LSTM and a custom op between Core ML segments",
            bytes: 12_000,
          },
        ],
      }),
      "engine.status": () => engineStatus,
      "doctor.run": async () => {
        await pause(200);
        return {
          checks: [
            {
              id: "addon",
              title: "Native engine",
              state: "ok",
              sentence: "Loaded; 42 kernels for NEON i8mm.",
              hint: null,
            },
            {
              id: "coreml",
              title: "Core ML",
              state: "missing",
              sentence: "This is not a Mac.",
              hint: "Routes are predicted, packages simulated.",
            },
            { id: "cmake", title: "Compiler and CMake", state: "ok", sentence: "gcc 12.2, CMake 3.25.", hint: null },
            {
              id: "disk",
              title: "Cache folder",
              state: "warning",
              sentence: "1.2 GB free.",
              hint: "Compiled plans may not fit; free some space.",
            },
          ],
        };
      },
      "recents.list": () => ({
        recents: [
          {
            path: "~/Models/Qwen3-0.6B-Q4_K_M.gguf",
            name: "Qwen3-0.6B-Q4_K_M.gguf",
            folder: "~/Models",
            bytes: 395e6,
            openedAt: 0,
            exists: true,
          },
          {
            path: "~/Library/Caches/lm-studio/models/Llama-3.2-1B-Instruct-Q8_0.gguf",
            name: "Llama-3.2-1B-Instruct-Q8_0.gguf",
            folder: "~/Library/Caches/lm-studio/models",
            bytes: 1.32e9,
            openedAt: 0,
            exists: false,
          },
        ],
      }),
      "recents.add": () => ({ ok: true }),
      "recents.remove": () => ({ ok: true }),
      "model.open": async ({ source }) => {
        await pause(60);
        if (source.kind === "path" && source.path.includes("broken"))
          throw new WorkbenchError("INPUT_NOT_GGUF", "[gguf] magic: got 50 4b 03 04, expected GGUF", {
            hint: "This is a zip archive. Unpack it and choose the .gguf inside.",
            details: { offset: 0 },
          });
        opened = fakeOverview(source);
        return opened;
      },
      "model.close": () => ({ ok: true }),
      "model.overview": ({ target }) => {
        if (opened === null) throw new WorkbenchError("HANDLE_UNKNOWN", "[model] no such model");
        return { ...opened, target: target ?? opened.target };
      },
      "model.weightErrors": () => ({ rows: [] }),
      "model.metadata": ({ query, offset, limit }) => {
        const all = [
          ["general.architecture", "string", "qwen3"],
          ["general.name", "string", "Qwen3 0.6B"],
          ["general.file_type", "u32", "15"],
          ["qwen3.block_count", "u32", "28"],
          ["qwen3.context_length", "u32", "40960"],
          ["qwen3.embedding_length", "u32", "1024"],
          ["qwen3.feed_forward_length", "u32", "3072"],
          ["qwen3.attention.head_count", "u32", "16"],
          ["qwen3.attention.head_count_kv", "u32", "8"],
          ["qwen3.rope.freq_base", "f32", "1000000"],
          ["tokenizer.ggml.model", "string", "gpt2"],
          ["tokenizer.ggml.pre", "string", "qwen2"],
          ["tokenizer.ggml.tokens", "string[]", "!, \", #, $, %, &, ', (, ), *, …"],
          ["tokenizer.ggml.merges", "string[]", "Ġ Ġ, ĠĠ ĠĠ, i n, Ġ t, …"],
          ["tokenizer.chat_template", "string", "{%- if tools %}{{- '<|im_start|>system\\n' }}…"],
        ].filter(([key]) => key?.includes(query));
        return {
          total: 28,
          matched: all.length,
          rows: all.slice(offset, offset + limit).map(([key = "", type = "", preview = ""]) => ({
            key,
            type,
            count: type.endsWith("[]") ? 151_936 : null,
            preview,
            whole: !type.endsWith("[]") && preview.length < 40,
          })),
        };
      },
      "model.metadataValue": ({ key, offset, limit }) => ({
        key,
        type: "string[]",
        total: 151_936,
        offset,
        items: Array.from({ length: Math.min(limit, 151_936 - offset) }, (_, i) => `token ${offset + i}`),
      }),
      "model.tensors": ({ query, offset, limit, sort, descending }) => {
        const rows = Array.from({ length: 310 }, (_, i) => {
          const layer = Math.floor((i - 3) / 11);
          const role =
            [
              "attn_norm",
              "attn_q",
              "attn_k",
              "attn_v",
              "attn_output",
              "attn_q_norm",
              "attn_k_norm",
              "ffn_norm",
              "ffn_gate",
              "ffn_up",
              "ffn_down",
            ][(i - 3 + 11) % 11] ?? "";
          const name =
            i === 0
              ? "token_embd.weight"
              : i === 1
                ? "output_norm.weight"
                : i === 2
                  ? "output.weight"
                  : `blk.${layer}.${role}.weight`;
          const isNorm = name.includes("norm");
          const shape = isNorm ? [1024] : i === 0 || i === 2 ? [151_936, 1024] : [3072, 1024];
          const parameters = shape.reduce((a, b) => a * b, 1);
          const type = isNorm ? "F32" : role === "ffn_down" || i < 3 ? "Q6_K" : "Q4_K";
          const bits = type === "F32" ? 32 : type === "Q6_K" ? 6.5625 : 4.5;
          return {
            name,
            shape,
            type,
            parameters,
            bytes: (parameters * bits) / 8,
            bitsPerWeight: bits,
            layer: i < 3 ? null : layer,
            role: i < 3 ? (name.split(".")[0] ?? "") : role,
            part: 0,
            offset: i * 1e6,
          };
        }).filter(({ name, type }) => `${name} ${type}`.toLowerCase().includes(query.toLowerCase()));
        if (sort === "bytes") rows.sort((a, b) => (descending ? b.bytes - a.bytes : a.bytes - b.bytes));
        if (sort === "name") rows.sort((a, b) => (descending ? -1 : 1) * a.name.localeCompare(b.name));
        return {
          total: 310,
          matched: rows.length,
          matchedBytes: rows.reduce((sum, row) => sum + row.bytes, 0),
          rows: rows.slice(offset, offset + limit),
        };
      },
      "header.begin": () => ({ kind: "more", header: "h1", offset: 0, length: 1024 }),
      "header.feed": () => ({ kind: "ready", header: "h1", foundPath: null }),
      "model.locate": () => ({
        path: null,
        searched: ["~/Models"],
        sentence: "No file of this name and size lies in ~/Models.",
      }),
      "model.attach": ({ model }) => {
        opened = { ...fakeOverview({ kind: "path", path: "~/Models/Qwen3-0.6B-Q4_K_M.gguf" }), model };
        return opened;
      },
      "upload.begin": () => ({ upload: "u1", chunkBytes: 1 << 20 }),
      "upload.chunk": async ({ offset, bytes }) => {
        await pause(5);
        return { receivedBytes: offset + bytes.byteLength };
      },
      "upload.finish": () => ({ ok: true }),
      "upload.cancel": () => ({ ok: true }),
      "graph.get": (key) => graphOf(key),
      "graph.node": ({ key, node, target }) => fakeNode(graphOf(key), node, target ?? M4),
      "graph.overlay": ({ key, kind, target }) => {
        const view = graphOf(key);
        const route = fakeRoute(view, target, key.phase, "");
        const types = [...new Set(Array.from(view.nodes.type, (t) => (view.strings[t] ?? "").split("[")[0] ?? ""))];
        const values = Float32Array.from({ length: view.nodeCount }, (_, n) => {
          if (kind === "device") return route.nodes.device[n] ?? 0;
          if (kind === "time") return (route.nodes.work[n] ?? 0) * 0.03;
          if (kind === "bytes") return (view.edges.bytes[view.edges.start[n] ?? 0] ?? 0) * 40;
          if (kind === "type") return types.indexOf((view.strings[view.nodes.type[n] ?? 0] ?? "").split("[")[0] ?? "");
          return route.segments.findIndex((s) => n >= s.firstNode && n <= s.lastNode);
        });
        return {
          key,
          kind,
          truth: "predicted",
          basis: "made up for development",
          values,
          legend: kind === "type" ? types : [],
        };
      },
      "passes.list": ({ model, backend, phase }) => {
        let nodes = 1050;
        return {
          model,
          backend,
          phase,
          total: figure(0.041, "seconds", "measured"),
          passes: passes.map(([name, reason, changed, delta, hits], index) => {
            const nodesBefore = nodes;
            nodes += delta;
            return {
              name,
              reason,
              changed,
              nodesBefore,
              nodesAfter: nodes,
              time: figure(0.0012 * (index + 1), "seconds", "measured"),
              hits,
              misses:
                index === 5
                  ? [
                      {
                        where: "block 7 attention",
                        why: "The mask is read by something else too, so the matrix must be kept.",
                        node: 170,
                      },
                    ]
                  : [],
            };
          }),
        };
      },
      "passes.diff": ({ model, pass, phase, target }) => {
        const lines = irText(legal(model, target, phase)).slice(0, 60);
        const before = lines.map((line, i) => (i % 9 === 4 ? line.replace("linear", "matmul") : line));
        return {
          pass,
          beforeTitle: "before",
          afterTitle: "after",
          before: before.join("\n"),
          after: lines.filter((_, i) => i % 11 !== 10).join("\n"),
          elidedLines: 620,
          addedIds: new Uint32Array(0),
          removedIds: new Uint32Array(0),
          changedIds: new Uint32Array([20, 21, 22]),
        };
      },
      "text.page": ({ key, language, firstLine, lines }) => {
        const all =
          language === "mil"
            ? irText(graphOf(key)).map((line) => line.replace(/: (\S+) =/, " = // $1").replace("linear", "mb.linear"))
            : ["graph model(tokens: i32[1], past: i32[]) {", ...irText(graphOf(key)), "}"];
        const slice = all.slice(firstLine, firstLine + lines);
        return {
          language,
          title: "",
          totalLines: all.length,
          firstLine,
          text: slice.join("\n"),
          nodes: Int32Array.from(slice, (_, i) => firstLine + i - 1),
        };
      },
      "targets.list": () => ({
        chips: [
          { id: "m1", title: "M1", sentence: "" },
          { id: "m2", title: "M2", sentence: "" },
          { id: "m3", title: "M3", sentence: "" },
          { id: "m4", title: "M4", sentence: "" },
        ],
        oses: [
          { id: "macos15", title: "macOS 15", sentence: "" },
          { id: "macos26", title: "macOS 26", sentence: "" },
        ],
        units: [
          { id: "cpu-ane", title: "CPU + ANE", sentence: "Quiet and frugal; the default." },
          { id: "cpu-gpu", title: "CPU + GPU", sentence: "Blockwise weights stay packed." },
          { id: "all", title: "All", sentence: "Core ML chooses." },
          { id: "cpu", title: "CPU only", sentence: "For comparison." },
        ],
        profiles: [
          { id: "auto", title: "As the units need it", sentence: "" },
          { id: "gpu", title: "gpu: packed blockwise", sentence: "" },
          { id: "ane", title: "ane: per channel or f16", sentence: "" },
          { id: "exact", title: "exact: f16", sentence: "" },
        ],
        here: M4,
        initial: M4,
      }),
      "route.get": ({ model, target, phase }) => fakeRoute(legal(model, target, phase), target, phase, "M4, macOS 26"),
      "route.compare": ({ model, phase, targets }) => ({
        rows: targets.map((target) => {
          const route = fakeRoute(legal(model, target, phase), target, phase, "");
          return {
            target,
            title: { "cpu-ane": "CPU + ANE", "cpu-gpu": "CPU + GPU", all: "All", cpu: "CPU only" }[target.units],
            truth: "predicted" as const,
            devices: route.devices,
            segments: route.segments.length,
            hops: route.hops.length,
            bytesPerStep: route.bytesPerStep,
            seconds: figure(0.03, "seconds"),
            packageBytes: figure(470e6, "bytes"),
          };
        }),
      }),
      "route.planned": () =>
        Promise.reject(new Error("Core ML exists on Macs only; the simulator runs the same package here.")),
      "route.mlx": ({ model, phase, context }) => fakeOnMlx(legal(model, { ...M4, context }, phase)),
      ...fakeDeviceCalls,
      "chat.template": () => ({
        origin: "file",
        sentence: "A ChatML template with tools, 4 KB.",
        source: "{%- if tools %}…",
        rendered: null,
      }),
      "hybrid.run": async ({ target }) => {
        await pause(300);
        return {
          truth: "simulated",
          target,
          sentence: "Five segments ran: three by the simulator of Core ML, two by our own code.",
          segments: [0, 1, 2, 3, 4].map((index) => ({
            index,
            device: index % 2 === 0 ? ("ane" as const) : ("host" as const),
            title: ["window", "fft", "mel", "lstm", "scores"][index] ?? "",
            seconds: figure(0.0021, "seconds", "measured"),
            bytesIn: 8192,
            bytesOut: 8192,
          })),
          outputs: [
            {
              name: "probabilities",
              type: "f16[16,10]",
              min: 0.01,
              max: 0.4,
              mean: 0.1,
              values: Float32Array.from({ length: 160 }, (_, i) => Math.abs(Math.sin(i))),
            },
          ],
          agreement: {
            against: "reference evaluator, float64",
            relativeRms: figure(0.0004, "ratio", "measured"),
            sentence: "The same as the reference within 4e-4.",
          },
        };
      },
      "export.plan": () => ({
        suggestedPath: "~/Models/Qwen3-0.6B-Q4_K_M.mlpackage",
        bytes: figure(470e6, "bytes"),
        sourceBytes: 395e6,
        freeDiskBytes: 120e9,
        functions: ["decode", "prefill"],
        forms: [
          { source: "Q4_K", form: "blockwise int4, 32", bitsPerWeight: 4.6, tensors: 168, bytes: 284e6 },
          { source: "Q6_K", form: "8-bit table", bitsPerWeight: 6.6, tensors: 29, bytes: 150e6 },
          { source: "F32", form: "f16", bitsPerWeight: 16, tensors: 113, bytes: 0.15e6 },
        ],
        sentence: "1.19 × this file. Every weight stays packed.",
        can: { ok: true },
      }),
      ...calls,
    },
    streams: { ...fakeStreams, ...streams },
  };
}

export interface FakeEngine {
  readonly client: AttachableClient<Contract>;
  /** Ends the connection as a crashed engine would, and comes back after a second. */
  crash(): void;
}

export function createFakeEngine(options: FakeOptions = {}): FakeEngine {
  const client = createClient(contract, undefined, { checkOutputs: true });
  const start = () => {
    const [near, far] = createPortPair((frame) => structuredClone(frame));
    const serving = serve(contract, createHandlers(options), far, {
      onUnexpected: (_method, error) => reportError(error),
    });
    client.attach(near);
    setTimeout(
      () => serving.emit("engine.status", { engineBytes: 410e6, freeBytes: 16.1e9, totalBytes: 24e9, jobs: [] }),
      50,
    );
    return near;
  };
  let port = start();
  return {
    client,
    crash() {
      port.close("exit code 9");
      setTimeout(() => (port = start()), 1000);
    },
  };
}
