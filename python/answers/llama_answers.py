"""llama.cpp: tokenizers, logits, greedy text and timings of a file."""

import ctypes
import os
import time

import numpy as np

import llama

_models = {}


def info(path, vocab_only=False):
    """Name, sizes, special tokens and chat template."""
    return _model(path, vocab_only).info()


def tokenize(path, texts, add_special=True, parse_special=True, vocab_only=True):
    """Token ids of many texts (strings or bytes)."""
    model = _model(path, vocab_only)
    return [np.asarray(model.tokenize(text, add_special, parse_special), dtype=np.int32) for text in texts]


def pieces(path, tokens, special=True, vocab_only=True):
    """The bytes of each token, as a list of lists of numbers would be large: one bytes value each."""
    model = _model(path, vocab_only)
    return [model.piece(int(token), special) for token in tokens]


def detokenize(path, tokens, remove_special=False, unparse_special=True, vocab_only=True):
    """The bytes of a whole sequence."""
    return _model(path, vocab_only).detokenize([int(t) for t in tokens], remove_special, unparse_special)


def endings(path):
    """The tokens after which generation stops."""
    model = _model(path, True)
    return [token for token in range(model.n_vocab) if model.lib.llama_vocab_is_eog(model.vocab, token)]


def suppressed(path):
    """The tokens that are never to be drawn."""
    model = _model(path, True)
    count = ctypes.c_int32()
    tokens = model.lib.llama_vocab_get_suppress_tokens(model.vocab, ctypes.byref(count))
    return list(tokens[: count.value])


def logits(path, tokens, options=None):
    """Raw logits [tokens, vocabulary] at every position. options: cache, flash, threads, repack, capacity, source.

    `source` are the tokens of a text that an encoder reads first.
    """
    chosen = dict(options or {})
    source = [int(t) for t in chosen.pop("source", [])]

    def run(ctx):
        if source:
            ctx.encode(source)
        return ctx.decode([int(t) for t in tokens])

    return _with_context(path, chosen, max(len(tokens), len(source)), run)


def logprobs(path, tokens, options=None):
    """Log-probabilities [tokens, vocabulary] at every position, in float64."""
    return llama.log_softmax(logits(path, tokens, options))


def embed(path, tokens, pooling, options=None):
    """Rows [tokens or 1, width] of one text, not normalised; rank gives the scores."""
    chosen = {**(options or {}), "pooling": pooling, "ubatch": max(512, len(tokens))}
    return _with_context(path, chosen, len(tokens), lambda ctx: ctx.embed([int(t) for t in tokens], pooling))


def generate(path, tokens, count, options=None, stop_at_end=True):
    """Greedy continuation as token ids."""
    prompt = [int(t) for t in tokens]
    run = lambda ctx: np.asarray(ctx.generate(prompt, count, stop_at_end), dtype=np.int32)
    return _with_context(path, options, len(prompt) + count, run)


def sample(kind, steps, path=None, values=None):
    """What a sampler leaves of each row of logits: `steps` are (tokens to accept first, logits).

    Ids, their probabilities after a softmax, and the index that was selected (-1 for none). A token that the sampler
    selects itself is not accepted: pass it with the next step where that matters.
    """
    model = None if path is None else _model(path, True)
    sampler = llama.make_sampler(kind, model, **(values or {}))
    answers = []
    try:
        for accepted, row in steps:
            sampler.accept(accepted)
            ids, logits, selected = sampler.apply(row)
            answers.append([ids, np.exp(llama.log_softmax(logits[None, :]))[0], selected])
    finally:
        sampler.close()
    return answers


def grammar_masks(path, text, prefixes, root="root"):
    """For each list of tokens: which tokens the grammar lets come next, as bytes of 0 and 1; None where the text is refused."""
    model = _model(path, True)
    masks = []
    for prefix in prefixes:
        try:
            sampler = llama.make_sampler("grammar", model, text=text, root=root)
        except llama.LlamaError:
            return None
        try:
            sampler.accept(prefix)
            _, logits, _ = sampler.apply(np.zeros(model.n_vocab))
            masks.append((logits > -np.inf).astype(np.uint8).tobytes())
        finally:
            sampler.close()
    return masks


def bench(path, prompt=512, generate=64, repeats=3, options=None):
    """Seconds per run of prompt processing and of generation, after one warm-up each (f16 cache, flash attention)."""
    chosen = {"cache": "f16", "flash": True, **(options or {})}

    def run(ctx):
        n = ctx.model.n_vocab
        tokens = [(7 * i * i + 13 * i + 5) % n for i in range(max(prompt, 1))]
        result = {"promptSeconds": [], "generateSeconds": []}
        if prompt:
            ctx.time_prompt(tokens)
            result["promptSeconds"] = [ctx.time_prompt(tokens) for _ in range(repeats)]
        if generate:
            ctx.time_generation(tokens[:1], 4)
            result["generateSeconds"] = [ctx.time_generation(tokens[:1], generate) for _ in range(repeats)]
        return result

    return _with_context(path, chosen, prompt + generate + 8, run)


def sequences(path, prompts, generate=64, options=None):
    """Seconds for as many steps of all sequences together, after a warm-up (f16 cache, flash attention)."""
    chosen = {"cache": "f16", "flash": True, "sequences": len(prompts), **(options or {})}
    most = max(len(prompt) for prompt in prompts) + generate + 8

    def run(ctx):
        ctx.time_sequences(prompts, 2)
        return {"seconds": ctx.time_sequences(prompts, generate)}

    # A sequence has at least 256 positions there.
    return _with_context(path, chosen, len(prompts) * max(most, 256), run)


def first_token(path, tokens, options=None):
    """Seconds of loading (a fresh model, not the kept one) and from there to the first token."""
    start = time.perf_counter()
    model = llama.Model(path, repack=(options or {}).get("repack", True))
    loaded = time.perf_counter()
    try:
        ctx = llama.Context(model, len(tokens) + 8, (options or {}).get("threads", 2), "f16", True)
        try:
            token = ctx.generate([int(t) for t in tokens], 1)[0]
        finally:
            ctx.close()
    finally:
        model.close()
    return {"loadSeconds": loaded - start, "tokenSeconds": time.perf_counter() - loaded, "token": token}


def forget(path=None):
    """Frees one model or all of them (models are kept between questions)."""
    for key in [key for key in _models if path is None or key[0] == path]:
        _models.pop(key).close()
    return None


def _model(path, vocab_only=False, repack=True):
    stat = os.stat(path)
    key = (path, vocab_only, repack, stat.st_mtime_ns, stat.st_size)
    if key not in _models:
        if len(_models) >= 3:
            _models.pop(next(iter(_models))).close()
        _models[key] = llama.Model(path, vocab_only, repack)
    return _models[key]


def _with_context(path, options, length, run):
    chosen = dict(options or {})
    model = _model(path, False, chosen.pop("repack", True))
    ctx = llama.Context(model, chosen.pop("capacity", None) or (length + 63) // 64 * 64, **chosen)
    try:
        return run(ctx)
    finally:
        ctx.close()
