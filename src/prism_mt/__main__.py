"""`prism` and `python -m prism_mt`."""

import signal


def entry() -> None:
    """Run the command; Ctrl-C while it is still being imported ends it without a traceback."""
    listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not so in the background of a shell
    if listens:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from prism_mt.cli.main import entry as run

    if listens:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    entry()
