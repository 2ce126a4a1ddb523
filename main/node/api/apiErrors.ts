/** Errors as OpenAI's clients know them: an HTTP status and `{"error": {message, type, param, code}}`. */
import type { ErrorCode } from "../../diagnostics/codes.ts";
import { toWireError } from "../../diagnostics/errors.ts";

interface ApiErrorInit {
  /** The field of the request that it is about. */
  readonly param?: string;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, { param, code, headers = {} }: ApiErrorInit = {}) {
    super(message);
    this.status = status;
    this.param = param ?? null;
    this.code = code ?? null;
    this.headers = headers;
  }

  get body(): { readonly error: Readonly<Record<string, string | null>> } {
    const { message, param, code, status } = this;
    return { error: { message, type: typeOf(status), param, code } };
  }
}

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  503: "server_error",
};
const typeOf = (status: number): string => TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");

/** A field that is not what it has to be. */
export const badField = (param: string, message: string): ApiError =>
  new ApiError(400, `${param}: ${message}`, { param, code: "invalid_value" });

/** What was asked wrongly is 400; what the moment lacks is 503, and may be there soon; all else, and what stays so, is 500. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  INPUT_NOT_FOUND: 404,
  INPUT_ARGUMENT: 400,
  INPUT_LIMIT: 400,
  INPUT_TEMPLATE: 400,
  CONTRACT_INPUT: 400,
  RUN_CONTEXT_FULL: 400,
  UNSUPPORTED_MODEL_KIND: 400,
  UNSUPPORTED_TOKENIZER: 400,
  ENV_NO_MEMORY: 503,
  HANDLE_BUSY: 503,
  HANDLE_UNKNOWN: 503,
  ENGINE_LOST: 503,
  CANCELLED: 503,
};
/** Codes that clients look for. */
const KNOWN_CODES: Partial<Record<ErrorCode, string>> = {
  RUN_CONTEXT_FULL: "context_length_exceeded",
  INPUT_NOT_FOUND: "model_not_found",
};

export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code, message, hint } = toWireError(error);
  const status = STATUS[code] ?? 500;
  return new ApiError(status, hint === undefined ? message : `${message.replace(/\.$/u, "")}. ${hint}`, {
    code: KNOWN_CODES[code] ?? code,
    ...(status === 503 ? { headers: { "retry-after": "1" } } : {}),
  });
}
