"""llama.cpp's own quantiser: which type it gives each tensor; and what its matrices multiply."""

import ctypes as c

import numpy as np

import llama


class _Parameters(c.Structure):
    _fields_ = [
        ("threads", c.c_int32), ("file_type", c.c_int32), ("output_type", c.c_int32), ("embedding_type", c.c_int32),
        ("allow_requantize", c.c_bool), ("quantize_output", c.c_bool), ("only_copy", c.c_bool), ("pure", c.c_bool),
        ("keep_split", c.c_bool), ("dry_run", c.c_bool),
        ("importance", c.c_void_p), ("overrides", c.c_void_p), ("types", c.c_void_p), ("prune", c.c_void_p),
    ]  # fmt: skip


def file(source, target, file_type):
    """Writes `source` as a file of this file type; false where llama.cpp refuses."""
    lib = llama.load_library()
    defaults = lib.llama_model_quantize_default_params
    defaults.restype = _Parameters
    quantize = lib.llama_model_quantize
    quantize.restype, quantize.argtypes = c.c_uint32, [c.c_char_p, c.c_char_p, c.POINTER(_Parameters)]
    parameters = defaults()
    if (parameters.file_type, parameters.quantize_output, parameters.importance) != (7, True, None):
        raise RuntimeError("llama_model_quantize_params has another layout in this version")
    parameters.file_type, parameters.allow_requantize, parameters.threads = file_type, True, 2
    return quantize(source.encode(), target.encode(), c.byref(parameters)) == 0


class _Tensor(c.Structure):
    """The front of ggml_tensor."""

    _fields_ = [
        ("type", c.c_int32), ("buffer", c.c_void_p), ("ne", c.c_int64 * 4), ("nb", c.c_size_t * 4),
        ("op", c.c_int32), ("op_params", c.c_int32 * 16), ("flags", c.c_int32), ("src", c.c_void_p * 10),
        ("view_src", c.c_void_p), ("view_offs", c.c_size_t), ("data", c.c_void_p), ("name", c.c_char * 64),
    ]  # fmt: skip


def _array(tensor, dtype):
    """A tensor's values, the slowest axis first."""
    shape, strides = tuple(tensor.ne)[::-1], tuple(tensor.nb)[::-1]
    size = sum((n - 1) * step for n, step in zip(shape, strides)) + np.dtype(dtype).itemsize
    raw = np.ctypeslib.as_array(c.cast(tensor.data, c.POINTER(c.c_uint8)), (size,))
    return np.lib.stride_tricks.as_strided(raw.view(dtype), shape, strides).copy()


def input_squares(path, tokens):
    """What each matrix of a block multiplies in llama.cpp's own graph: {name: [sums of squares, rows]}, a row per expert or head."""
    found = {}
    names = {}

    def operation(pointer):
        number = c.cast(pointer, c.POINTER(_Tensor)).contents.op
        if number not in names:
            names[number] = ggml.ggml_op_name(number).decode()
        return names[number]

    @c.CFUNCTYPE(c.c_bool, c.c_void_p, c.c_bool, c.c_void_p)
    def watch(pointer, ask, _data):
        op = operation(pointer)
        if ask:
            return op in ("MUL_MAT", "MUL_MAT_ID")
        tensor = c.cast(pointer, c.POINTER(_Tensor)).contents
        weight, x = (c.cast(tensor.src[i], c.POINTER(_Tensor)).contents for i in (0, 1))
        name = weight.name.decode()
        if not name.startswith("blk.") or x.type != 0:
            return True
        values = _array(x, np.float32).astype(np.float64)
        if op == "MUL_MAT" and weight.ne[2] > 1:
            # A matrix for each head.
            heads, rows = values.shape[1:3]
            squares, counts = (values[0] ** 2).sum(1), np.full(heads, rows)
        elif op == "MUL_MAT":
            squares, counts = (values.reshape(-1, values.shape[-1]) ** 2).sum(0)[None], [values[..., 0].size]
        else:
            ids = _array(c.cast(tensor.src[2], c.POINTER(_Tensor)).contents, np.int32)[0, 0]
            rows = np.broadcast_to(values[0], (*ids.shape, values.shape[-1]))
            squares, counts = np.zeros((weight.ne[2], values.shape[-1])), np.zeros(weight.ne[2])
            np.add.at(squares, ids, rows**2)
            np.add.at(counts, ids, 1)
        found[name] = [squares, np.asarray(counts, np.float64)]
        return True

    llama.load_library()
    ggml = c.CDLL(llama.find_library("ggml-base"))
    ggml.ggml_op_name.restype, ggml.ggml_op_name.argtypes = c.c_char_p, [c.c_int32]
    model = llama.Model(path, repack=False)
    try:
        context = llama.Context(model, capacity=64, watch=watch)
        context.decode([int(token) for token in tokens])
        context.close()
    finally:
        model.close()
    return [[name, squares, counts] for name, (squares, counts) in found.items()]


