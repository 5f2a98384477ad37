"""The order of options that are steps of a scale: words for degrees, and ranges of numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from math import inf

# Each line is a scale from its lower to its upper end; a slash separates words of one step.
_LINES = """
never/not at all/none of the time/not once; almost never/hardly ever/practically never/
very rarely/very seldom/nearly never; rarely/seldom/a little of the time/not often;
less than once a year; once a year/yearly/annually/at least once a year; a few times a year/
several times a year/less than once a month; once a month/monthly/at least once a month;
a few times a month/several times a month/less than once a week; once a week/weekly/
at least once a week; occasionally/once in a while/now and then/from time to time; sometimes/
some of the time/about half the time/half the time; regularly/fairly often/quite often; often/
frequently/a good bit of the time; a few times a week/several times a week/most days; very often/
very frequently/usually/most of the time/mostly/most times; daily/once a day/every day;
several times a day/a few times a day; almost always/nearly always; always/all of the time/
all the time/constantly/every time

nie/niemals/gar nicht/überhaupt nicht; fast nie/so gut wie nie/sehr selten/kaum; selten;
jährlich/einmal im jahr/mindestens einmal im jahr; mehrmals im jahr; monatlich/einmal im monat/
mindestens einmal im monat; mehrmals im monat; wöchentlich/einmal pro woche/einmal in der woche/
mindestens einmal pro woche/mindestens einmal in der woche; gelegentlich/ab und zu/hin und wieder;
manchmal/teilweise; regelmäßig/eher oft/ziemlich oft; oft/häufig; mehrmals pro woche/
mehrmals in der woche; sehr oft/sehr häufig/meistens/meist; täglich/jeden tag;
mehrmals täglich/mehrmals am tag; fast immer; immer/ständig/jedes mal

terrible/awful/extremely bad/extremely poor; very bad/very poor; bad/poor; rather bad/rather poor/
below average; fair/so-so/ok/okay/acceptable/average/mediocre/neutral/neither good nor bad/mixed/
satisfactory/not bad; rather good/fairly good/above average/quite good; good; very good; great;
excellent/outstanding/perfect/extremely good/exceptional

ungenügend; mangelhaft/sehr schlecht; schlecht; eher schlecht; ausreichend;
mittelmäßig/mittel/geht so/teils teils/weder noch/neutral/durchschnittlich/befriedigend/
weder gut noch schlecht; eher gut/ziemlich gut; gut; sehr gut; ausgezeichnet/hervorragend/exzellent

xxxs; xxs; xs/extra small/tiny; very small; s/small/rather small; m/medium/medium-sized/mid-size/
middle-sized/average/normal; l/large/big/rather large; xl/extra large/very large/very big;
xxl/huge/enormous; xxxl

winzig; sehr klein; klein; eher klein; mittel/mittelgroß/normal; eher groß; groß; sehr groß; riesig

none/nothing/not at all/no/zero/not; very little/hardly/hardly any/hardly at all/barely/very few;
a little/little/slightly/a little bit/few/a small amount/a bit/minor; some/somewhat/a few/mild/
a little more; several; moderately/a moderate amount/moderate/partly; quite a bit/quite a lot/
considerably/quite/fairly/rather; a lot/much/many/severe/very/major; very much/a great deal/
very severe/very many; extremely/completely/extreme/all/totally/entirely

gar nicht/überhaupt nicht/nichts/keine/kein/nicht; kaum/sehr wenig/fast nichts/fast keine;
wenig/wenige/ein wenig/etwas/leicht/leichte/schwach/schwache/ein bisschen; einige/mittelmäßig/
teilweise/mäßig/mäßige/mittel/mittlere;
ziemlich/ziemlich viel; viel/viele/stark/starke/sehr; sehr viel/sehr stark/sehr starke/
sehr viele/schwer/schwere;
äußerst/vollkommen/völlig/extrem/alle

