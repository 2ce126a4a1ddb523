"""Jinja2, which wrote the language that chat templates are written in."""

import functools
import json
from datetime import datetime

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


def render(template, values):
    """Renders a chat template as the Hugging Face tokenizers set it up (trim_blocks, lstrip_blocks, tojson)."""
    return _compiled(template).render(**values)


@functools.lru_cache(maxsize=8)
def _compiled(template):

    def raise_exception(message):
        raise ValueError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda pattern: datetime(2024, 7, 26).strftime(pattern)
    return environment.from_string(template)
