// One process: load the file with llama.cpp, tokenise, run the prompt, draw the most probable token.
import { getLlama, LlamaLogLevel } from "node-llama-cpp";

const [path, text, threads] = process.argv.slice(2);
const llama = await getLlama({
  gpu: false,
  build: "never",
  skipDownload: true,
  logLevel: LlamaLogLevel.error,
  maxThreads: Number(threads),
});
const model = await llama.loadModel({ modelPath: path, gpuLayers: 0 });
const context = await model.createContext({ contextSize: 512, threads: Number(threads), flashAttention: true });
const tokens = model.tokenize(text, true).slice(0, 16);
const sequence = context.getSequence();
for await (const token of sequence.evaluate(tokens, { temperature: 0 })) {
  console.log(JSON.stringify({ token: Number(token), prompt: tokens.length }));
  break;
}
process.exit(0);
