"""llama.cpp through its plain C interface, as the outside answer for tokenizers, logits and speed.

The library is the one that node-llama-cpp carries (bench/peers, pinned and locked). Only documented functions of
llama.h are called. The two parameter structures are passed by value, so their layout belongs to one version of the
library: `_check_layout` compares the defaults with known ones and refuses to go on when they do not fit.

One file over 500 lines: most of it are these layouts and the declarations, which belong to one version together.
"""

import ctypes as c
import glob
import os
import platform
import time

import numpy as np

VERSION = "0.4.0"
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = os.path.join(ROOT, "bench", "peers", "node_modules", "@node-llama-cpp")


class ModelParams(c.Structure):
    _fields_ = [
        ("devices", c.c_void_p),
        ("tensor_buft_overrides", c.c_void_p),
        ("n_gpu_layers", c.c_int32),
        ("split_mode", c.c_int32),
        ("load_mode", c.c_int32),
        ("lazy_mode", c.c_int32),
        ("main_gpu", c.c_int32),
        ("tensor_split", c.c_void_p),
        ("progress_callback", c.c_void_p),
        ("progress_callback_user_data", c.c_void_p),
        ("kv_overrides", c.c_void_p),
        ("vocab_only", c.c_bool),
        ("check_tensors", c.c_bool),
        ("use_extra_bufts", c.c_bool),
        ("no_host", c.c_bool),
        ("no_alloc", c.c_bool),
        ("load_mtp", c.c_bool),
    ]


class ContextParams(c.Structure):
    _fields_ = [
        ("n_ctx", c.c_uint32),
        ("n_batch", c.c_uint32),
        ("n_ubatch", c.c_uint32),
        ("n_seq_max", c.c_uint32),
        ("n_rs_seq", c.c_uint32),
        ("n_outputs_max", c.c_uint32),
        ("n_outputs_max_per_seq", c.c_uint32),
        ("n_threads", c.c_int32),
        ("n_threads_batch", c.c_int32),
        ("ctx_type", c.c_int32),
        ("rope_scaling_type", c.c_int32),
        ("pooling_type", c.c_int32),
        ("attention_type", c.c_int32),
        ("flash_attn_type", c.c_int32),
        ("rope_freq_base", c.c_float),
        ("rope_freq_scale", c.c_float),
        ("yarn_ext_factor", c.c_float),
        ("yarn_attn_factor", c.c_float),
        ("yarn_beta_fast", c.c_float),
        ("yarn_beta_slow", c.c_float),
        ("yarn_orig_ctx", c.c_uint32),
        ("defrag_thold", c.c_float),
        ("cb_eval", c.c_void_p),
        ("cb_eval_user_data", c.c_void_p),
        ("type_k", c.c_int32),
        ("type_v", c.c_int32),
        ("abort_callback", c.c_void_p),
        ("abort_callback_data", c.c_void_p),
        ("embeddings", c.c_bool),
        ("offload_kqv", c.c_bool),
        ("no_perf", c.c_bool),
        ("op_offload", c.c_bool),
        ("swa_full", c.c_bool),
        ("kv_unified", c.c_bool),
        ("samplers", c.c_void_p),
        ("n_samplers", c.c_size_t),
        ("ctx_other", c.c_void_p),
    ]


class Batch(c.Structure):
    _fields_ = [
        ("n_tokens", c.c_int32),
        ("token", c.POINTER(c.c_int32)),
        ("embd", c.POINTER(c.c_float)),
        ("pos", c.POINTER(c.c_int32)),
        ("n_seq_id", c.POINTER(c.c_int32)),
        ("seq_id", c.POINTER(c.POINTER(c.c_int32))),
        ("logits", c.POINTER(c.c_int8)),
    ]


LOG_CALLBACK = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)
POOLINGS = ("none", "mean", "cls", "last", "rank")
GGML_TYPES = {"f32": 0, "f16": 1, "q8_0": 8, "bf16": 30}

