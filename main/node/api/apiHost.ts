/** The HTTP server in the engine's own process, as the window starts it: a client of the engine like any other. */
import { createClient } from "../../contract/client.ts";
import { contract } from "../../contract/contract.ts";
import { createPortPair } from "../../contract/port.ts";
import type { ServerInput } from "../../contract/views/server.ts";
import type { Connectable } from "../../engine/connection.ts";
import type { ApiServing } from "./apiServer.ts";
import { startApi } from "./apiServer.ts";

export const apiHost = {
  async start(input: ServerInput, engine: Connectable): Promise<ApiServing> {
    const [near, far] = createPortPair();
    engine.connect(far);
    const client = createClient(contract, near);
    try {
      const serving = await startApi({ ...input, client });
      return {
        ...serving,
        async close() {
          await serving.close();
          client.close();
        },
      };
    } catch (error) {
      client.close();
      throw error;
    }
  },
};
