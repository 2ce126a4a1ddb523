"""Random models as files: what `python -m sample.random_model` writes, without a new Python for each."""

from sample import random_model


def random(options):
    """Writes what these options of the command name."""
    random_model.write(options)
