/** `POST /v1/embeddings`: vectors of length 1, by the file's own pooling. */
import { z } from "zod";
import { badField } from "./apiErrors.ts";
import type { Endpoint } from "./exchange.ts";
import { replyWith, withModel } from "./exchange.ts";
import { parsed, refused } from "./fields.ts";

const MOST_TEXTS = 2048;

const schema = z.object({
  model: z.string().max(1000).optional(),
  input: z.union([z.string(), z.array(z.union([z.string(), z.number(), z.array(z.number())]))], {
    error: "expected a text or a list of texts",
  }),
  encoding_format: z.enum(["float", "base64"]).default("float"),
  dimensions: z.number().int().min(1).optional(),
});

export const embeddings: Endpoint = async (exchange) => {
  const {
    model: name,
    input,
    encoding_format: format,
    dimensions,
  } = parsed(schema, exchange.body, [
    refused("input_type", "Write the model's own words for queries and documents before the text."),
  ]);
  const texts = textsOf(typeof input === "string" ? [input] : input);
  exchange.entry.text("prompt", JSON.stringify(texts));
  await withModel(exchange, name, async (model) => {
    const { answers, signal, entry } = exchange;
    const { client, turns, device, threads } = answers;
    const done = await turns.take(model.id, signal);
    entry.update({ state: "answering" });
    try {
      const items = client.stream("embed.run", { model: model.handle, device, threads, texts }, { signal });
      for await (const item of items) {
        if (item.kind !== "done") continue;
        if (item.pooling === "none" || item.pooling === "rank")
          throw badField("model", `got pooling ${item.pooling}, expected a model with one vector for each text`);
        if (dimensions !== undefined && dimensions !== item.width)
          throw badField("dimensions", `got ${dimensions}, expected ${item.width}, which the model has`);
        const tokens = item.texts.reduce((sum, text) => sum + text.tokens, 0);
        entry.update({ promptTokens: tokens, finish: "stop" });
        replyWith(exchange.response, 200, {
          object: "list",
          model: model.id,
          data: item.texts.map(({ vectors }, index) => ({
            object: "embedding",
            index,
            embedding: format === "float" ? [...vectors] : base64(vectors),
          })),
          usage: { prompt_tokens: tokens, total_tokens: tokens },
        });
      }
    } finally {
      done();
    }
  });
};

function textsOf(given: readonly (string | number | readonly number[])[]): string[] {
  if (given.length === 0) throw badField("input", "got an empty list, expected a text or a list of texts");
  const texts = given.filter((each) => typeof each === "string");
  if (texts.length < given.length)
    throw badField(
      "input",
      "got tokens, expected texts: tokens of another model's vocabulary mean nothing to this one",
    );
  if (texts.length > MOST_TEXTS)
    throw badField("input", `got ${texts.length} texts, expected at most ${MOST_TEXTS} in one request`);
  const empty = texts.indexOf("");
  if (empty >= 0) throw badField("input", `got an empty text${texts.length > 1 ? ` at ${empty}` : ""}`);
  return texts;
}

/** Little-endian f32, as clients read it. */
const base64 = ({ buffer, byteOffset, byteLength }: Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64");