lowest/very low/extremely low; low; rather low/somewhat low/lower middle/below average;
medium/moderate/middle/average/intermediate/neither high nor low; rather high/somewhat high/
upper middle/above average; high; very high; highest/extremely high

sehr niedrig/sehr gering; niedrig/gering; eher niedrig/eher gering; mittel/mittelmäßig/
durchschnittlich; eher hoch; hoch; sehr hoch

no formal education/no education/no schooling/none/less than primary; primary/elementary/
primary school/elementary school/some primary; lower secondary/middle school/some high school/
some secondary/less than high school; secondary/high school/upper secondary/secondary school/
high school diploma/high school graduate; vocational/post-secondary/vocational training;
some college/associate degree/associate; tertiary/college/university/bachelor/bachelor's degree/
bachelors/bachelor degree/college degree/higher education/undergraduate/degree; graduate/
postgraduate/master/master's degree/masters/master degree; doctorate/phd/doctoral/doctoral degree

kein abschluss/ohne abschluss; hauptschule/hauptschulabschluss; realschule/mittlere reife/
realschulabschluss; fachhochschulreife; abitur/hochschulreife; lehre/ausbildung; bachelor;
master/diplom/hochschulabschluss/studium; promotion

beginner/novice/basic/elementary; lower intermediate; intermediate; upper intermediate; advanced;
proficient/fluent; expert/native

much worse/a lot worse/far worse; worse; somewhat worse/a little worse/slightly worse;
about the same/same/the same/unchanged/no change/no difference; somewhat better/a little better/
slightly better; better; much better/a lot better/far better

viel schlechter/deutlich schlechter; schlechter; etwas schlechter/eher schlechter; gleich/
unverändert/etwa gleich; etwas besser/eher besser; besser; viel besser/deutlich besser

much less/decreased a lot/strongly decreased; less/decreased/fewer; somewhat less/a little less/
decreased a little/slightly less; about the same/same/the same/unchanged/no change/stayed the same;
somewhat more/a little more/increased a little/slightly more; more/increased; much more/
increased a lot/strongly increased

too little/too few/too small/too short/too slow; about right/just right/right; too much/too many/
too large/too long/too fast

definitely not/certainly not/definitely no; no; probably not/rather no/rather not/probably no;
maybe/perhaps/possibly/might or might not/undecided/not sure/unsure/unsure yet; probably/
probably yes/rather yes; yes; definitely/certainly/definitely yes/for sure

auf keinen fall/bestimmt nicht/sicher nicht; nein; eher nein/wahrscheinlich nicht/eher nicht;
vielleicht/unentschieden/teils teils/weiß noch nicht; eher ja/wahrscheinlich; ja; auf jeden fall/
bestimmt/sicher/ganz sicher

not at all; several days/some days; more than half the days/over half the days; nearly every day/
almost every day; every day

überhaupt nicht; an einzelnen tagen; an mehr als der hälfte der tage; beinahe jeden tag/
fast jeden tag; jeden tag

untrue/not true/false; partly true/somewhat true/sometimes true; mostly true; true/very true;
certainly true

january/jan; february/feb; march/mar; april/apr; may; june/jun; july/jul; august/aug;
september/sep/sept; october/oct; november/nov; december/dec

januar/jan; februar/feb; märz/mär/mrz; april/apr; mai; juni/jun; juli/jul; august/aug;
september/sep; oktober/okt; november/nov; dezember/dez

monday/mon; tuesday/tue/tues; wednesday/wed; thursday/thu/thur/thurs; friday/fri; saturday/sat;
sunday/sun

montag/mo; dienstag/di; mittwoch/mi; donnerstag/do; freitag/fr; samstag/sa/sonnabend; sonntag/so

