"""Jinja2, which wrote the language that chat templates are written in."""

import functools
import json
from datetime import datetime

from jinja2 import nodes
from jinja2.defaults import DEFAULT_FILTERS, DEFAULT_NAMESPACE, DEFAULT_TESTS
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    """The blocks that mark what a model writes: `{% generation %}`. They write what is in them."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_write"), [], [], body).set_lineno(line)

    def _write(self, caller):
        return caller()


def names():
    """What Jinja2 has built in, sorted."""
    lists = {"filters": DEFAULT_FILTERS, "tests": DEFAULT_TESTS, "globals": DEFAULT_NAMESPACE}
    return {kind: sorted(known) for kind, known in lists.items()}


def render(template, values):
    """Renders a chat template as the Hugging Face tokenizers set it up (trim_blocks, lstrip_blocks, tojson)."""
    return _compiled(template).render(**values)


@functools.lru_cache(maxsize=8)
def _compiled(template):

    def raise_exception(message):
        raise ValueError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda pattern: datetime(2024, 7, 26).strftime(pattern)
    return environment.from_string(template)
