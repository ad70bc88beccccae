"""Import what long commands import, once, so that a process forked from here starts at once."""

import contextlib
import importlib
import pkgutil

import prism_mt

for module in pkgutil.walk_packages(prism_mt.__path__, "prism_mt."):
    if not module.name.startswith(("prism_mt.serve", "prism_mt.__main__")):
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(module.name)
for name in ("ctranslate2", "sentencepiece", "torch", "sacrebleu", "scipy.stats"):
    importlib.import_module(name)
