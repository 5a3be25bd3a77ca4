"""What a generalisation can be best by, in words: configurations name them, and wait for no kernels."""

from enum import StrEnum


class By(StrEnum):
    """The measures that a generalisation can be chosen by; `remedies.generalisation.utilities` defines them."""

    LOSS = "loss"
    PRECISION = "precision"
    STEPS = "steps"
    DISCERNIBILITY = "discernibility"
    CLASS_SIZE = "class-size"
    ENTROPY = "entropy"
    KL = "kl"
