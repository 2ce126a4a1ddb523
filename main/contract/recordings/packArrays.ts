/** Typed arrays in JSON: `{"$array": "f32", "data": base64}`, little-endian as in memory. */
const TYPES = { f64: Float64Array, f32: Float32Array, u32: Uint32Array, i32: Int32Array, u8: Uint8Array } as const;
type Tag = keyof typeof TYPES;
const SIGN = "$array";

const isTag = (value: unknown): value is Tag => typeof value === "string" && Object.hasOwn(TYPES, value);

function base64(bytes: Uint8Array): string {
  let text = "";
  // A call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

const walk = (value: unknown, change: (value: object) => unknown): unknown => {
  if (typeof value !== "object" || value === null) return value;
  const changed = change(value);
  if (changed !== undefined) return changed;
  if (Array.isArray(value)) return value.map((each) => walk(each, change));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each, change)]));
};

export const packArrays = (value: unknown): unknown =>
  walk(value, (each) => {
    const tag = (Object.keys(TYPES) as Tag[]).find((name) => each instanceof TYPES[name]);
    if (tag === undefined) return undefined;
    const { buffer, byteOffset, byteLength } = each as Uint8Array;
    return { [SIGN]: tag, data: base64(new Uint8Array(buffer, byteOffset, byteLength)) };
  });

/** What does not read as an array stays as it is; a schema finds it. */
export const unpackArrays = (value: unknown): unknown =>
  walk(value, (each) => {
    const { [SIGN]: tag, data } = each as { readonly [SIGN]?: unknown; readonly data?: unknown };
    if (!isTag(tag) || typeof data !== "string") return undefined;
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const Type = TYPES[tag];
    if (bytes.length % Type.BYTES_PER_ELEMENT !== 0) return null;
    return new Type(bytes.buffer);
  });
