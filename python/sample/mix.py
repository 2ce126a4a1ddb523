"""Which tensor gets which type: the plain files and the K mixes that llama.cpp's quantiser makes.

The mixes give more bits to the output matrix (or to the embedding when it serves as output) and to the value
and down projections of the first eighth, the last eighth and every third layer between.
"""

from __future__ import annotations

from gguf import GGMLQuantizationType as Ggml
from gguf import LlamaFileType

from .shapes import ModelShape, TensorSpec

# Name on the command line: the main type and general.file_type.
FILE_TYPES: dict[str, tuple[Ggml, LlamaFileType]] = {
    "f32": (Ggml.F32, LlamaFileType.ALL_F32),
    "f16": (Ggml.F16, LlamaFileType.MOSTLY_F16),
    "bf16": (Ggml.BF16, LlamaFileType.MOSTLY_BF16),
    "q8_0": (Ggml.Q8_0, LlamaFileType.MOSTLY_Q8_0),
    "q4_0": (Ggml.Q4_0, LlamaFileType.MOSTLY_Q4_0),
    "q4_1": (Ggml.Q4_1, LlamaFileType.MOSTLY_Q4_1),
    "q5_0": (Ggml.Q5_0, LlamaFileType.MOSTLY_Q5_0),
    "q5_1": (Ggml.Q5_1, LlamaFileType.MOSTLY_Q5_1),
    "q4_k": (Ggml.Q4_K, LlamaFileType.MOSTLY_Q4_K_S),
    "q5_k": (Ggml.Q5_K, LlamaFileType.MOSTLY_Q5_K_S),
    "q6_k": (Ggml.Q6_K, LlamaFileType.MOSTLY_Q6_K),
    "q4_k_m": (Ggml.Q4_K, LlamaFileType.MOSTLY_Q4_K_M),
    "q5_k_m": (Ggml.Q5_K, LlamaFileType.MOSTLY_Q5_K_M),
}

_FALLBACK = {Ggml.Q4_K: Ggml.Q5_0, Ggml.Q5_K: Ggml.Q5_1, Ggml.Q6_K: Ggml.Q8_0}


def use_more_bits(layer: int, layers: int) -> bool:
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2


def _wanted(file_type: str, shape: ModelShape, tensor: TensorSpec) -> Ggml:
    main = FILE_TYPES[file_type][0]
    if not file_type.endswith("_m"):
        return main
    output = "token_embd.weight" if shape.tied else "output.weight"
    if tensor.name == output:
        return Ggml.Q6_K
    if tensor.name.endswith((".attn_v.weight", ".ffn_down.weight")):
        layer = int(tensor.name.split(".")[1])
        return Ggml.Q6_K if use_more_bits(layer, shape.layers) else main
    return main


def fit(wanted: Ggml, columns: int) -> Ggml:
    """The type that rows of this length can have: K blocks hold 256 values, the older blocks 32."""
    if wanted in _FALLBACK and columns % 256 != 0:
        wanted = _FALLBACK[wanted]
    if wanted not in (Ggml.F32, Ggml.F16, Ggml.BF16) and columns % 32 != 0:
        return Ggml.F16
    return wanted


def tensor_type(file_type: str, shape: ModelShape, tensor: TensorSpec) -> Ggml:
    """The type of one tensor in a file of this kind; vectors (norms, biases, rope factors) stay f32."""
    if len(tensor.shape) == 1:
        return Ggml.F32
    return fit(_wanted(file_type, shape, tensor), tensor.shape[1])