# llama_token_data
TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class TokenDataArray(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("size", c.c_size_t),
        ("selected", c.c_int64),
        ("sorted", c.c_bool),
    ]


class LogitBias(c.Structure):
    _fields_ = [("token", c.c_int32), ("bias", c.c_float)]


_SIGNATURES = {
    "llama_version": (c.c_char_p, []),
    "llama_backend_init": (None, []),
    "llama_log_set": (None, [LOG_CALLBACK, c.c_void_p]),
    "llama_model_default_params": (ModelParams, []),
    "llama_context_default_params": (ContextParams, []),
    "llama_model_load_from_file": (c.c_void_p, [c.c_char_p, ModelParams]),
    "llama_model_free": (None, [c.c_void_p]),
    "llama_init_from_model": (c.c_void_p, [c.c_void_p, ContextParams]),
    "llama_free": (None, [c.c_void_p]),
    "llama_model_get_vocab": (c.c_void_p, [c.c_void_p]),
    "llama_model_n_params": (c.c_uint64, [c.c_void_p]),
    "llama_model_size": (c.c_uint64, [c.c_void_p]),
    "llama_model_n_ctx_train": (c.c_int32, [c.c_void_p]),
    "llama_model_desc": (c.c_int32, [c.c_void_p, c.c_char_p, c.c_size_t]),
    "llama_model_chat_template": (c.c_char_p, [c.c_void_p, c.c_char_p]),
    "llama_vocab_n_tokens": (c.c_int32, [c.c_void_p]),
    "llama_vocab_bos": (c.c_int32, [c.c_void_p]),
    "llama_vocab_eos": (c.c_int32, [c.c_void_p]),
    "llama_vocab_eot": (c.c_int32, [c.c_void_p]),
    "llama_vocab_sep": (c.c_int32, [c.c_void_p]),
    "llama_vocab_is_eog": (c.c_bool, [c.c_void_p, c.c_int32]),
    "llama_vocab_get_suppress_tokens": (c.POINTER(c.c_int32), [c.c_void_p, c.POINTER(c.c_int32)]),
    "llama_vocab_get_add_bos": (c.c_bool, [c.c_void_p]),
    "llama_vocab_get_add_eos": (c.c_bool, [c.c_void_p]),
    "llama_vocab_get_add_sep": (c.c_bool, [c.c_void_p]),
    "llama_tokenize": (
        c.c_int32,
        [c.c_void_p, c.c_char_p, c.c_int32, c.POINTER(c.c_int32), c.c_int32, c.c_bool, c.c_bool],
    ),
    "llama_token_to_piece": (c.c_int32, [c.c_void_p, c.c_int32, c.c_char_p, c.c_int32, c.c_int32, c.c_bool]),
    "llama_detokenize": (
        c.c_int32,
        [c.c_void_p, c.POINTER(c.c_int32), c.c_int32, c.c_char_p, c.c_int32, c.c_bool, c.c_bool],
    ),
    "llama_batch_init": (Batch, [c.c_int32, c.c_int32, c.c_int32]),
    "llama_batch_free": (None, [Batch]),
    "llama_decode": (c.c_int32, [c.c_void_p, Batch]),
    "llama_synchronize": (None, [c.c_void_p]),
    "llama_get_logits_ith": (c.POINTER(c.c_float), [c.c_void_p, c.c_int32]),
    "llama_encode": (c.c_int32, [c.c_void_p, Batch]),
    "llama_get_embeddings_ith": (c.POINTER(c.c_float), [c.c_void_p, c.c_int32]),
    "llama_get_embeddings_seq": (c.POINTER(c.c_float), [c.c_void_p, c.c_int32]),
    "llama_model_n_embd_out": (c.c_int32, [c.c_void_p]),
    "llama_model_n_cls_out": (c.c_uint32, [c.c_void_p]),
    "llama_model_has_encoder": (c.c_bool, [c.c_void_p]),
    "llama_get_memory": (c.c_void_p, [c.c_void_p]),
    "llama_memory_clear": (None, [c.c_void_p, c.c_bool]),
    "llama_set_n_threads": (None, [c.c_void_p, c.c_int32, c.c_int32]),
    "llama_adapter_lora_init": (c.c_void_p, [c.c_void_p, c.c_char_p]),
    "llama_set_adapters_lora": (
        c.c_int32,
        [c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.POINTER(c.c_float)],
    ),
}

