"""Quantised blocks: ggml's own functions, and those of the gguf package."""

import ctypes as c
import os
import struct
import time
import types

import gguf
import numpy as np

import llama

_base = None


def quantize(type, values, importance=None):
    """Packs f32 rows into blocks as ggml does; `importance` is one weight per column."""
    return _quantize(type, values, importance)[0].tobytes()


def quantize_seconds(type, values, importance=None, repeats=1):
    """Processor time in which ggml packs these rows on one thread, each time."""
    return [_quantize(type, values, importance)[1] for _ in range(repeats)]


def _quantize(type, values, importance):
    lib, kind = _library(), _kind(type)
    rows, columns = values.shape
    source = np.ascontiguousarray(values, dtype=np.float32)
    if importance is None and lib.ggml_quantize_requires_imatrix(kind):
        raise ValueError(f"{type} needs importance weights")
    out = np.zeros(rows * _row_bytes(kind, columns), dtype=np.uint8)
    weights = None if importance is None else np.ascontiguousarray(importance, dtype=np.float32)
    start = time.process_time()
    written = lib.ggml_quantize_chunk(kind, source.ctypes.data, out.ctypes.data, 0, rows, columns, _address(weights))
    seconds = time.process_time() - start
    if written != out.nbytes:
        raise RuntimeError(f"{type}: ggml wrote {written} bytes, expected {out.nbytes}")
    return out, seconds


def dequantize(type, data, count):
    """Unpacks `count` values with ggml's dequantize_row (f32 results, bit for bit)."""
    kind = _kind(type)
    source = np.frombuffer(data, dtype=np.uint8)
    if source.nbytes != _row_bytes(kind, count):
        raise ValueError(f"{type}: got {source.nbytes} bytes for {count} values, expected {_row_bytes(kind, count)}")
    if type.lower() == "f32":
        return source.view("<f4").copy()
    out = np.zeros(count, dtype=np.float32)
    name = {"f16": "ggml_fp16_to_fp32_row", "bf16": "ggml_bf16_to_fp32_row"}.get(
        type.lower(), f"dequantize_row_{_spelled(type)}"
    )
    function = getattr(_library(), name)
    function.restype, function.argtypes = None, [c.c_void_p, c.c_void_p, c.c_int64]
    function(source.ctypes.data, out.ctypes.data, count)
    return out


def package_dequantize(type, data, shape):
    """Unpacks with the gguf package instead (a second, independent implementation)."""
    kind = gguf.GGMLQuantizationType[type.upper()]
    source = np.frombuffer(data, dtype=np.uint8)
    return gguf.quants.dequantize(source.reshape(*shape[:-1], -1), kind).reshape(shape).astype(np.float32)


def package_quantize(type, values):
    """Packs f32 rows with the gguf package instead (a second, independent implementation)."""
    return gguf.quants.quantize(values.astype(np.float32), gguf.GGMLQuantizationType[type.upper()]).tobytes()


def type_info(type):
    """Elements and bytes of one block."""
    block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[type.upper()]]
    return {"block": block, "bytes": size, "id": int(_kind(type))}


def type_table():
    """Every tensor type the library knows: number, name, elements and bytes of a block."""
    lib = _library()
    lib.ggml_type_name.restype, lib.ggml_type_size.restype = c.c_char_p, c.c_size_t
    lib.ggml_blck_size.restype = c.c_int64
    rows = []
    for kind in range(43):  # the library looks numbers up without checking them
        name = lib.ggml_type_name(kind)
        if lib.ggml_blck_size(kind) <= 0:
            continue
        size = {"block": int(lib.ggml_blck_size(kind)), "bytes": int(lib.ggml_type_size(kind))}
        rows.append({"id": kind, "name": name.decode().lower(), **size})
    return rows