def statistics(path, against=None, bars=16):
    """Per tensor by the gguf package and NumPy: min, max, mean, std, zeros, NaN, infinities, dead rows, histogram, distance."""
    import gguf

    def tensors(name):
        return {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in gguf.GGUFReader(name).tensors}

    other = tensors(against) if against else {}
    answers = []
    for name, values in tensors(path).items():
        x = values.astype(np.float64)
        good = x[np.isfinite(x)]
        rows = x.reshape(-1, x.shape[-1])
        rest = None
        if name in other:
            y = other[name].astype(np.float64)
            both = np.isfinite(x - y)
            apart, theirs, ours = (x - y)[both], y[both], x[both]
            per_row = np.where(both, (x - y) ** 2, 0).reshape(rows.shape).sum(1)
            energy = np.where(both, y**2, 0).reshape(rows.shape).sum(1)
            with np.errstate(divide="ignore", invalid="ignore"):
                worst = int(np.nanargmax(np.sqrt(per_row / energy)))
            rest = [
                float(np.sqrt((apart**2).sum() / (theirs**2).sum())),
                float(np.sqrt((apart**2).mean())),
                float(ours @ theirs / np.sqrt((ours @ ours) * (theirs @ theirs))),
                worst,
                float(np.abs(apart).max()),
                int(np.abs(np.where(both, x - y, 0)).argmax()),
            ]
        numbers = [good.min(), good.max(), good.mean(), good.std(), (x == 0).sum(), np.isnan(x).sum(), np.isinf(x).sum()]
        dead = int((rows == 0).all(1).sum()) if x.ndim > 1 else 0
        counts = np.histogram(good, bars, (good.min(), good.max()))[0]
        answers.append([name, [float(n) for n in numbers], dead, [int(n) for n in counts], rest])
    return answers


def _distance(x, y):
    apart = x - y
    return {
        "relative": float(np.sqrt((apart**2).sum() / (y**2).sum())),
        "rmse": float(np.sqrt((apart**2).mean())),
        "cosine": float((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum())),
        "farthest": float(np.abs(apart).max()),
        "values": int(x.size),
    }


def _values(path):
    import gguf

    found = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in gguf.GGUFReader(path).tensors}
    return {name: values.astype(np.float64) for name, values in found.items()}


def whole_error(path, against):
    """How far all values of a file are from those of another, as one vector."""
    ours, theirs = _values(path), _values(against)
    return _distance(*(np.concatenate([values[name].ravel() for name in ours]) for values in (ours, theirs)))


def error_to_folder(path, folder, name, theirs, heads):
    """The same of one tensor and that of a folder; with heads, the file has the halves of each head's rows interleaved."""
    from answers.hf_answers import _load

    y = _load(folder)[theirs]
    if heads:
        y = y.reshape(heads, 2, -1, y.shape[-1]).swapaxes(1, 2).reshape(y.shape)
    return _distance(_values(path)[name], y)