_SIGNATURES |= {
    "llama_sampler_apply": (None, [c.c_void_p, c.POINTER(TokenDataArray)]),
    "llama_sampler_accept": (None, [c.c_void_p, c.c_int32]),
    "llama_sampler_free": (None, [c.c_void_p]),
    "llama_sampler_init_temp": (c.c_void_p, [c.c_float]),
    "llama_sampler_init_dist": (c.c_void_p, [c.c_uint32]),
    "llama_sampler_init_top_k": (c.c_void_p, [c.c_int32]),
    "llama_sampler_init_top_p": (c.c_void_p, [c.c_float, c.c_size_t]),
    "llama_sampler_init_min_p": (c.c_void_p, [c.c_float, c.c_size_t]),
    "llama_sampler_init_typical": (c.c_void_p, [c.c_float, c.c_size_t]),
    "llama_sampler_init_xtc": (c.c_void_p, [c.c_float, c.c_float, c.c_size_t, c.c_uint32]),
    "llama_sampler_init_mirostat": (c.c_void_p, [c.c_int32, c.c_uint32, c.c_float, c.c_float, c.c_int32]),
    "llama_sampler_init_mirostat_v2": (c.c_void_p, [c.c_uint32, c.c_float, c.c_float]),
    "llama_sampler_init_penalties": (c.c_void_p, [c.c_int32, c.c_int32, c.c_float, c.c_float, c.c_float]),
    "llama_sampler_init_logit_bias": (c.c_void_p, [c.c_int32, c.c_int32, c.POINTER(LogitBias)]),
    "llama_sampler_init_dry": (
        c.c_void_p,
        [c.c_void_p, c.c_float, c.c_float, c.c_int32, c.c_int32, c.POINTER(c.c_char_p), c.c_size_t],
    ),
    "llama_sampler_init_grammar": (c.c_void_p, [c.c_void_p, c.c_char_p, c.c_char_p]),
}

_library = None
_log_lines = []


def _on_log(level, text, _data):
    # 3 is a warning, 4 an error, 5 the continuation of the line before
    if level in (3, 4):
        _log_lines.append(text.decode("utf-8", "replace").strip())
        del _log_lines[:-50]


_log_callback = LOG_CALLBACK(_on_log)


def library_folder():
    """The folder with the CPU build of llama.cpp for this system, or None with the reason."""
    system = {"Linux": "linux", "Darwin": "mac"}.get(platform.system())
    arch = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine())
    for name in (f"{system}-{arch}", f"{system}-{arch}-metal"):
        folder = os.path.join(PACKAGES, name, "bins", name)
        if os.path.isdir(folder):
            return folder
    raise FileNotFoundError(f"no llama.cpp for {system}-{arch} in bench/peers: run `npm run setup -- --all`")


def find_library(stem):
    """The path of libllama, libggml or libggml-base, whatever version and suffix it carries."""
    folder = library_folder()
    found = [
        path
        for path in glob.glob(os.path.join(folder, f"lib{stem}.*"))
        if path.endswith((".so", ".dylib")) and os.path.basename(path).split(".")[0] == f"lib{stem}"
    ]
    if not found:
        raise FileNotFoundError(f"no lib{stem} in {folder}")
    return sorted(found, key=len)[0]