first; second; third; fourth; fifth; sixth; seventh; eighth; ninth; tenth
"""
_SCALES = tuple(
    {
        " ".join(word.split()): float(rank)
        for rank, step in enumerate(line.split(";"))
        for word in step.replace("\n", "").split("/")
    }
    for line in _LINES.strip().split("\n\n")
)
# Answers that are on no scale, in the order in which they follow it.
_BESIDE = (
    "depends", "it depends", "kommt darauf an", "other", "others", "sonstiges", "andere",
    "anderes", "different",
    "not sure", "unsure", "no opinion", "keine meinung", "can't say", "cannot say",
    "can't choose", "kann ich nicht sagen",
    "don't know", "do not know", "dont know", "dk", "don´t know", "weiß nicht", "weiss nicht",
    "weiß ich nicht",
    "not applicable", "does not apply", "n/a", "na", "trifft nicht auf mich zu",
    "nicht zutreffend", "entfällt",
    "prefer not to say", "prefer not to answer", "rather not say", "refused", "keine angabe",
    "k.a.", "no answer", "unknown", "unbekannt",
)  # fmt: skip
# Adverbs of degree, and what a pole without an adverb counts.
_DEGREES = (
    (
        5.0,
        "completely|totally|fully|absolutely|entirely|extremely|exceptionally|äußerst|"
        "völlig|vollkommen|voll und ganz|voll|absolut|ganz",
    ),
    (4.0, "strongly|very strongly|very|very much|highly|definitely|sehr|stark|a great deal"),
    (2.5, "mostly|largely|generally|überwiegend|meistens"),
    (2.0, "quite|fairly|rather|pretty|ziemlich"),
    (1.6, "moderately|mäßig"),
    (1.3, "somewhat|tend to|eher"),
    (0.5, "partly|teilweise|teils"),
    (1.0, "slightly|a little|a bit|etwas|ein wenig|leicht"),
    (-5.0, "not at all|überhaupt nicht|gar nicht|in no way"),
    (
        -1.5,
        "not very|not so|not too|not particularly|eher nicht|nicht sehr|nicht so|weniger|"
        "wenig|not really|nicht besonders|hardly|kaum",
    ),
    (-3.0, "not|nicht|do not|don't"),
)
_PLAIN = 3.0
_POLES = tuple(
    (re.compile(rf"\b({up})\b"), re.compile(rf"\b({down})\b"))
    for up, down in (
        ("agree|approve|support", "disagree|disapprove|oppose"),
        ("stimme .*?zu|zustimmen|zustimmung|stimme|trifft .*?zu|zutreffend|trifft",
        "lehne .*?ab|ablehnen|unzutreffend|ablehnung"),
        ("satisfied|content", "dissatisfied|unsatisfied|discontent"),
        ("zufrieden", "unzufrieden"),
        ("likely|probable", "unlikely|improbable"),
        ("wahrscheinlich", "unwahrscheinlich"),
        ("important|relevant|essential", "unimportant|irrelevant"),
        ("wichtig", "unwichtig"),
        ("happy|pleased", "unhappy|sad"),
        ("glücklich", "unglücklich"),
        ("comfortable", "uncomfortable"),
        ("easy", "difficult|hard"),
        ("leicht|einfach", "schwer|schwierig"),
        ("positive", "negative"),
        ("positiv", "negativ"),
        ("safe", "unsafe"),
        ("sicher", "unsicher"),
        ("confident|certain|sure", "unconfident|uncertain"),
        ("useful|helpful", "useless|unhelpful"),
        ("interested|interesting", "uninterested|uninteresting"),
        ("concerned|worried", "unconcerned"),
        ("familiar", "unfamiliar"),
        ("favorable|favourable", "unfavorable|unfavourable"),
        ("fair", "unfair"),
        ("clear", "unclear"),
        ("effective", "ineffective"),
        ("willing", "unwilling"),
        ("true", "untrue"),
        ("stressful|stressed|tired|painful|severe|active|strong|involved", "unstressed"),
        ("like", "dislike"),
        ("healthy", "unhealthy"),
        ("trust", "distrust"),
        ("belastet|gestresst|interessiert|gesund|aktiv|stark", "unbelastet|uninteressiert|"
            "ungesund|inaktiv|schwach"),
    )
)  # fmt: skip
_MIDDLE = re.compile(
    r"neutral|neither\b.*|undecided|indifferent|no opinion either way|mixed|weder.*noch|"
    r"teils[ ,/-]*teils|unentschieden|mittel"
    r"|partly|it depends|in the middle|so so|neither nor|unsure|teils"
)


def ordered(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return options from the lower to the upper end of their scale; None if it is not known.

    Answers beside the scale, such as "don't know", follow it.
    """
    words = {value: _plain(value) for value in values}
    beside = [value for value in values if words[value] in _BESIDE]
    steps = [value for value in values if value not in beside]
    beside.sort(key=lambda value: _BESIDE.index(words[value]))
    for ranks in (_by_words, _by_poles, _by_numbers, _by_repeats):
        for on_scale, off in ((list(values), []), (steps, beside)):
            places = ranks({value: words[value] for value in on_scale})
            if len(on_scale) > 1 and places and len(set(places.values())) == len(on_scale):
                return (*sorted(on_scale, key=places.__getitem__), *off)
    return None


