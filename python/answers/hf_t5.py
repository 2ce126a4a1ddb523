"""T5 and its relatives in NumPy: the rows of the encoder, and what the decoder makes of them."""

import math

import numpy as np

from .hf_math import gelu, softmax

_FARTHEST = 128


def _bucket(distance, count, both_ways):
    """Of a key's position less the query's; rounded to f32 as the published models do."""
    first = np.zeros_like(distance)
    if both_ways:
        count //= 2
        first, distance = np.where(distance > 0, count, 0), np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = count // 2
    share = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(exact)) / np.float32(math.log(_FARTHEST / exact))
    far = np.minimum(exact + (share * np.float32(count - exact)).astype(np.int64), count - 1)
    return first + np.where(distance < exact, distance, far)


class _Stack:
    """Layers of the encoder, or of the decoder over what the encoder read."""

    def __init__(self, kind, config, weights, read=None):
        self.kind, self.config, self.weights, self.read = kind, config, weights, read
        self.heads, self.eps = config["num_heads"], config["layer_norm_epsilon"]

    def norm(self, name, x):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.weights[name + ".weight"]

    def linear(self, name, x):
        return x @ self.weights[name + ".weight"].T

    def attend(self, at, x, source, bias, seen):
        q, k, v = (
            self.linear(at + part, y).reshape(len(y), self.heads, -1).transpose(1, 0, 2)
            for part, y in (("q", x), ("k", source), ("v", source))
        )
        scores = q @ k.transpose(0, 2, 1) + (0 if bias is None else bias)
        out = softmax(scores if seen is None else np.where(seen, scores, -np.inf)) @ v
        return self.linear(at + "o", out.transpose(1, 0, 2).reshape(len(x), -1))

    def bias(self, layer, length):
        name = "{}.block.{}.layer.0.SelfAttention.relative_attention_bias.weight".format
        table = self.weights[name(self.kind, layer) if name(self.kind, layer) in self.weights else name(self.kind, 0)]
        i = np.arange(length)
        buckets = _bucket(i[None, :] - i[:, None], self.config["relative_attention_num_buckets"], self.read is None)
        return table[buckets].transpose(2, 0, 1)

    def feed(self, at, x):
        if at + "wi.weight" in self.weights:
            return self.linear(at + "wo", np.maximum(self.linear(at + "wi", x), 0))
        return self.linear(at + "wo", gelu(self.linear(at + "wi_0", x)) * self.linear(at + "wi_1", x))

    def rows(self, tokens):
        """After the last norm."""
        x = self.weights["shared.weight"][tokens]
        i = np.arange(len(tokens))
        seen = None if self.read is None else i[None, :] <= i[:, None]
        key = "num_layers" if self.read is None else "num_decoder_layers"
        for layer in range(self.config[key]):
            at, part = f"{self.kind}.block.{layer}.layer.", 0
            y = self.norm(f"{at}0.layer_norm", x)
            x = x + self.attend(f"{at}0.SelfAttention.", y, y, self.bias(layer, len(tokens)), seen)
            if self.read is not None:
                part = 1
                x = x + self.attend(f"{at}1.EncDecAttention.", self.norm(f"{at}1.layer_norm", x), self.read, None, None)
            part += 1
            x = x + self.feed(f"{at}{part}.DenseReluDense.", self.norm(f"{at}{part}.layer_norm", x))
        return self.norm(f"{self.kind}.final_layer_norm", x)


def t5_rows(config, weights, tokens):
    """What the encoder makes of each token: [tokens, width]."""
    return _Stack("encoder", config, weights).rows(tokens)


def t5(config, weights, tokens, source):
    """Logits of the decoder, which has read `source`: [tokens, vocabulary]."""
    x = _Stack("decoder", config, weights, t5_rows(config, weights, source)).rows(tokens)
    if config.get("scale_decoder_outputs", config.get("tie_word_embeddings", True)):
        x = x * config["d_model"] ** -0.5
    return x @ weights["lm_head.weight" if "lm_head.weight" in weights else "shared.weight"].T