def _check_layout(lib):
    """The defaults are distinctive: when one moved, so did the structure."""
    version = lib.llama_version().decode()
    model, context = lib.llama_model_default_params(), lib.llama_context_default_params()
    facts = {
        "n_batch": (context.n_batch, 2048),
        "n_ubatch": (context.n_ubatch, 512),
        "n_seq_max": (context.n_seq_max, 1),
        "flash_attn_type": (context.flash_attn_type, -1),
        "yarn_ext_factor": (context.yarn_ext_factor, -1.0),
        "defrag_thold": (context.defrag_thold, -1.0),
        "type_k": (context.type_k, GGML_TYPES["f16"]),
        "type_v": (context.type_v, GGML_TYPES["f16"]),
        "no_perf": (context.no_perf, True),
        "ctx_other": (context.ctx_other, None),
        "n_gpu_layers": (model.n_gpu_layers, -1),
        "split_mode": (model.split_mode, 1),
        "load_mode": (model.load_mode, -1),
        "vocab_only": (model.vocab_only, False),
        "use_extra_bufts": (model.use_extra_bufts, True),
    }
    wrong = [f"{name} is {got}, expected {want}" for name, (got, want) in facts.items() if got != want]
    if wrong:
        raise RuntimeError(f"llama.cpp {version} has other parameters than {VERSION}: {'; '.join(wrong)}")


def _load_backends(ggml):
    """The build of ggml that is best here, or the one that RLX_LLAMA_CPU names ("haswell")."""
    cpu = os.environ.get("RLX_LLAMA_CPU")
    if cpu is None:
        ggml.ggml_backend_load_all_from_path.argtypes = [c.c_char_p]
        ggml.ggml_backend_load_all_from_path(library_folder().encode())
        return
    ggml.ggml_backend_load.restype, ggml.ggml_backend_load.argtypes = c.c_void_p, [c.c_char_p]
    if not ggml.ggml_backend_load(find_library(f"ggml-cpu-{cpu}").encode()):
        raise FileNotFoundError(f"llama.cpp's build for {cpu} does not load here")


def load_library():
    """Loads and prepares the library once per process."""
    global _library
    if _library is None:
        c.CDLL(find_library("ggml-base"), mode=c.RTLD_GLOBAL)
        ggml = c.CDLL(find_library("ggml"), mode=c.RTLD_GLOBAL)
        lib = c.CDLL(find_library("llama"), mode=c.RTLD_GLOBAL)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        lib.llama_log_set(_log_callback, None)
        _load_backends(ggml)
        _check_layout(lib)
        lib.llama_backend_init()
        _library = lib
    return _library


class LlamaError(RuntimeError):
    pass


def _fail(what):
    raise LlamaError(f"llama.cpp: {what}: {' | '.join(_log_lines[-4:]) or 'it gave no reason'}")