def read_file(path):
    """What the gguf package sees in a file: metadata and the tensor table (no data)."""
    reader = gguf.GGUFReader(path)
    fields = {name: _contents(field) for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    tensors = [
        {
            "name": tensor.name,
            "type": tensor.tensor_type.name.lower(),
            "shape": [int(dim) for dim in reversed(tensor.shape)],
            "offset": int(tensor.data_offset),
            "bytes": int(tensor.n_bytes),
        }
        for tensor in reader.tensors
    ]
    return {"fields": fields, "tensors": tensors, "version": int(reader.fields["GGUF.version"].parts[-1][0])}


def read_tensor(path, name):
    """One tensor of a file as f32, by the gguf package."""
    for tensor in gguf.GGUFReader(path).tensors:
        if tensor.name == name:
            shape = [int(dim) for dim in reversed(tensor.shape)]
            return gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(shape).astype(np.float32)
    raise LookupError(f"no tensor {name}")


def write_file(path, architecture, metadata, tensors, big=False):
    """Writes a file with the gguf package. metadata: name -> [kind, value], kind as GGUFWriter's add_<kind>;
    tensors: name -> array (f32, f16) or {type, data, shape} for packed ones. big: in big-endian order."""
    writer = gguf.GGUFWriter(path, architecture, endianess=gguf.GGUFEndian.BIG if big else gguf.GGUFEndian.LITTLE)
    for name, (kind, value) in metadata.items():
        getattr(writer, f"add_{kind}")(name, value)
    for name, tensor in tensors.items():
        if isinstance(tensor, dict):
            kind = gguf.GGMLQuantizationType[tensor["type"].upper()]
            raw = np.frombuffer(tensor["data"], dtype=np.uint8)
            if big:
                raw = _swapped_blocks(kind, raw)
            rows = raw.reshape(*tensor["shape"][:-1], -1)
            writer.add_tensor(name, rows, raw_dtype=kind)
        else:
            writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return os.path.getsize(path)


def _swapped_blocks(kind, raw):
    """Packed blocks in the other byte order, by the gguf package's own converter."""
    from gguf.scripts import gguf_convert_endian

    holder = types.SimpleNamespace(data=raw.copy())
    size = gguf.constants.GGML_QUANT_SIZES[kind][1]
    for at in range(0, raw.size, size):
        gguf_convert_endian.byteswap_tensors[kind](holder, at)
    return holder.data


def write_first_version(path, metadata, tensors, big=False):
    """A file of version 1, whose counts, lengths and dimensions have 32 bits. metadata: [key, number of the type, value], where a
    list is an array of f32 or of strings; tensors: name -> f32 array."""
    order = ">" if big else "<"
    pack = lambda form, *values: struct.pack(order + form, *values)
    text = lambda value: pack("I", len(value.encode())) + value.encode()
    forms = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?"}

    def value(kind, item):
        if kind == 8:
            return text(item)
        if kind == 9:
            inner = 8 if isinstance(item[0], str) else 6
            return pack("II", inner, len(item)) + b"".join(value(inner, one) for one in item)
        return pack(forms[kind], item)

    out = b"GGUF" + pack("III", 1, len(tensors), len(metadata))
    for key, kind, item in metadata:
        out += text(key) + pack("I", kind) + value(kind, item)
    at = 0
    for name, array in tensors.items():
        out += text(name) + pack("I", array.ndim) + b"".join(pack("I", size) for size in reversed(array.shape))
        out += pack("IQ", 0, at)
        at += -(-array.nbytes // 32) * 32
    for array in tensors.values():
        out += b"\0" * (-len(out) % 32)
        out += array.astype(order + "f4").tobytes()
    with open(path, "wb") as file:
        file.write(out)


def _library():
    global _base
    if _base is None:
        lib = c.CDLL(llama.find_library("ggml-base"), mode=c.RTLD_GLOBAL)
        lib.ggml_quantize_requires_imatrix.restype = c.c_bool
        lib.ggml_quantize_requires_imatrix.argtypes = [c.c_int]
        lib.ggml_quantize_chunk.restype = c.c_size_t
        lib.ggml_quantize_chunk.argtypes = [
            c.c_int, c.c_void_p, c.c_void_p, c.c_int64, c.c_int64, c.c_int64, c.c_void_p,
        ]  # fmt: skip
        lib.ggml_row_size.restype, lib.ggml_row_size.argtypes = c.c_size_t, [c.c_int, c.c_int64]
        _base = lib
    return _base


def _kind(type):
    newer = {"Q1_0": 41, "Q2_0": 42}  # types that the gguf package does not list
    name = type.upper()
    return newer[name] if name in newer else int(gguf.GGMLQuantizationType[name])


def _row_bytes(kind, count):
    return _library().ggml_row_size(kind, count)


def _address(array):
    return None if array is None else array.ctypes.data


def _spelled(type):
    """ggml writes q4_0 and q4_K, iq4_nl and tq1_0."""
    lower = type.lower()
    return lower[:-1] + "K" if lower.endswith("_k") else lower


def _contents(field):
    value = field.contents()
    return value.tolist() if isinstance(value, np.ndarray) else value
