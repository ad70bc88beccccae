"""Import what long commands import, once, so that a process forked from here starts at once."""

import contextlib
import gc
import importlib
import pkgutil

import prism_mt

_LATER = (  # imported by others when they are used first
    "ctranslate2",
    "sentencepiece",
    "torch._dynamo",
    "sacrebleu",
    "scipy.stats",
)

for module in pkgutil.walk_packages(prism_mt.__path__, "prism_mt."):
    if not module.name.startswith(("prism_mt.serve", "prism_mt.__main__")):
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(module.name)
for name in _LATER:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
gc.freeze()  # or every process would look through all of it, and copy it by doing so