Ranks = Mapping[str, tuple[float, ...]]


def _plain(value: str) -> str:
    text = unicodedata.normalize("NFKC", value).casefold().replace("ß", "ß")
    text = re.sub("[\u2018\u2019\u02bc`´]", "'", text)
    text = re.sub("[\u2010-\u2015\u2212]", "-", text)
    return " ".join(text.split()).strip(" .!*")


def _by_words(words: Mapping[str, str]) -> Ranks | None:
    """Rank answers by their places in one of the lists."""
    for scale in _SCALES:
        folded = {step.casefold(): rank for step, rank in scale.items()}
        ranks = {value: _rank(word, folded) for value, word in words.items()}
        if None not in ranks.values():
            return {value: (rank or 0.0,) for value, rank in ranks.items()}
    return None


def _rank(word: str, scale: Mapping[str, float]) -> float | None:
    """Return the place of a word, such as "never", "never (0%)" or "never or almost never"."""
    bare = re.sub(r"\s*\(.*?\)", "", word)
    bare = re.sub(r"^\w{1,2}[).:] +", "", bare)  # the number of an answer
    spellings = (word, bare, re.split(r" or | oder |/", bare)[0], bare.rpartition(" - ")[2])
    return next((scale[each] for each in spellings if each in scale), None)


def _by_poles(words: Mapping[str, str]) -> Ranks | None:
    """Rank answers such as "very satisfied" by their pole and degree."""
    for pole in _POLES:
        ranks = {value: _degree(word, *pole) for value, word in words.items()}
        poles = sum(rank not in (None, 0.0) for rank in ranks.values())
        if poles > 1 and None not in ranks.values():
            return {value: (rank or 0.0,) for value, rank in ranks.items()}
    return None


def _degree(text: str, up: re.Pattern[str], down: re.Pattern[str]) -> float | None:
    if _MIDDLE.fullmatch(text):
        return 0.0
    sign = -1.0 if down.search(text) else 1.0 if up.search(text) else None
    if sign is None:
        return None
    degrees = [
        (len(m[0]), n) for n, words in _DEGREES for m in re.finditer(rf"\b({words})\b", text)
    ]
    return sign * (max(degrees)[1] if degrees else _PLAIN)


