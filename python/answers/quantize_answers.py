"""llama.cpp's own quantiser: which type it gives each tensor."""

import ctypes as c

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
