"""Random models as files: what `python -m sample.random_model` writes, without a new Python for each."""

from sample import random_model
from sample.toy import write_toy


def random(options):
    """Writes what these options of the command name."""
    random_model.write(options)


def toy(**options):
    """A file of given keys and tensors with random weights."""
    write_toy(**options)
