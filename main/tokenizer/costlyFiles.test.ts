/**
 * Files that are made to cost: each opens or is refused, and a text is read with it, within 1 s of
 * work and 256 MiB.
 */
import { describe, expect, it } from "vitest";
import { WorkbenchError } from "../diagnostics/errors.ts";
import { memorySource } from "../formats/byteSource.ts";
import { describeFile } from "../formats/gguf/describe.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { encodeHeader } from "../formats/gguf/write.ts";
import { collectGarbage } from "../testing/collectGarbage.ts";
import { COSTLY_FILES } from "../testing/costlyFiles.ts";
import { allowedFor } from "../testing/pace.ts";
import { peakGrowth } from "../testing/peakMemory.ts";
import { createTokenizer, tokenizerRefusal } from "./tokenizer.ts";

/** What a person does with a file: looks at it, and gives it a text to read. */
async function use(file: Uint8Array, text: string): Promise<string | undefined> {
  try {
    const opened = await openGguf(memorySource("costly.gguf", file));
    describeFile(opened);
    const refusal = tokenizerRefusal(opened);
    if (refusal !== undefined) throw refusal;
    const tokenizer = createTokenizer(opened);
    tokenizer.decode(tokenizer.encode(text));
    return undefined;
  } catch (error) {
    if (error instanceof WorkbenchError) return error.code === "UNSUPPORTED_TOKENIZER" ? "none" : error.code;
    throw error;
  }
}

const PROMISED_MS = 1000;
/** The promise is of processor time: this only ends what hangs, on a machine of any speed. */
const HANGS_AFTER_MS = 300_000;

describe("a file that is made to cost", () => {
  it.each(Object.entries(COSTLY_FILES))(
    "%s",
    { timeout: HANGS_AFTER_MS },
    async (_, { file, code, text = "a text" }) => {
      const made = encodeHeader({ entries: file(), tensors: [] }).bytes;
      collectGarbage();
      const growth = peakGrowth();
      const start = process.cpuUsage();
      expect(await use(made, text)).toBe(code);
      const { user, system } = process.cpuUsage(start);
      const spent = (user + system) / 1000;
      const { ms, sentence } = await allowedFor(spent, PROMISED_MS);
      expect(spent, sentence).toBeLessThan(ms);
      expect(growth()).toBeLessThan(256 << 20);
    },
  );
});
