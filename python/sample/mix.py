"""Which tensor gets which type: the plain files and the K mixes that llama.cpp's quantiser makes.

The mixes give more bits to the output matrix (or to the embedding when it serves as output) and to the value
and down projections of the first eighth, the last eighth and every third layer between.
"""

from __future__ import annotations

from gguf import GGML_QUANT_SIZES
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
    "q2_k": (Ggml.Q2_K, LlamaFileType.MOSTLY_Q2_K),
    "q3_k": (Ggml.Q3_K, LlamaFileType.MOSTLY_Q3_K_S),
    "iq1_s": (Ggml.IQ1_S, LlamaFileType.MOSTLY_IQ1_S),
    "iq1_m": (Ggml.IQ1_M, LlamaFileType.MOSTLY_IQ1_M),
    "iq2_xxs": (Ggml.IQ2_XXS, LlamaFileType.MOSTLY_IQ2_XXS),
    "iq2_xs": (Ggml.IQ2_XS, LlamaFileType.MOSTLY_IQ2_XS),
    "iq2_s": (Ggml.IQ2_S, LlamaFileType.MOSTLY_IQ2_S),
    "iq3_xxs": (Ggml.IQ3_XXS, LlamaFileType.MOSTLY_IQ3_XXS),
    "iq3_s": (Ggml.IQ3_S, LlamaFileType.MOSTLY_IQ3_S),
    "iq4_nl": (Ggml.IQ4_NL, LlamaFileType.MOSTLY_IQ4_NL),
    "iq4_xs": (Ggml.IQ4_XS, LlamaFileType.MOSTLY_IQ4_XS),
    "tq1_0": (Ggml.TQ1_0, LlamaFileType.MOSTLY_TQ1_0),
    "tq2_0": (Ggml.TQ2_0, LlamaFileType.MOSTLY_TQ2_0),
    "mxfp4": (Ggml.MXFP4, LlamaFileType.MOSTLY_MXFP4_MOE),
    "nvfp4": (Ggml.NVFP4, LlamaFileType.MOSTLY_NVFP4),
    "q1_0": (Ggml.Q1_0, LlamaFileType.MOSTLY_Q1_0),
}

# Types whose rows are whole blocks of more than 32 values, and what shorter rows get instead.
_FALLBACK = {
    Ggml.Q4_K: Ggml.Q5_0,
    Ggml.Q5_K: Ggml.Q5_1,
    Ggml.Q6_K: Ggml.Q8_0,
    Ggml.TQ1_0: Ggml.Q4_0,
    Ggml.TQ2_0: Ggml.Q4_0,
}
for _kind in ("Q2_K", "Q3_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS"):
    _FALLBACK[Ggml[_kind]] = Ggml.IQ4_NL
for _kind in ("NVFP4", "Q1_0"):
    _FALLBACK[Ggml[_kind]] = Ggml.Q4_0


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
    """The type that rows of this length can have: most blocks hold 256 values, the older ones 32."""
    if wanted in _FALLBACK and columns % GGML_QUANT_SIZES[wanted][0] != 0:
        wanted = _FALLBACK[wanted]
    if wanted not in (Ggml.F32, Ggml.F16, Ggml.BF16) and columns % 32 != 0:
        return Ggml.F16
    return wanted


def tensor_type(file_type: str, shape: ModelShape, tensor: TensorSpec) -> Ggml:
    """The type of one tensor in a file of this kind; vectors (norms, biases, rope factors) stay f32."""
    if len(tensor.shape) == 1:
        return Ggml.F32
    return fit(_wanted(file_type, shape, tensor), tensor.shape[1])