_UNITS = {
    **{"second": 1 / 60, "sekunde": 1 / 60, "minute": 1, "min": 1, "hour": 60, "stunde": 60},
    **{"day": 1440, "tag": 1440, "week": 10080, "woche": 10080, "month": 43800, "monat": 43800},
    **{"year": 525600, "jahr": 525600, "k": 1e3, "thousand": 1e3, "tausend": 1e3, "m": 1e6},
    **{"million": 1e6, "mio": 1e6, "bn": 1e9, "billion": 1e9},
}
_BELOW = (
    "under|less than|below|fewer than|up to|at most|before|<|<=|≤|unter|weniger als|"
    "bis zu|bis|höchstens|vor|max|younger than|jünger als"
)
_ABOVE = (
    "over|above|more than|at least|from|after|>|>=|≥|über|mehr als|ab|mindestens|nach|min|"
    "older than|älter als"
)
_NUMBER = r"[-−]?\d{1,3}(?:[,.' ]\d{3})+(?![\d])(?:\.\d+)?|[-−]?\d+(?:[.,]\d+)?"
_RANGE = re.compile(
    rf"(?:(?P<below>{_BELOW})|(?P<above>{_ABOVE})|(?:age|aged|between|zwischen|von|ca\.?|"
    rf"about)?) ?[$€£¥]? ?"
    rf"(?P<first>{_NUMBER})(?P<percent> ?%)?(?P<rest>.*)"
)
_NOTHING = ("none", "no", "never", "nothing", "zero", "keine", "kein", "nie", "nichts", "0")
_EVERYTHING = ("always", "all", "every day", "daily", "immer", "alle", "täglich", "jeden tag")
_ENDS = dict.fromkeys(_NOTHING, -inf) | dict.fromkeys(_EVERYTHING, inf)


def _by_numbers(words: Mapping[str, str]) -> Ranks | None:
    """Rank ranges of numbers, and numbered answers such as "Grade 10", by their first numbers."""
    texts = dict(words)
    start = re.match(r"[^\W\d_]{2,}[ .#-]*(?=\d)", next(iter(texts.values()), ""))
    if start and all(re.match(re.escape(start[0]) + r"\d", text) for text in texts.values()):
        texts = {value: text[len(start[0]) :] for value, text in texts.items()}
    matches = {value: _RANGE.fullmatch(text) for value, text in texts.items()}
    ranks: dict[str, tuple[float, ...]] = {}
    for value, match in matches.items():
        if match is None and texts[value] not in _ENDS:
            return None
        ranks[value] = (_ENDS[texts[value]], 0) if match is None else _range_rank(match)
    numbered = sum(match is not None for match in matches.values())
    return ranks if numbered > 1 or (numbered and len(words) > 1) else None


def _by_repeats(words: Mapping[str, str]) -> Ranks | None:
    """Rank answers that repeat one sign, such as stars, by their number."""
    signs = {sign for word in words.values() for sign in word if sign not in _EMPTY}
    if len(signs) != 1 or (sign := signs.pop()).isalnum():
        return None
    return {value: (float(word.count(sign)),) for value, word in words.items()}


_EMPTY = frozenset("☆○ ")  # beside stars and dots that count
_MORE = re.compile(r"\+|(or|and|und|oder) (more|over|above|older|up|mehr|älter|higher)")
_LESS = re.compile(r"(or|and|und|oder) (less|under|below|younger|weniger)")


def _range_rank(match: re.Match[str]) -> tuple[float, ...]:
    rest = match["rest"].strip()
    below, above = match["below"] or _LESS.match(rest), match["above"] or _MORE.match(rest)
    units = {word.rstrip("sne") for word in re.findall(r"[^\W\d_]+", rest)}
    factor = next((n for unit, n in _UNITS.items() if unit.rstrip("sne") in units), 1)
    return (_amount(match["first"]) * factor, bool(above) - bool(below))


def _amount(text: str) -> float:
    plain = text.replace("−", "-")
    if re.fullmatch(r"-?\d{1,3}([,.' ]\d{3})+(\.\d+)?", plain):
        whole, point, part = (
            plain.rpartition(".") if re.search(r"\.\d{1,2}$", plain) else (plain, "", "")
        )
        return float(re.sub(r"[,.' ]", "", whole) + point + part)
    return float(plain.replace(",", "."))