class Model:
    """One file. `repack=False` keeps the weights in the file's own layout (slower, and nothing is rearranged)."""

    def __init__(self, path, vocab_only=False, repack=True, mmap=True):
        self.lib = load_library()
        params = self.lib.llama_model_default_params()
        self._no_devices = (c.c_void_p * 1)(None)
        params.devices = c.cast(self._no_devices, c.c_void_p)
        params.n_gpu_layers = 0
        params.load_mode = 1 if mmap else 0
        params.vocab_only = vocab_only
        params.use_extra_bufts = repack
        del _log_lines[:]
        self.pointer = self.lib.llama_model_load_from_file(os.fsencode(path), params)
        if not self.pointer:
            _fail(f"cannot load {os.path.basename(path)}")
        self.vocab = self.lib.llama_model_get_vocab(self.pointer)
        self.n_vocab = self.lib.llama_vocab_n_tokens(self.vocab)

    def close(self):
        if self.pointer:
            self.lib.llama_model_free(self.pointer)
            self.pointer = None

    def info(self):
        description = c.create_string_buffer(256)
        self.lib.llama_model_desc(self.pointer, description, 256)
        template = self.lib.llama_model_chat_template(self.pointer, None)
        return {
            "version": self.lib.llama_version().decode(),
            "description": description.value.decode(),
            "parameters": self.lib.llama_model_n_params(self.pointer),
            "bytes": self.lib.llama_model_size(self.pointer),
            "contextLength": self.lib.llama_model_n_ctx_train(self.pointer),
            "vocabSize": self.n_vocab,
            "bos": self.lib.llama_vocab_bos(self.vocab),
            "eos": self.lib.llama_vocab_eos(self.vocab),
            "eot": self.lib.llama_vocab_eot(self.vocab),
            "separator": self.lib.llama_vocab_sep(self.vocab),
            "addSep": self.lib.llama_vocab_get_add_sep(self.vocab),
            "addBos": self.lib.llama_vocab_get_add_bos(self.vocab),
            "addEos": self.lib.llama_vocab_get_add_eos(self.vocab),
            "chatTemplate": template.decode() if template else None,
        }

    def tokenize(self, text, add_special=True, parse_special=True):
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        capacity = len(data) + 16
        while True:
            tokens = (c.c_int32 * capacity)()
            count = self.lib.llama_tokenize(self.vocab, data, len(data), tokens, capacity, add_special, parse_special)
            if count >= 0:
                return list(tokens[:count])
            capacity = -count

    def piece(self, token, special=True):
        """The bytes of one token (they need not be whole characters)."""
        size = 64
        while True:
            buffer = c.create_string_buffer(size)
            count = self.lib.llama_token_to_piece(self.vocab, token, buffer, size, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            size = -count

    def detokenize(self, tokens, remove_special=False, unparse_special=True):
        ids = (c.c_int32 * len(tokens))(*tokens)
        size = 16 + 8 * len(tokens)
        while True:
            buffer = c.create_string_buffer(size)
            count = self.lib.llama_detokenize(
                self.vocab, ids, len(tokens), buffer, size, remove_special, unparse_special
            )
            if count >= 0:
                return buffer.raw[:count]
            size = -count


class Sampler:
    """One of llama.cpp's sampler functions, called over logits that are given."""

    def __init__(self, pointer, lib):
        if not pointer:
            _fail("cannot make the sampler")
        self.pointer, self.lib = pointer, lib

    def close(self):
        self.lib.llama_sampler_free(self.pointer)

    def accept(self, tokens):
        for token in tokens:
            self.lib.llama_sampler_accept(self.pointer, int(token))

    def apply(self, logits):
        """Ids, logits and the selected index of what is left. Logits of -inf mark what a grammar refuses."""
        data = np.zeros(len(logits), dtype=TOKEN_DATA)
        data["id"], data["logit"] = np.arange(len(logits)), logits
        array = TokenDataArray(data.ctypes.data, len(logits), -1, False)
        self.lib.llama_sampler_apply(self.pointer, c.byref(array))
        left = np.frombuffer(c.string_at(array.data, array.size * TOKEN_DATA.itemsize), dtype=TOKEN_DATA)
        return left["id"], left["logit"], array.selected


def make_sampler(kind, model=None, **values):
    """By the name of its function in llama.h, without `llama_sampler_init_`."""
    lib = load_library()
    if kind == "dry":
        breakers = [text.encode() for text in values["breakers"]]
        pointer = lib.llama_sampler_init_dry(
            model.vocab, values["multiplier"], values["base"], values["allowed_length"],
            values["last"], (c.c_char_p * len(breakers))(*breakers), len(breakers),
        )  # fmt: skip
    elif kind == "logit_bias":
        biases = (LogitBias * len(values["biases"]))(*((int(t), b) for t, b in values["biases"]))
        pointer = lib.llama_sampler_init_logit_bias(values["vocabulary"], len(biases), biases)
    elif kind == "grammar":
        pointer = lib.llama_sampler_init_grammar(model.vocab, values["text"].encode(), values["root"].encode())
    else:
        pointer = getattr(lib, f"llama_sampler_init_{kind}")(*values["arguments"])
    return Sampler(pointer, lib)


class Context:
    """A cache over a model. The default is what agrees best with exact arithmetic: f32 cache, plain attention."""

    def __init__(
        self,
        model,
        capacity=512,
        threads=1,
        cache="f32",
        flash=False,
        batch=2048,
        ubatch=512,
        pooling=None,
        watch=None,
        adapters=(),
        sequences=1,
    ):
        self.model, self.lib, self.capacity = model, model.lib, capacity
        params = self.lib.llama_context_default_params()
        params.n_ctx, params.n_seq_max = capacity, sequences
        params.n_batch = max(batch, 1)
        params.n_ubatch = min(ubatch, params.n_batch)
        params.n_threads = params.n_threads_batch = threads
        params.type_k = params.type_v = GGML_TYPES[cache]
        params.flash_attn_type = 1 if flash else 0
        params.offload_kqv = params.op_offload = False
        if pooling is not None:
            params.embeddings, params.pooling_type = True, POOLINGS.index(pooling)
        if watch is not None:
            params.cb_eval = c.cast(watch, c.c_void_p)
        del _log_lines[:]
        # Before the context, which makes room for a graph with them.
        loaded = [self.lib.llama_adapter_lora_init(model.pointer, os.fsencode(path)) for path, _ in adapters]
        if not all(loaded):
            _fail("cannot load an adapter")
        self.pointer = self.lib.llama_init_from_model(model.pointer, params)
        if not self.pointer:
            _fail("cannot make a context")
        self.batch_size = params.n_batch
        self.batch = self.lib.llama_batch_init(self.batch_size, 0, 1)
        self.past = 0
        self._adapt(loaded, [float(scale) for _, scale in adapters])

    def _adapt(self, pointers, scales):
        """Applies LoRA adapters. They belong to the model, and go with it."""
        count = len(pointers)
        if count == 0:
            return
        if self.lib.llama_set_adapters_lora(
            self.pointer, (c.c_void_p * count)(*pointers), count, (c.c_float * count)(*scales)
        ):
            _fail("cannot apply the adapters")

    def close(self):
        if self.pointer:
            self.lib.llama_batch_free(self.batch)
            self.lib.llama_free(self.pointer)
            self.pointer = None

    def clear(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.pointer), True)
        self.past = 0

    def decode(self, tokens, want="all"):
        """Appends tokens; returns their logits: of every one ("all"), of the last one ("last"), or none."""
        rows = []
        for start in range(0, len(tokens), self.batch_size):
            part = tokens[start : start + self.batch_size]
            last_part = start + len(part) == len(tokens)
            for i, token in enumerate(part):
                self.batch.token[i] = token
                self.batch.pos[i] = self.past + i
                self.batch.n_seq_id[i] = 1
                self.batch.seq_id[i][0] = 0
                is_last = last_part and i == len(part) - 1
                self.batch.logits[i] = 1 if want == "all" or (is_last and want == "last") else 0
            self.batch.n_tokens = len(part)
            status = self.lib.llama_decode(self.pointer, self.batch)
            if status != 0:
                _fail(f"decode gave {status}")
            self.past += len(part)
            for i in range(len(part)):
                if self.batch.logits[i]:
                    pointer = self.lib.llama_get_logits_ith(self.pointer, i)
                    if not pointer:
                        _fail(f"no logits at {i}")
                    rows.append(np.ctypeslib.as_array(pointer, (self.model.n_vocab,)).copy())
        return np.stack(rows) if rows else None

    def encode(self, tokens):
        """Lets the encoder of an encoder-decoder read a text."""
        for i, token in enumerate(tokens):
            self.batch.token[i], self.batch.pos[i] = token, i
            self.batch.n_seq_id[i], self.batch.seq_id[i][0], self.batch.logits[i] = 1, 0, 1
        self.batch.n_tokens = len(tokens)
        status = self.lib.llama_encode(self.pointer, self.batch)
        if status != 0:
            _fail(f"encode gave {status}")

    def embed(self, tokens, pooling):
        """The rows of one text: one for each token, or the pooled one."""
        for i, token in enumerate(tokens):
            self.batch.token[i], self.batch.pos[i] = token, i
            self.batch.n_seq_id[i], self.batch.seq_id[i][0], self.batch.logits[i] = 1, 0, 1
        self.batch.n_tokens = len(tokens)
        encodes = self.lib.llama_model_has_encoder(self.model.pointer)
        status = (self.lib.llama_encode if encodes else self.lib.llama_decode)(self.pointer, self.batch)
        if status != 0:
            _fail(f"embedding gave {status}")
        scores = pooling == "rank"
        count = (self.lib.llama_model_n_cls_out if scores else self.lib.llama_model_n_embd_out)(self.model.pointer)
        if pooling == "none":
            rows = [self.lib.llama_get_embeddings_ith(self.pointer, i) for i in range(len(tokens))]
        else:
            rows = [self.lib.llama_get_embeddings_seq(self.pointer, 0)]
        if not all(rows):
            _fail("no embeddings")
        return np.stack([np.ctypeslib.as_array(row, (count,)).copy() for row in rows])

    def generate(self, tokens, count, stop_at_end=True):
        """Greedy continuation: the token ids only, the first of equals wins."""
        out = []
        logits = self.decode(tokens, "last")
        for _ in range(count):
            token = int(np.argmax(logits[-1]))
            out.append(token)
            if len(out) == count or (stop_at_end and self.lib.llama_vocab_is_eog(self.model.vocab, token)):
                break
            logits = self.decode([token], "last")
        return out

    def time_prompt(self, tokens):
        """Seconds to process these tokens from an empty cache, with the logits of the last one."""
        self.clear()
        start = time.perf_counter()
        self.decode(tokens, "last")
        self.lib.llama_synchronize(self.pointer)
        return time.perf_counter() - start

    def time_generation(self, tokens, count):
        """Seconds for `count` single-token steps after the prompt; sampling is argmax over the logits."""
        self.clear()
        logits = self.decode(tokens, "last")
        token = int(np.argmax(logits[-1]))
        start = time.perf_counter()
        for _ in range(count):
            self.batch.token[0], self.batch.pos[0] = token, self.past
            self.batch.n_seq_id[0], self.batch.seq_id[0][0], self.batch.logits[0] = 1, 0, 1
            self.batch.n_tokens = 1
            if self.lib.llama_decode(self.pointer, self.batch) != 0:
                _fail("decode failed")
            self.past += 1
            row = np.ctypeslib.as_array(self.lib.llama_get_logits_ith(self.pointer, 0), (self.model.n_vocab,))
            token = int(row.argmax())
        return time.perf_counter() - start

    def time_sequences(self, prompts, count):
        """Seconds for `count` steps of one token for each sequence, in one batch, after their prompts."""
        self.clear()

        def put(at, token, position, sequence, wants):
            self.batch.token[at], self.batch.pos[at] = token, position
            self.batch.n_seq_id[at], self.batch.seq_id[at][0], self.batch.logits[at] = 1, sequence, wants

        def drawn(at):
            row = np.ctypeslib.as_array(self.lib.llama_get_logits_ith(self.pointer, at), (self.model.n_vocab,))
            return int(row.argmax())

        def decode(tokens):
            self.batch.n_tokens = tokens
            if self.lib.llama_decode(self.pointer, self.batch) != 0:
                _fail("decode failed")

        tokens = []
        for sequence, prompt in enumerate(prompts):
            for i, token in enumerate(prompt):
                put(i, token, i, sequence, int(i == len(prompt) - 1))
            decode(len(prompt))
            tokens.append(drawn(len(prompt) - 1))
        start = time.perf_counter()
        for step in range(count):
            for sequence, prompt in enumerate(prompts):
                put(sequence, tokens[sequence], len(prompt) + step, sequence, 1)
            decode(len(prompts))
            tokens = [drawn(sequence) for sequence in range(len(prompts))]
        return time.perf_counter() - start


def log_softmax(logits):
    """In float64, row by row."""
    x = logits.astype(np.float64)
    x -= x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
