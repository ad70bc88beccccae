"""Choice of the reference if judgments come with several."""

import re

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.protocols import Protocol


def choose_reference(judgments: Judgments, name: str | None = None, protocol: Protocol | None = None) -> str:
    """Return the reference of that name, or the standard one according to the data or the protocol, or the only one.

    A protocol knows the standard references of its own test sets, which it recognizes by a name in the data. File names
    decide nothing.
    """
    if judgments.texts is None:
        raise PrismError(f"{judgments.place} has no texts, and so no references: name a file that has them")
    known = list(judgments.texts.references)
    if name is not None:
        if name not in known:
            raise PrismError(f"{judgments.place} has no reference {name!r}; it has {', '.join(known) or 'none'}")
        return name
    official = protocol.standard_reference(judgments.testset, judgments.pair) if protocol else None
    for standard in (judgments.standard_reference, official):
        found = [one for one in known if standard is not None and _plain(one) == _plain(standard)]
        if found:
            return found[0]
    if len(known) == 1:
        return known[0]
    if not known:
        raise PrismError(f"{judgments.place} has no references")
    raise PrismError(
        f"{judgments.place} has several references ({', '.join(known)}) and does not say which is the standard one: "
        "choose one with `reference=`"
    )


def _plain(name: str) -> str:
    """Names without what differs between releases: ref-C, refC and refc."""
    return re.sub(r"[-_.]", "", name).lower()
