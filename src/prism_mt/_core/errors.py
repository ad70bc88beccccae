"""Errors that the user can fix, explained in one sentence."""


class PrismError(ValueError):
    """A mistake in the input, the options or a file, explained in one sentence that says what to do.

    The command line prints the sentence without a traceback and exits with code 2.
    """


class MissingExtra(PrismError):
    """A feature needs a package that the core installation does not include."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional package: pip install 'prism-mt[{extra}]'")

    def __reduce__(self) -> tuple[type[PrismError], tuple[str]]:
        # A worker process pickles its errors to send them to its parent.
        return PrismError, (str(self),)
