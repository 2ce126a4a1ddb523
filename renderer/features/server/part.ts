/** What a session keeps of the server: how it is started. Keys stay out of files. */
import { z } from "zod";
import { LARGEST_CONTEXT } from "../../../main/contract/views/common.ts";
import { runDevice } from "../../../main/contract/views/engine.ts";
import { documentPart } from "../../session/document.ts";
import type { ServerSlice } from "./slice.ts";

export const serverPart = documentPart<ServerSlice>()({
  name: "server",
  of: "window",
  schema: z.object({
    paths: z.string().max(100_000).default(""),
    host: z.string().max(253),
    port: z.number().int().min(0).max(65_535),
    device: runDevice,
    context: z.number().int().min(1).max(LARGEST_CONTEXT),
    keepTexts: z.boolean(),
  }),
  save: ({ serverFields: { models, host, port, device, context, keepTexts } }) =>
    models === "" ? null : { paths: models, host, port, device, context, keepTexts },
  restore: ({ paths: models, ...fields }, { get }) => get().setServer({ models, ...fields }),
});
