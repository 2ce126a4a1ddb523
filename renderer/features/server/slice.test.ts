/** The server's slice: what is named, the log of requests, and what a session document keeps. */
import { expect, it } from "vitest";
import type { FoundModel } from "../../../main/contract/views/found.ts";
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

it("names models of this machine by a click, each once, also without an open model", async () => {
  const recents = [
    { path: "/m/a.gguf", name: "a.gguf", folder: "m", bytes: 1, openedAt: 1, exists: true },
    { path: "/m/gone.gguf", name: "gone.gguf", folder: "m", bytes: 1, openedAt: 1, exists: false },
  ].map((each) => ({ ...each, variant: null, speed: null, aneShare: null }));
  const found = (path: string, problem: string | null = null): FoundModel => ({
    ...{ path, name: path, place: "folder", where: "", bytes: 1, parts: 1, variant: null, architecture: null },
    ...{ changedAt: 1, problem },
  });
  const { get } = await createStoreOver({
    calls: { "recents.list": () => ({ recents }) },
    streams: {
      async *"models.find"() {
        yield {
          models: [found("/m/a.gguf"), found("/m/b.gguf"), found("/m/c", "no")],
          places: [],
          usual: true,
          complete: true,
        };
      },
    },
  });
  await get().loadServerChoices();
  expect(get().serverChoices.map(({ path }) => path)).toEqual(["/m/a.gguf", "/m/b.gguf"]);
  for (const path of ["/m/b.gguf", "/m/b.gguf", "/m/a.gguf"]) get().addServerModel(path);
  expect(get().serverFields.models).toBe("/m/b.gguf\n/m/a.gguf");
});
