/**
 * The body of a request as JSON. It comes from strangers: its bytes, its time, its depth and the number of its values are
 * bounded before it is parsed, because a tree costs a hundred times the letters that it is written with.
 */
import type { IncomingMessage } from "node:http";
import { beyondTree } from "../../contract/jsonTree.ts";
import { ApiError } from "./apiErrors.ts";

export interface BodyLimits {
  readonly bytes: number;
  readonly seconds: number;
  readonly depth: number;
  readonly values: number;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<JsonObject> {
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity")
    throw new ApiError(415, `The body is encoded as ${encoding}, expected plain JSON.`, {
      code: "unsupported_encoding",
    });
  const bytes = await bytesOf(request, limits);
  checkTree(bytes, limits);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ApiError(400, `The body is not JSON in UTF-8: ${(error as Error).message}`, { code: "invalid_json" });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ApiError(400, "The body is JSON, expected an object.", { code: "invalid_json" });
  return value as JsonObject;
}

function bytesOf(request: IncomingMessage, { bytes: most, seconds }: BodyLimits): Promise<Buffer> {
  const tooLarge = (): ApiError =>
    new ApiError(413, `The body has more than ${most} bytes.`, { code: "body_too_large" });
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"] ?? 0) > most) {
      reject(tooLarge());
      return;
    }
    const pieces: Buffer[] = [];
    let length = 0;
    const end = (): void => {
      clearTimeout(late);
      request.removeAllListeners("data").removeAllListeners("end").removeAllListeners("close");
    };
    const fail = (error: ApiError): void => {
      end();
      request.pause();
      reject(error);
    };
    const late = setTimeout(
      () => fail(new ApiError(408, `The body did not come within ${seconds} seconds.`, { code: "body_too_slow" })),
      seconds * 1000,
    );
    request.on("data", (piece: Buffer) => {
      length += piece.byteLength;
      if (length > most) fail(tooLarge());
      else pieces.push(piece);
    });
    request.on("end", () => {
      end();
      resolve(Buffer.concat(pieces));
    });
    request.on("close", () => fail(new ApiError(400, "The body ended early.", { code: "invalid_json" })));
  });
}

function checkTree(bytes: Uint8Array, { depth, values }: BodyLimits): void {
  const beyond = beyondTree(bytes, { depth, values });
  if (beyond === "depth")
    throw new ApiError(400, `The body is nested deeper than ${depth}.`, { code: "body_too_deep" });
  if (beyond === "values")
    throw new ApiError(413, `The body has more than ${values} values.`, { code: "body_too_large" });
}
