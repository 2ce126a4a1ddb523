/**
 * Files of other formats, told by their first bytes: what each is, and what to do with it. The one table of it, for windows,
 * commands and the library. A model format that is read (GGUF, safetensors, Hugging Face's JSON) is none of them.
 */
import { openedModelsText } from "../diagnostics/opens.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";

export interface ForeignFile {
  /** For programs: "pytorch". */
  readonly id: string;
  /** "a PyTorch file". */
  readonly what: string;
  readonly hint: string;
}

/** Bytes from the start of a file that are enough to know it. */
export const SNIFFED_BYTES = 512;

interface Start {
  readonly bytes: Uint8Array;
  /** A letter for each byte. */
  readonly text: string;
  /** In small letters. */
  readonly name: string;
}

interface Sign extends ForeignFile {
  readonly fits: (start: Start) => boolean;
}

const begins =
  (...signs: readonly string[]) =>
  ({ text }: Start): boolean =>
    signs.some((sign) => text.startsWith(sign));

const PICKLE_HINT =
  "Get the safetensors files of the same model, or convert it: load it with PyTorch and save it with safetensors.torch.save_file. Pickled files are not read, because reading one runs code.";
const FROM_HUGGING_FACE = "Open the GGUF or the Hugging Face folder of the same model instead.";
const OPEN_A_MODEL = `Open ${openedModelsText()}.`;
const UNPACK = "Unpack it and open the model file, or drop the folder, that is inside.";
const AGAIN = "Download it again; the file here is not the model.";

/** The first entry's name of a zip archive. */
function firstEntry({ bytes, text }: Start): string {
  const length = (bytes[26] ?? 0) + 256 * (bytes[27] ?? 0);
  return text.slice(30, 30 + length);
}

const isZip = begins("PK\u0003\u0004");
const zipWith =
  (entry: RegExp, ending: RegExp) =>
  (start: Start): boolean =>
    isZip(start) && (entry.test(firstEntry(start)) || ending.test(start.name));

/**
 * Protocol buffers have no sign of their own. An ONNX model and a Core ML specification both begin with a small version in field 1;
 * field 2 is the producer's name there and a description with fields here.
 */
function protobufOf({ bytes, name }: Start): "onnx" | "core-ml" | undefined {
  const [tag, version = 0, next, , inner = 0] = bytes;
  if (tag !== 0x08 || version === 0 || version > 64) return undefined;
  if (next === 0x12) return inner === 0x0a || name.endsWith(".mlmodel") ? "core-ml" : "onnx";
  return next !== undefined && [0x1a, 0x22, 0x2a, 0x32, 0x3a, 0x42].includes(next) ? "onnx" : undefined;
}

/** UTF-8 without control characters; the last letter may be cut. */
function isText({ bytes }: Start): boolean {
  if (bytes.length === 0) return false;
  const text = new TextDecoder().decode(bytes);
  return !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/u.test(text) && !/\ufffd/u.test(text.slice(0, -4));
}

