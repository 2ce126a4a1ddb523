/** For tests: an engine and its HTTP server in this process, and the official client at it. */
import { OpenAI } from "openai";
import type { ServerInput } from "../contract/views/server.ts";
import { serverInput } from "../contract/views/server.ts";
import type { Harness } from "./engineHarness.ts";
import { engineHarness } from "./engineHarness.ts";
import type { ApiOptions, ApiServing } from "../node/api/apiServer.ts";
import { startApi } from "../node/api/apiServer.ts";

export { OpenAI };

export interface TestServer {
  readonly serving: ApiServing;
  readonly harness: Harness;
  readonly url: string;
  readonly key: string;
  readonly client: OpenAI;
  /** Without any client's own rules. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  done(): Promise<void>;
}

type Choice = Partial<ServerInput> & Pick<ApiOptions, "limits" | "atOnce"> & { readonly models: readonly string[] };

export async function testServer({ limits, atOnce, ...choice }: Choice, harness?: Harness): Promise<TestServer> {
  const engine = harness ?? (await engineHarness());
  const serving = await startApi({
    ...serverInput.parse(choice),
    client: engine.client,
    ...(limits === undefined ? {} : { limits }),
    ...(atOnce === undefined ? {} : { atOnce }),
  });
  const { running } = serving.status();
  if (running === null) throw new Error("the server does not run");
  const { url, key } = running;
  return {
    ...{ serving, harness: engine, url, key: key ?? "" },
    client: new OpenAI({ baseURL: url, apiKey: key ?? "none", maxRetries: 0 }),
    ask: (path, init = {}) =>
      fetch(new URL(path, url), {
        ...init,
        headers: { authorization: `Bearer ${key ?? ""}`, "content-type": "application/json", ...init.headers },
      }),
    async done() {
      await serving.close();
      if (harness === undefined) await engine.done();
    },
  };
}
