"""Errors that are the user's to solve, told in one sentence."""


class PrismError(ValueError):
    """A mistake in the input, the options or a file, told in one sentence that says what to do.

    The command line prints the sentence without a traceback and ends with exit code 2.
    """


class MissingExtra(PrismError):
    """A feature needs a package that the core installation does not bring."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional package: pip install 'prism-mt[{extra}]'")

    def __reduce__(self) -> tuple[type[PrismError], tuple[str]]:
        # A worker process sends its errors to its parent, which must be able to build them again.
        return PrismError, (str(self),)
