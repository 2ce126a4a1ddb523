/** A stand-in engine for the server's tests: echoes, counts, dies on request. Forked like the real one. */
import { z } from "zod";
import { call, stream } from "../../contract/define.ts";
import { serve } from "../../contract/serve.ts";
import { serveChildChannel } from "./childChannel.ts";
import { endWithSupervisor } from "./ending.ts";

export const testContract = {
  version: 1,
  calls: {
    echo: call(z.object({ text: z.string() }), z.object({ text: z.string() })),
    blob: call(z.object({ length: z.number() }), z.object({ text: z.string() })),
    die: call(z.object({}), z.object({})),
  },
  streams: { count: stream(z.object({ to: z.number() }), z.number()) },
  events: {},
};

const handlers = {
  calls: {
    echo: (input: { readonly text: string }) => input,
    blob: ({ length }: { readonly length: number }) => ({ text: "x".repeat(length) }),
    die: (): never => process.exit(7),
  },
  streams: {
    async *count({ to }: { readonly to: number }) {
      for (let i = 0; i < to; i++) yield await Promise.resolve(i);
    },
  },
};

endWithSupervisor({ dispose: () => Promise.resolve() });
serveChildChannel({ connect: (port) => void serve(testContract, handlers, port) });
