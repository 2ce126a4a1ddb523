// One process: open the file, tokenise, run the prompt, draw one token. bench/generation.ts bundles it and takes the time.
import { openGguf } from "../main/formats/gguf/open.ts";
import { loadAddon } from "../main/node/native/addon.ts";
import { openFileSource } from "../main/node/files/fileByteSource.ts";
import { GREEDY_DRAW } from "../main/runtime/generate.ts";
import { openDecoder } from "../main/runtime/devices/cpu.ts";
import { createTokenizer } from "../main/tokenizer/tokenizer.ts";

const [path = "", addon = "", text = "", threads = "2"] = process.argv.slice(2);
const marks: Record<string, number> = { start: performance.now() };
const engine = loadAddon({ path: addon });
const file = await openGguf(await openFileSource(path));
marks["header"] = performance.now();
const model = openDecoder(engine, file, [path], { threads: Number(threads) });
marks["plan"] = performance.now();
const tokenizer = createTokenizer(file);
const tokens = tokenizer.encode(text).subarray(0, 16);
marks["tokens"] = performance.now();
const session = model.open({ context: 512 });
const token = await session.feed(tokens, { sample: GREEDY_DRAW });
marks["token"] = performance.now();
console.log(JSON.stringify({ token: token?.id, prompt: tokens.length, marks }));
process.exit(0);
