"""Recognise what values are, in English and Japanese: e-mail addresses, card numbers, names, dates of birth.

Patterns first, with the checksum where there is one (Luhn, ISO 13616 for IBAN, the check digit of My Number), then
short dictionaries. A value is looked at and forgotten: what leaves here is the share of rows that are of a kind.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from ipaddress import ip_address
from typing import Final

from checks import ColumnClass

_DIRECT, _QUASI, _SENSITIVE = ColumnClass.DIRECT_IDENTIFIER, ColumnClass.QUASI_IDENTIFIER, ColumnClass.SENSITIVE


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _any_of(text: str) -> str:
    return "|".join(text.split())


GIVEN_NAMES: Final = _words(
    """
    james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony mark
    donald steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey ryan jacob gary
    nicholas eric jonathan stephen larry justin scott brandon benjamin samuel gregory frank alexander raymond
    patrick jack dennis jerry tyler aaron jose adam nathan henry peter zachary kyle noah ethan oliver harry liam
    emma olivia ava mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy betty
    margaret sandra ashley kimberly emily donna michelle carol amanda melissa deborah stephanie rebecca sharon laura
    cynthia kathleen amy angela shirley anna brenda pamela nicole helen samantha katherine christine debra rachel
    carolyn janet catherine maria heather diane ruth julie joyce victoria kelly christina lauren joan evelyn judith
    megan andrea cheryl hannah jacqueline martha gloria teresa ann sara madison frances kathryn janice jean alice
    julia sophia grace ben bob tom sue kate anne mia chloe lucy hiroshi takashi kenji kenta yuki yuko keiko naoko
    haruka sakura taro hanako akira makoto yoko ichiro jiro satoshi daisuke
    """
)
SURNAMES: Final = _words(
    """
    smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez lopez gonzalez wilson
    anderson thomas taylor moore jackson martin lee perez thompson white harris sanchez clark ramirez lewis robinson
    walker young allen king wright scott torres nguyen hill flores green adams nelson baker hall rivera campbell
    mitchell carter roberts gomez phillips evans turner diaz parker cruz edwards collins reyes stewart morris
    morales murphy cook rogers gutierrez ortiz morgan cooper peterson bailey reed kelly howard ramos kim cox ward
    richardson watson brooks chavez wood james bennett gray mendoza ruiz hughes price alvarez castillo sanders patel
    myers long ross foster jimenez o'brien macdonald clarke khan ali singh kaur sato suzuki takahashi tanaka
    watanabe ito yamamoto nakamura kobayashi kato yoshida yamada sasaki yamaguchi matsumoto inoue kimura hayashi
    shimizu saito mori abe ikeda hashimoto ishikawa ogawa okada goto hasegawa murakami kondo ishii sakamoto endo
    aoki fujii nishimura fukuda ota miura fujiwara
    """
)
_SURNAMES_JA: Final = _any_of(
    """
    佐々木 長谷川 佐藤 鈴木 高橋 田中 渡辺 渡邊 渡部 伊藤 伊東 山本 中村 小林 加藤 吉田 山田 山口 松本 井上 木村
    斎藤 斉藤 齋藤 清水 山崎 阿部 池田 橋本 山下 石川 中島 前田 藤田 小川 後藤 岡田 村上 近藤 石井 坂本 遠藤 青木
    藤井 西村 福田 太田 三浦 岡本 松田 中川 中野 原田 小野 田村 竹内 金子 和田 中山 石田 上田 森田 小島 柴田 宮崎
    酒井 工藤 横山 宮本 内田 高木 安藤 島田 谷口 大野 丸山 今井 高田 藤本 武田 村田 上野 杉山 増田 菅原 平野 大塚
    千葉 久保 松井 岩崎 桜井 野口 木下 松尾 菊地 野村 新井 佐野 林 森 原
    """
)
_SURNAMES_KANA: Final = _any_of(
    """
    タカハシ ワタナベ ヤマモト ナカムラ コバヤシ ヤマグチ マツモト イノウエ サイトウ ヤマザキ ハシモト イシカワ
    ハセガワ ムラカミ コンドウ サカモト エンドウ サトウ スズキ タナカ イトウ カトウ ヨシダ ヤマダ ササキ キムラ
    ハヤシ シミズ イケダ オガワ オカダ ゴトウ イシイ アオキ モリ アベ
    """
)
_PREFECTURES: Final = _any_of(
    """
    北海道 神奈川 和歌山 鹿児島 青森 岩手 宮城 秋田 山形 福島 茨城 栃木 群馬 埼玉 千葉 東京 新潟 富山 石川 福井 山梨
    長野 岐阜 静岡 愛知 三重 滋賀 京都 大阪 兵庫 奈良 鳥取 島根 岡山 広島 山口 徳島 香川 愛媛 高知 福岡 佐賀 長崎
    熊本 大分 宮崎 沖縄
    """
)
_STATES: Final = _words(
    """
    AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR
    PA RI SC SD TN TX UT VT VA WA WV WI WY
    """
)
_SEXES: Final = _words(
    """
    m f male female man woman men women boy girl 男 女 男性 女性 男子 女子 おとこ おんな
    """
)
_NO_SEX: Final = _words(
    """
    x u o other unknown diverse nonbinary non-binary その他 不明 無回答
    """
)
_ILLNESSES_EN: Final = _any_of(
    """
    hiv aids diabetes cancer carcinoma tumou?r asthma hypertension depress(?:ion|ive) hepatitis influenza flu
    pneumonia bronchitis arthritis epilepsy migraine schizophrenia dementia alzheimer'?s? stroke leuka?emia
    tuberculosis anxiety angina ana?emia gastritis covid(?:-19)? pregnan(?:t|cy) obesity syphilis infarction
    sclerosis
    """
)
_ILLNESSES_JA: Final = _any_of(
    """
    糖尿病 高血圧 癌 がん 腫瘍 喘息 うつ病 肝炎 インフルエンザ 肺炎 気管支炎 関節炎 てんかん 統合失調症 認知症
    脳梗塞 白血病 結核 狭心症 貧血 胃炎 妊娠 肥満 梅毒 心筋梗塞
    """
)
_ILLNESSES: Final = re.compile(rf"\b(?:{_ILLNESSES_EN})\b|{_ILLNESSES_JA}", re.IGNORECASE)

_EMAIL: Final = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:[\w-]{1,63}\.)+[A-Za-z]{2,24}")
_PHONE: Final = re.compile(
    r"\+\d[\d ()./-]{6,18}\d|(?:0\d{1,4}[-( ]|\(0\d{1,4}\) ?)\d{1,4}[-) ]\d{3,4}|0[5789]0\d{8}|"
    r"\(?[2-9]\d{2}\)?[-. ] ?\d{3}[-. ]\d{4}"
)
_CARD: Final = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|"
    r"3(?:0[0-5]|[68]\d)\d{11}|35\d{14}|6(?:011|5\d\d|4[4-9]\d)\d{12}"
)
_IBAN: Final = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_SSN: Final = re.compile(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")
_MAC: Final = re.compile(r"[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}", re.IGNORECASE)
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_URL: Final = re.compile(r"https?://[\w.-]+\.[A-Za-z]{2,24}(?:[:/?#]\S*)?", re.IGNORECASE)
_POINT: Final = re.compile(
    r"\(?(-?\d{1,2}\.\d{3,}), ?(-?\d{1,3}\.\d{3,})\)?|POINT ?\((-?\d{1,3}\.\d+) (-?\d{1,2}\.\d+)\)"
)
_POSTCODE: Final = re.compile(r"〒?\d{3}-\d{4}|\d{5}-\d{4}|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}")
_STREET: Final = re.compile(
    r"\d{1,5}[A-Za-z]? [\w.' -]+ "
    r"(?:street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|way|court|ct|place)\b.*|"
    rf"(?:{_PREFECTURES})?[都道府県]?[^\d\s]{{1,12}}[市区町村郡][^\d\s]{{0,12}}\d.*",
    re.IGNORECASE,
)
_ICD: Final = re.compile(r"[A-TV-Z]\d{2}\.\d{1,4}")
_MIDNIGHT: Final = r"(?:[ T]00:00(?::00(?:\.0+)?)?(?:Z|\+00:?00)?)?"
_DAY: Final = re.compile(rf"(\d{{4}})(?:[-/.年](\d{{1,2}})[-/.月](\d{{1,2}})日?|(\d\d)(\d\d)){_MIDNIGHT}")
_DAY_FIRST: Final = re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})")
_ERA_DAY: Final = re.compile(r"(明治|大正|昭和|平成|令和)(\d{1,2}|元)年(\d{1,2})月(\d{1,2})日")
_ERAS: Final = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
_LATIN_NAME: Final = re.compile(r"(?:[A-Z][\w'\u2019.-]*,? ?){1,4}")
_NAME_JA: Final = re.compile(rf"(?:{_SURNAMES_JA}) ?[㐀-鿿々ぁ-ヿ]{{0,4}}|(?:{_SURNAMES_KANA}) ?[ァ-ヿ]{{0,6}}")
_PLACE_JA: Final = re.compile(rf"(?:{_PREFECTURES})|.*[都道府県市区町村駅店]")
_NAME_WITHIN: Final = re.compile(
    r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? +[A-Z][a-z]+|"
    rf"(?:{_SURNAMES_JA}) ?[㐀-鿿々ぁ-ヿ]{{0,3}}?(?:さん|様|氏|先生|君|ちゃん)"
)
_TWO_WORDS: Final = re.compile(r"\b([A-Z][a-z]+) (?=([A-Z][a-z]+)\b)")
_LONGEST_NAME: Final = 60
_LONG_WORDS, _LONG_LETTERS = 5, 25
"""Words (letters, where a text has no spaces) from which on a text is free text."""


def _digits(text: str) -> str:
    return re.sub(r"[ -]", "", text)


def _is_card(text: str) -> bool:
    number = _digits(text)
    if not _CARD.fullmatch(number):
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number))]
    return sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    number = _digits(text)
    if not _IBAN.fullmatch(number):
        return False
    return int("".join(str(int(letter, 36)) for letter in number[4:] + number[:4])) % 97 == 1


def _is_my_number(text: str) -> bool:
    """Check the last of twelve digits (Ordinance 85 of 2014 of the Ministry of Internal Affairs, article 5)."""
    number = _digits(text)
    if not re.fullmatch(r"\d{12}", number):
        return False
    rest = sum(int(digit) * (n + 1 if n <= 6 else n - 5) for n, digit in enumerate(reversed(number[:11]), 1)) % 11
    return int(number[11]) == (0 if rest <= 1 else 11 - rest)


def _is_phone(text: str) -> bool:
    count, is_local = sum(letter.isdigit() for letter in text), text.startswith(("0", "(0"))
    return _PHONE.fullmatch(text) is not None and (10 <= count <= 11 if is_local else 8 <= count <= 15)


def _is_ip(text: str) -> bool:
    try:
        return ip_address(text).version > 0 and set(text) & {".", ":"} != set()
    except ValueError:
        return False


def _is_point(text: str) -> bool:
    match = _POINT.fullmatch(text)
    if match is None:
        return False
    latitude, longitude = (match[1], match[2]) if match[1] is not None else (match[4], match[3])
    return abs(float(latitude)) <= 90 and abs(float(longitude)) <= 180


def _is_name(text: str) -> bool:
    if len(text) > _LONGEST_NAME:
        return False
    if _NAME_JA.fullmatch(text):
        return not _PLACE_JA.fullmatch(text)
    words = [word.strip(",.").lower() for word in text.split()]
    return _LATIN_NAME.fullmatch(text) is not None and any(word in GIVEN_NAMES or word in SURNAMES for word in words)


def _is_free_text(text: str) -> bool:
    return len(text.split()) >= _LONG_WORDS or (
        len(text) >= _LONG_LETTERS and not text.isascii() and "http" not in text
    )


def _names_someone(text: str) -> bool:
    """Check whether a text has an e-mail address, a telephone number or a name of a person in it."""
    if _EMAIL.search(text) or _PHONE.search(text) or _NAME_WITHIN.search(text):
        return True
    pairs = ((first.lower(), second.lower()) for first, second in _TWO_WORDS.findall(text))
    return any(first in GIVEN_NAMES or (first in SURNAMES and second in GIVEN_NAMES) for first, second in pairs)


def _is_note_of_someone(text: str) -> bool:
    """Check whether a text, however short, has a name with its title in it, or an e-mail address among words."""
    return bool(_NAME_WITHIN.search(text) or (" " in text and "://" not in text and _EMAIL.search(text)))


def birthday_year(text: str, today: date) -> int | None:
    """Return the year of a day between 1900 and today, without a time of day; None of another text."""
    match, era, last = _DAY.fullmatch(text), _ERA_DAY.fullmatch(text), _DAY_FIRST.fullmatch(text)
    if match is not None:
        parts = [int(part) for part in match.groups() if part is not None]
    elif last is not None:
        month, day_of_month = sorted((int(last[1]), int(last[2])))  # either may come first; the year is what matters
        parts = [int(last[3]), month, day_of_month]
    elif era is not None:
        parts = [_ERAS[era[1]] + (1 if era[2] == "元" else int(era[2])), int(era[3]), int(era[4])]
    else:
        return None
    try:
        day = date(*parts)
    except ValueError:
        return None
    return day.year if date(1900, 1, 1) <= day <= today else None


@dataclass(frozen=True, slots=True)
class ContentKind:
    """A kind of value: what a column of it may be, and the share of rows from which on it is taken for one.

    `says`: its name in the plural, for the evidence. `values`: the fewest different ones: `OK` alone is no state.
    """

    says: str
    column_class: ColumnClass
    matches: Callable[[str], bool]
    least: float = 0.5
    values: int = 1


KINDS: Final[Mapping[str, ContentKind]] = {
    "email": ContentKind("e-mail addresses", _DIRECT, lambda text: bool(_EMAIL.fullmatch(text)), 0.02),
    "iban": ContentKind("bank account numbers (IBAN)", _DIRECT, _is_iban, 0.02),
    "ssn": ContentKind("social security numbers", _DIRECT, lambda text: bool(_SSN.fullmatch(text)), 0.2),
    "card": ContentKind("card numbers (Luhn)", _DIRECT, _is_card),
    "my_number": ContentKind("individual numbers (My Number)", _DIRECT, _is_my_number),
    "phone": ContentKind("telephone numbers", _DIRECT, _is_phone, 0.2),
    "ip": ContentKind("IP addresses", _DIRECT, _is_ip, 0.2),
    "mac": ContentKind("MAC addresses", _DIRECT, lambda text: bool(_MAC.fullmatch(text)), 0.2),
    "uuid": ContentKind("UUIDs", _DIRECT, lambda text: bool(_UUID.fullmatch(text))),
    "url": ContentKind("web addresses", _DIRECT, lambda text: bool(_URL.fullmatch(text))),
    "street": ContentKind("street addresses", _DIRECT, lambda text: bool(_STREET.fullmatch(text)), 0.3),
    "named_text": ContentKind(
        "free text with names, e-mail addresses or telephone numbers",
        _DIRECT,
        lambda text: (_is_free_text(text) and _names_someone(text)) or _is_note_of_someone(text),
        0.001,
    ),
    "name": ContentKind("names of people", _DIRECT, _is_name, 0.3, values=3),
    "icd": ContentKind("codes of diagnoses (ICD-10)", _SENSITIVE, lambda text: bool(_ICD.fullmatch(text)), 0.8),
    "illness": ContentKind("names of illnesses", _SENSITIVE, lambda text: bool(_ILLNESSES.search(text)), 0.3, values=2),
    "text": ContentKind("free text", _SENSITIVE, _is_free_text),
    "coordinates": ContentKind("coordinates", _QUASI, _is_point),
    "postcode": ContentKind("postcodes", _QUASI, lambda text: bool(_POSTCODE.fullmatch(text)), 0.8),
    "sex": ContentKind("sexes", _QUASI, lambda text: text.lower() in _SEXES, 0.8, values=2),
    "region": ContentKind(
        "prefectures or states",
        _QUASI,
        lambda text: text in _STATES or bool(re.fullmatch(rf"(?:{_PREFECTURES})[都道府県]?", text)),
        0.8,
        values=3,
    ),
}
"""By name; of several that a column reaches, the first counts."""
BIRTHDAYS: Final = ContentKind("dates of birth", _QUASI, lambda _: False, 0.8)
_FEWEST_YEARS: Final = 15
"""Years between the 5th and 95th percentile, and from the median to today, from which on days are those of births."""


def content_of(values: Iterable[tuple[str, int]], today: date) -> tuple[str, float] | None:
    """Return the kind that a column's values are of, with the share of rows; None if they are of none.

    `values`: each with its number of rows.
    """
    rows, matching, different = 0, dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    years: list[tuple[int, int]] = []
    for value, size in values:
        text = unicodedata.normalize("NFKC", value).strip()
        if not text or text.lower() in _NO_SEX:
            continue
        rows += size
        for name, kind in KINDS.items():
            if kind.matches(text):
                matching[name] += size
                different[name] += 1
        year = birthday_year(text, today)
        if year is not None:
            years.append((year, size))
    for name, kind in KINDS.items():
        if different[name] >= kind.values and matching[name] >= kind.least * rows:
            return name, matching[name] / rows
    known = sum(size for _, size in years)
    if known and known >= BIRTHDAYS.least * rows and _are_births(sorted(years), known, today):
        return "birth", known / rows
    return None


def _are_births(years: list[tuple[int, int]], rows: int, today: date) -> bool:
    quantiles: dict[float, int] = {}
    seen = 0
    for year, size in years:
        seen += size
        for share in (0.05, 0.5, 0.95):
            if seen >= share * rows:
                quantiles.setdefault(share, year)
    spread, age = quantiles[0.95] - quantiles[0.05], today.year - quantiles[0.5]
    return spread >= _FEWEST_YEARS and age >= _FEWEST_YEARS
