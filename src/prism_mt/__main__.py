"""`python -m prism_mt` is the `prism` command."""

from prism_mt.cli.main import entry

if __name__ == "__main__":
    entry()
