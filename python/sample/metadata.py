"""The metadata of a model: general, architecture and rope keys."""

from __future__ import annotations

from gguf import GGUFWriter, LlamaFileType, RopeScalingType

from .shapes import ModelShape, tensors


def _size_label(shape: ModelShape) -> str:
    count = sum(tensor.elements for tensor in tensors(shape))
    return f"{count / 1e9:.1f}B" if count >= 1e9 else f"{count / 1e6:.1f}M"


def add_metadata(writer: GGUFWriter, shape: ModelShape, file_type: LlamaFileType) -> None:
    """Everything except the tokenizer."""
    writer.add_type("model")
    writer.add_name(shape.name)
    writer.add_size_label(_size_label(shape))
    writer.add_file_type(file_type)
    writer.add_quantization_version(2)
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_vocab_size(shape.vocab)
    writer.add_rope_dimension_count(shape.head_dim if shape.rope_dims is None else shape.rope_dims)
    writer.add_rope_freq_base(shape.rope_base)
    # Factors in the llama3 form travel as the tensor rope_freqs.weight, not as metadata.
    if shape.rope_scaling == "linear":
        writer.add_rope_scaling_type(RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(shape.rope_factor)
    elif shape.rope_scaling == "old-linear":
        # The one key that converters wrote before there were types of scaling.
        writer.add_float32(f"{shape.family}.rope.scale_linear", shape.rope_factor)
    elif shape.rope_scaling == "yarn":
        writer.add_rope_scaling_type(RopeScalingType.YARN)
        writer.add_rope_scaling_factor(shape.rope_factor)
        writer.add_rope_scaling_orig_ctx_len(shape.rope_original_context)
    if shape.rope_attention_factor is not None:
        writer.add_rope_scaling_attn_factors(shape.rope_attention_factor)
