import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import their makers of models

# Read by libraries when they are loaded, here and in processes that tests start. Several workers, or other programs,
# share the cores: threads that spin while they wait would take them from each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell without job control starts what runs in its background with Ctrl-C switched off, nohup does so with SIGHUP;
# processes inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Converted models go to a folder of the test run, never to the user's cache."""
    os.environ["PRISM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
