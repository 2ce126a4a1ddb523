/** The server's slice: what is named, the log of requests, and what a session document keeps. */
import { expect, it } from "vitest";
import type { ServerRequest } from "../../../main/contract/views/server.ts";
import { createStoreOver } from "../../testing/openStore.ts";
import { serverPart } from "./part.ts";
import { pathsOf, withRequest } from "./slice.ts";

const request = (id: number, generatedTokens = 0): ServerRequest => ({
  ...{ id, at: 0, method: "POST", path: "/v1/chat/completions", model: "m", state: "answering", status: null },
  ...{ error: null, promptTokens: 1, reusedTokens: 0, generatedTokens, promptRate: null, rate: null },
  ...{ firstTokenSeconds: null, seconds: 1, finish: null, prompt: null, answer: null },
});

it("takes one path from each line that has one", () => {
  expect(pathsOf(" /a b.gguf \n\n/models\n")).toEqual(["/a b.gguf", "/models"]);
});

it("puts a newer state in the place of the older, and keeps the last 500", () => {
  const two = [request(1), request(2)];
  expect(withRequest(two, request(1, 7)).map(({ generatedTokens }) => generatedTokens)).toEqual([7, 0]);
  const many = Array.from({ length: 500 }, (_, i) => request(i));
  const more = withRequest(many, request(500));
  expect([more.length, more[0]?.id, more.at(-1)?.id]).toEqual([500, 1, 500]);
});

it("keeps no key in a session's document", async () => {
  const { get } = await createStoreOver();
  get().setServer({ key: "secret-key", port: 8080, models: "/m.gguf" });
  const saved = serverPart.save(get());
  expect(saved).toMatchObject({ port: 8080, paths: "/m.gguf" });
  expect(JSON.stringify(saved)).not.toContain("secret-key");
});