const isJson = ({ text }: Start): boolean => /^\s*\{/u.test(text);

/** JSON that lies in the folder of a Hugging Face model; any of it opens the folder. */
const MODEL_JSON =
  /(^|[/\\])(\w*config|[\w.-]*\.index|\w*tokenizer\w*|vocab|\w+_tokens(_map)?|modules|chat_template)\.json$/u;

/** In this order: the first that fits is it. */
const SIGNS: readonly Sign[] = [
  {
    ...{ id: "lfs-pointer", what: "a Git LFS pointer, which stands for a file that was not downloaded" },
    hint: "Run `git lfs pull` in its folder, or download the file itself.",
    fits: begins("version https://git-lfs.github.com/spec/"),
  },
  {
    ...{ id: "pytorch", what: "a PyTorch file", hint: PICKLE_HINT },
    fits: zipWith(/(^|\/)(data\.pkl|\.format_version|\.data\/|byteorder)$/u, /\.(pt|pth|bin|ckpt)$/u),
  },
  {
    ...{ id: "pytorch", what: "a pickled file, as older PyTorch writes them", hint: PICKLE_HINT },
    fits: ({ bytes, name }) =>
      bytes[0] === 0x80 &&
      [2, 3, 4, 5].includes(bytes[1] ?? 0) &&
      (bytes[2] === 0x8a || /\.(pt|pth|bin|pkl|ckpt|pickle)$/u.test(name) || bytes[2] === 0x95 || bytes[2] === 0x7d),
  },
  {
    ...{ id: "numpy", what: "an archive of NumPy arrays", hint: FROM_HUGGING_FACE },
    fits: zipWith(/\.npy$/u, /\.npz$/u),
  },
  {
    ...{ id: "keras", what: "a Keras model", hint: FROM_HUGGING_FACE },
    fits: zipWith(/^(metadata|config)\.json$/u, /\.keras$/u),
  },
  {
    ...{ id: "core-ml", what: "a zipped Core ML package" },
    hint: "Packages are written here, not opened: open the GGUF that it was made from.",
    fits: zipWith(/\.mlpackage\//u, /\.mlpackage(\.zip)?$/u),
  },
  { ...{ id: "zip", what: "a zip archive", hint: UNPACK }, fits: isZip },
  {
    ...{ id: "ggml", what: "a model in an old GGML format, from before GGUF (August 2023)" },
    hint: "Get the GGUF of the same model, or convert the original model with `rlx convert`.",
    fits: begins("lmgg", "fmgg", "tjgg", "algg"),
  },
  {
    ...{ id: "tflite", what: "a TensorFlow Lite model", hint: FROM_HUGGING_FACE },
    fits: ({ text }) => text.slice(4, 8) === "TFL3",
  },
  {
    ...{ id: "hdf5", what: "an HDF5 file, as Keras writes its weights", hint: FROM_HUGGING_FACE },
    fits: begins("\u0089HDF\r\n\u001a\n"),
  },
  { ...{ id: "numpy", what: "a NumPy array", hint: FROM_HUGGING_FACE }, fits: begins("\u0093NUMPY") },
  {
    ...{ id: "core-ml", what: "a Core ML model" },
    hint: "Core ML models are written here, not opened: open the GGUF or the Hugging Face folder of the same model.",
    fits: (start) => protobufOf(start) === "core-ml",
  },
  {
    ...{ id: "onnx", what: "an ONNX model", hint: FROM_HUGGING_FACE },
    fits: (start) => protobufOf(start) === "onnx",
  },
  {
    ...{ id: "archive", what: "a compressed archive", hint: UNPACK },
    fits: (start) =>
      begins("\u001f\u008b", "BZh", "\u00fd7zXZ", "7z\u00bc\u00af", "(\u00b5/\u00fd", "Rar!")(start) ||
      start.text.slice(257, 262) === "ustar",
  },
  {
    ...{ id: "image", what: "an image", hint: OPEN_A_MODEL },
    fits: (start) =>
      begins("\u0089PNG", "\u00ff\u00d8\u00ff", "GIF8", "II*\u0000", "MM\u0000*")(start) ||
      (start.text.startsWith("RIFF") && start.text.slice(8, 12) === "WEBP"),
  },
  { ...{ id: "pdf", what: "a PDF document", hint: OPEN_A_MODEL }, fits: begins("%PDF") },
  {
    ...{ id: "llamafile", what: "a llamafile: a program with a model inside" },
    hint: "It is a zip archive as well: unzip it and open the .gguf inside.",
    fits: (start) => start.name.endsWith(".llamafile") && begins("MZ", "\u007fELF")(start),
  },
  {
    ...{ id: "program", what: "a program", hint: OPEN_A_MODEL },
    fits: begins("MZ", "\u007fELF", "\u00cf\u00fa\u00ed\u00fe", "\u00ca\u00fe\u00ba\u00be", "#!"),
  },
  {
    ...{ id: "recording", what: "a recording of a profile" },
    hint: "Open a model and choose Files, Open… in its tab Profile, or run `rlx profile` with the file.",
    fits: begins('{"rlxtrace":'),
  },
  {
    ...{ id: "session", what: "a session of the workbench" },
    hint: "Drop it into the window alone, or run `rlx session import` with it.",
    fits: ({ name, text }) => name.endsWith(".rlxsession") && text.startsWith("{"),
  },
  {
    ...{ id: "json", what: "JSON, but no file of a Hugging Face model", hint: OPEN_A_MODEL },
    // A folder's own name stands for its config.json.
    fits: (start) => isJson(start) && start.name.endsWith(".json") && !MODEL_JSON.test(start.name),
  },
  { ...{ id: "sqlite", what: "a SQLite database", hint: OPEN_A_MODEL }, fits: begins("SQLite format 3\u0000") },
  {
    ...{ id: "web-page", what: "a web page, perhaps the error of a download", hint: AGAIN },
    fits: ({ text }) => /^\s*<(!doctype html|html|head)\b/iu.test(text),
  },
  {
    ...{ id: "zeros", what: "zeros, as of a download that has not begun", hint: AGAIN },
    fits: ({ bytes }) => bytes.length >= 24 && bytes.every((byte) => byte === 0),
  },
  {
    ...{
      id: "text",
      what: "text",
      hint: OPEN_A_MODEL,
    },
    fits: (start) => isText(start) && !isJson(start),
  },
];

/** What this file is, where it is none that is read; undefined where that is not known. */
export function foreignFile(name: string, bytes: Uint8Array): ForeignFile | undefined {
  const start: Start = {
    bytes: bytes.subarray(0, SNIFFED_BYTES),
    text: String.fromCharCode(...bytes.subarray(0, SNIFFED_BYTES)),
    name: name.toLowerCase(),
  };
  const found = SIGNS.find(({ fits }) => fits(start));
  return found === undefined ? undefined : { id: found.id, what: found.what, hint: found.hint };
}

/** Folders of other formats, by a name that lies in them. */
const FOLDERS: readonly (ForeignFile & { readonly holds: readonly string[] })[] = [
  {
    ...{ id: "core-ml", what: "a Core ML package", holds: ["Manifest.json", "Data"] },
    hint: "Packages are written here, not opened: open the GGUF or the Hugging Face folder that it was made from.",
  },
  {
    ...{ id: "core-ml", what: "a compiled Core ML model", holds: ["coremldata.bin"] },
    hint: "Compiled models cannot be read back: open the GGUF or the Hugging Face folder of the same model.",
  },
  { ...{ id: "tensorflow", what: "a TensorFlow SavedModel", holds: ["saved_model.pb"] }, hint: FROM_HUGGING_FACE },
  { ...{ id: "pytorch", what: "a model with PyTorch weights", holds: ["pytorch_model.bin"] }, hint: PICKLE_HINT },
  {
    ...{ id: "pytorch", what: "a model with PyTorch weights in parts", holds: ["pytorch_model.bin.index.json"] },
    hint: PICKLE_HINT,
  },
  { ...{ id: "onnx", what: "an ONNX model", holds: ["model.onnx"] }, hint: FROM_HUGGING_FACE },
];

/** What this folder is, by the names in it. */
export function foreignFolder(names: readonly string[]): ForeignFile | undefined {
  if (names.some((name) => name.endsWith(".safetensors"))) return undefined;
  const found = FOLDERS.find(({ holds }) => holds.every((name) => names.includes(name)));
  return found === undefined ? undefined : { id: found.id, what: found.what, hint: found.hint };
}

export const foreignError = (name: string, { id, what, hint }: ForeignFile): WorkbenchError =>
  new WorkbenchError("INPUT_NOT_GGUF", `[${name}] not a GGUF: got ${what}, expected a model file`, {
    hint,
    details: { foreign: id },
  });
