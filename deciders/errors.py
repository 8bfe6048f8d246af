"""The root of every error that the three packages raise on purpose."""


class PqdError(Exception):
    """Any refusal by pqd: the message says what was found, what is allowed and what to do next.

    ``exit_code`` is the process exit code of the command line.
    """

    exit_code = 2


class ParameterError(PqdError, ValueError):
    """Public parameter (tolerance, budget, bound, decider field) is outside its allowed range."""


class UnanswerableError(ParameterError):
    """Query that public data give nothing to hold against, or no decider that fits.

    It is refused alone: the other queries of a run are answered.
    """


class DeciderError(PqdError, ValueError):
    """Decider was asked for something that it cannot decide (aggregate, negative lattice)."""
