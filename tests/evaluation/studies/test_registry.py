"""Every published table is a study, and every function that computes cells belongs to one."""

import pytest

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.studies import registry
from prism_mt.evaluation.studies.data import catalog
from prism_mt.evaluation.studies.published import PAPERS, read_paper
from prism_mt.evaluation.studies.registry import find_studies, studies


def test_every_table_is_a_study_and_every_runner_has_a_table() -> None:
    assert list(studies()) == [table.id for name in PAPERS for table in read_paper(name).tables]
    assert set(registry._RUNNERS) <= set(studies())
    assert sum(study.run is not None for study in studies().values()) == 47


def test_files_are_in_the_catalog() -> None:
    known = {file.name for file in catalog().files}
    used = {name for study in studies().values() for name in study.files}
    assert used == known


def test_names() -> None:
    assert [one.id for one in find_studies(["vamvas2023/table3", "vamvas2023/table3"])] == ["vamvas2023/table3"]
    assert len(find_studies(["wmt20"])) == 8
    assert find_studies(["all"]) == list(studies().values())
    with pytest.raises(PrismError, match=r"no study 'vamvas2023/tabel3'; did you mean 'vamvas2023/table3'\?"):
        find_studies(["vamvas2023/tabel3"])
    with pytest.raises(PrismError, match=r"no study 'x'; papers: thompson2020, .*, wmt20; `prism reproduce list`"):
        find_studies(["x"])


def test_states() -> None:
    known = studies()
    assert known["bawden2020/subset"].state == "from public scores and texts"
    assert known["vamvas2023/table4"].state == "from public scores and texts, more with a model"
    assert known["thompson2020/figure3"].state == "with a model (m39v1 for the published figures)"
    assert known["thompson2020/bias"].state.startswith(
        "needs what is not public: the second reference of newstest2017"
    )
