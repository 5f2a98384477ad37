"""Invented columns of personal data, and columns that only look like them, from fixed seeds."""

from __future__ import annotations

import string
from random import Random

ROWS = 300


def listed(text):
    return text.split()


GIVEN = listed("""
    Mateo Freja Oskar Lucia Hendrik Priscilla Tobias Amelie Gustav Noor Emil Sofia Ravi Ingrid
    Malik Johanna Viktor Chloe Anders Beatriz Felix Yuki Samuel Nora Dimitri Elif Hugo Carla Greta
""")
FAMILY = listed("""
    Okonkwo Lindqvist Brandt Moreau Castillo Novak Haraldsen Fischer Petrov Tanaka Whitfield
    Schuster Oliveira Bianchi Kowalska Demir Adeyemi Larsen Hoffmann Delgado Virtanen Rossi Keller
    McAllister O'Brien Janssen
""")
STREETS = listed("Maple Station Church Victoria Linden Harbor Garden Mill Castle Forest")
DOMAINS = listed("example.org mail.example.com uni-example.de post.example.co.uk example.fr")
MONTHS = listed("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)


def pick(random, *choices):
    return random.choice(choices)


def digits(random, number):
    return "".join(random.choice(string.digits) for _ in range(number))


def letters(random, number):
    return "".join(random.choice("ABCDEFGHJKLMNPRSTVWXYZ") for _ in range(number))


def checked(random, number, valid, made=None):
    """A number that `valid` accepts, by trying."""
    while True:
        text = made() if made else str(random.randint(1, 9)) + digits(random, number - 1)
        if valid(text):
            return text


def weighted(text, weights):
    return sum(int(digit) * weight for digit, weight in zip(text, weights, strict=True))


def luhn(text):
    total = 0
    for place, digit in enumerate(reversed(text)):
        twice = int(digit) * (2 if place % 2 else 1)
        total += twice // 10 + twice % 10
    return total % 10 == 0


def iso_7064(text):
    product = 10
    for digit in text[:-1]:
        product = (int(digit) + product) % 10 or 10
        product = product * 2 % 11
    return (11 - product) % 10 == int(text[-1]) and 8 <= len(set(text[:10])) <= 9


def birth(random, form):
    year, month, day = random.randint(1935, 2005), random.randint(1, 12), random.randint(1, 28)
    return form.format(y=year, m=month, d=day, n=MONTHS[month - 1], s=year % 100)


def iban(random, country, length):
    body = digits(random, length - 4)
    number = "".join(str(int(each, 36)) for each in body + country + "00")
    return f"{country}{98 - int(number) % 97:02}{body}"


def spaced(text, every=4):
    return " ".join(text[at : at + every] for at in range(0, len(text), every))


def codice(random):
    """Made as the Italian decree describes: values of odd places by a table of their own."""
    odd = {**dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True))}
    odd |= dict(zip(string.ascii_uppercase, ODD, strict=True))
    text = f"{letters(random, 6)}{digits(random, 2)}{random.choice('ABCDEHLMPRST')}"
    text += f"{random.randint(1, 28):02}{random.choice('ABCDEFGHL')}{digits(random, 3)}"
    even = {**{each: int(each) for each in string.digits}}
    even |= {each: place for place, each in enumerate(string.ascii_uppercase)}
    total = sum((even if place % 2 else odd)[each] for place, each in enumerate(text))
    return text + string.ascii_uppercase[total % 26]


def insee(random):
    text = f"{random.randint(1, 2)}{random.randint(40, 99)}{random.randint(1, 12):02}"
    text += f"{random.randint(1, 95):02}{digits(random, 3)}{digits(random, 3)}"
    return f"{text}{97 - int(text) % 97:02}"


def personnummer(random, century):
    def made():
        return birth(random, "{s:02}{m:02}{d:02}") + digits(random, 4)

    text = checked(random, 10, luhn, made)
    return f"{'19' if century else ''}{text[:6]}-{text[6:]}"


ELEVEN = (9, 8, 7, 6, 5, 4, 3, 2, -1)


def ssn(r):
    return f"{r.randint(1, 665):03}-{r.randint(1, 99):02}-{r.randint(1, 9999):04}"


def nino(r):
    return f"{pick(r, 'AB', 'CE', 'JK', 'RS')} {spaced(digits(r, 6), 2)} {pick(r, *'ABCD')}"


def dni(r):
    number = r.randint(10**6, 99999999)
    return f"{number:08}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def bsn(r):
    return checked(r, 9, lambda text: weighted(text, ELEVEN) % 11 == 0)


NATIONAL = (
    (("ssn", "q4", "social_security_no"), ssn),
    (("ni", "V12", "national_insurance"), nino),
    (("SteuerID", "x", "steuer_id"), lambda r: checked(r, 11, iso_7064)),
    (("nir", "var7", "insee"), insee),
    (("dni", "q_17", "documento"), dni),
    (("codice_fiscale", "f3", "cf"), codice),
    (("bsn", "a9", "burgerservicenummer"), bsn),
    (("personnummer", "id_se", "pnr"), lambda r: personnummer(r, r.random() < 0.5)),
)


def national(number):
    names, make = NATIONAL[number % len(NATIONAL)]
    return names[number // len(NATIONAL) % 3], make


def _vary(names, forms):
    """A sort of columns: the n-th has the n-th name and form, each in turn."""

    def column(number):
        return names[number % len(names)], forms[(number // 2 + number) % len(forms)]

    return column


def person(r):
    return pick(r, *GIVEN), pick(r, *FAMILY)


SORTS = {
    "e-mail": _vary(
        ("email", "E-Mail", "contact", "q12", "mail_address", "Your answer", "courriel", "v3"),
        (
            lambda r: ".".join(person(r)).lower().replace("'", "") + f"@{pick(r, *DOMAINS)}",
            lambda r: f"user{r.randint(1, 400)}@{pick(r, *DOMAINS)}",
            lambda r: f"{pick(r, *GIVEN)}+{r.randint(1, 99)}@Example.COM",
        ),
    ),
    "phone": _vary(
        ("phone", "Telefon", "mobile_number", "q9", "tel.", "contact_no", "Handy", "x7"),
        (
            lambda r: f"+49 170 {digits(r, 7)}",
            lambda r: f"({r.randint(201, 989)}) {r.randint(200, 999)}-{digits(r, 4)}",
            lambda r: f"+44 7{digits(r, 3)} {digits(r, 6)}",
            lambda r: f"00{pick(r, '33', '34', '39')}{digits(r, 9)}",
            lambda r: f"{r.randint(201, 989)}-{r.randint(200, 999)}-{digits(r, 4)}",
            lambda r: f"0{r.randint(30, 89)}/{digits(r, 7)}",
            lambda r: f"06 {spaced(digits(r, 8), 2)}",
        ),
    ),
    "IP address": _vary(
        ("ip", "IPAddress", "ip_addr", "client", "q3", "source", "host", "v9"),
        (
            lambda r: f"203.0.113.{r.randint(0, 255)}",
            lambda r: ".".join(str(r.randint(1, 223)) for _ in range(4)),
            lambda r: f"2001:db8:{r.randint(0, 65535):x}::{r.randint(1, 65535):x}",
            lambda r: ":".join(["2001", "0db8", *(f"{r.randint(0, 65535):04x}" for _ in range(6))]),
        ),
    ),
    "URL": _vary(
        ("url", "homepage", "q2", "website", "profile", "link", "v1", "referrer"),
        (
            lambda r: f"https://example.org/u/{r.randint(1, 500)}",
            lambda r: f"http://www.example.com/{pick(r, *GIVEN).lower()}?id={r.randint(1, 99)}",
            lambda r: f"www.example.net/{pick(r, *FAMILY).lower()}",
            lambda r: f"linkedin.com/in/{pick(r, *GIVEN).lower()}{r.randint(1, 99)}",
        ),
    ),
    "national number": national,
    "plate": _vary(
        ("plate", "Kennzeichen", "license_plate", "q5", "car_registration", "matricula", "v8"),
        (
            lambda r: (
                f"{pick(r, 'B', 'HH', 'KÖ')}-{letters(r, pick(r, 1, 2))} {r.randint(1, 9999)}"
            ),
            lambda r: f"{letters(r, 2)}{r.randint(10, 72)} {letters(r, 3)}",
            lambda r: f"{letters(r, 2)}-{digits(r, 3)}-{letters(r, 2)}",
            lambda r: f"{digits(r, 4)} {letters(r, 3)}",
        ),
    ),
    "account or card": _vary(
        ("iban", "Kontonummer", "q8", "bank_account", "card_number", "v2", "payment", "cc"),
        (
            lambda r: iban(r, "DE", 22),
            lambda r: spaced(iban(r, "GB", 22)),
            lambda r: spaced(checked(r, 16, luhn, lambda: "4" + digits(r, 15))),
            lambda r: checked(r, 16, luhn, lambda: "5" + pick(r, *"12345") + digits(r, 14)),
            lambda r: iban(r, "NL", 18),
        ),
    ),
    "coordinates": _vary(
        ("gps", "latitude", "coordinates", "home_lat", "location", "Longitude", "geo", "pos_lon"),
        (
            lambda r: f"{r.uniform(-80, 80):.5f}, {r.uniform(-170, 170):.5f}",
            lambda r: f"{r.uniform(47, 55):.6f}",
            lambda r: f"({r.uniform(30, 60):.4f},{r.uniform(-9, 30):.4f})",
            lambda r: f"{r.uniform(6, 15):.5f}",
            lambda r: f"{r.uniform(30, 60):.4f} N, {r.uniform(1, 30):.4f} E",
        ),
    ),
    "name of a person": _vary(
        (
            "name",
            "first_name",
            "Nachname",
            "q1",
            "respondent",
            "full name",
            "v6",
            "Zuname, Vorname",
        ),
        (
            lambda r: " ".join(person(r)),
            lambda r: "{1}, {0}".format(*person(r)),
            lambda r: " ".join((pick(r, "Dr.", "Mr.", "Frau"), *person(r))),
            lambda r: " ".join(person(r)).upper(),
            lambda r: f" {letters(r, 1)}. ".join(person(r)),
        ),
    ),
    "address": _vary(
        ("address", "Anschrift", "q6", "street", "where do you live", "home_address", "v5", "rue"),
        (
            lambda r: f"{r.randint(1, 400)} {pick(r, *STREETS)} {pick(r, 'Street', 'Ave', 'Rd')}",
            lambda r: (
                f"{pick(r, *STREETS)}{pick(r, 'straße', 'weg', 'gasse')} {r.randint(1, 199)}a"
            ),
            lambda r: f"{r.randint(1, 99)} rue {pick(r, 'de la Gare', 'Victor Hugo', 'des Lilas')}",
            lambda r: f"Via {pick(r, *FAMILY)} {r.randint(1, 99)}",
            lambda r: f"Calle {pick(r, *FAMILY)}, {r.randint(1, 99)}",
        ),
    ),
    "user agent": _vary(
        ("user_agent", "browser", "UA", "q10", "client info", "http_user_agent", "v4", "meta"),
        (
            lambda r: (
                f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/{r.randint(90, 180)}.0.0.0"
            ),
            lambda r: f"Mozilla/5.0 (iPhone; CPU iPhone OS {r.randint(12, 18)}_{r.randint(0, 9)})",
            lambda r: f"Opera/9.{r.randint(10, 99)} (X11; Linux x86_64)",
        ),
    ),
    "device": _vary(
        ("device_id", "uuid", "MAC", "q11", "imei", "cookie_id", "v7", "advertising_id"),
        (
            lambda r: "-".join(f"{r.getrandbits(4 * n):0{n}x}" for n in (8, 4, 4, 4, 12)),
            lambda r: ":".join(f"{r.getrandbits(8):02X}" for _ in range(6)),
            lambda r: f"{r.getrandbits(128):032x}",
            lambda r: "-".join(f"{r.getrandbits(8):02x}" for _ in range(6)),
        ),
    ),
    "date of birth": _vary(
        (
            "birth_date",
            "dob",
            "Geburtsdatum",
            "date_of_birth",
            "fecha de nacimiento",
            "born",
            "geb.",
        ),
        (
            lambda r: birth(r, "{y}-{m:02}-{d:02}"),
            lambda r: birth(r, "{d:02}.{m:02}.{y}"),
            lambda r: birth(r, "{m}/{d}/{y}"),
            lambda r: birth(r, "{d} {n} {y}"),
            lambda r: birth(r, "{n} {d}, {y}"),
            lambda r: birth(r, "{y}{m:02}{d:02}"),
        ),
    ),
}

LOOK_ALIKE = (
    ("part_number", lambda r: f"{letters(r, 3)}-{r.randint(100, 160)}"),
    ("part", lambda r: f"{r.randint(100, 130)}-{r.randint(10, 12)}-{r.randint(1000, 1002)}"),
    ("year", lambda r: str(r.randint(1950, 2024))),
    ("birth_year", lambda r: str(r.randint(1940, 2005))),
    ("score", lambda r: str(r.randint(0, 100))),
    ("test_score", lambda r: f"{r.uniform(0, 1):.2f}"),
    ("postcode", lambda r: str(r.randint(10115, 10180))),
    ("zip", lambda r: f"{r.randint(90001, 90060)}"),
    ("plz", lambda r: f"{r.randint(1, 60):05}"),
    ("postal_code", lambda r: f"SW{r.randint(1, 9)}A {r.randint(1, 3)}AA"),
    ("product", lambda r: f"{pick(r, 'AB', 'CX', 'ZQ')}{r.randint(100, 120)}"),
    ("sku", lambda r: f"{pick(r, 'A', 'B')}-{r.randint(1000, 1030)}"),
    ("version", lambda r: f"{r.randint(1, 3)}.{r.randint(0, 4)}.{r.randint(0, 3)}.0"),
    ("app_version", lambda r: f"{r.randint(1, 9)}.{r.randint(0, 5)}"),
    ("release", lambda r: f"v{r.randint(1, 3)}.{r.randint(0, 9)}"),
    ("income", lambda r: str(r.randint(800, 9000))),
    ("height_cm", lambda r: str(r.randint(150, 200))),
    ("bp", lambda r: f"{r.randint(10, 14) * 10}/{r.randint(6, 9) * 10}"),
    ("icd", lambda r: f"{pick(r, *'FGI')}{r.randint(10, 25)}.{r.randint(0, 1)}"),
    ("isced", lambda r: str(r.randint(0, 8))),
    ("occupation", lambda r: pick(r, "Truck Driver", "Office Clerk", "Nurse", "Civil Engineer")),
    ("city", lambda r: pick(r, "New York", "San Jose", "Los Angeles", "Santa Fe", "Saint Paul")),
    ("satisfaction", lambda r: pick(r, "Very Good", "Good", "Bad", "Very Bad")),
    ("agreement", lambda r: pick(r, "Strongly Agree", "Agree", "Disagree", "Strongly Disagree")),
    ("brand_name", lambda r: pick(r, "Red Fox", "Blue Lake", "Iron Gate")),
    ("school_name", lambda r: pick(r, "North High", "Hill Side", "Lake View", "West End")),
    ("device_type", lambda r: pick(r, "phone", "tablet", "laptop")),
    ("browser_name", lambda r: pick(r, "Firefox", "Chrome", "Safari")),
    ("temperature", lambda r: f"{r.uniform(-10, 35):.1f}"),
    ("distance_km", lambda r: f"{r.uniform(0, 90):.3f}"),
    ("long", lambda r: str(r.randint(1, 5))),
    ("contact", lambda r: pick(r, "by phone", "by mail", "not at all")),
    ("address_form", lambda r: pick(r, "Mr", "Ms", "none")),
    ("first", lambda r: pick(r, "0", "1")),
    ("time_of_day", lambda r: f"{r.randint(7, 21)}:00"),
    ("interview_month", lambda r: f"2024-{r.randint(1, 12):02}"),
    ("room", lambda r: f"{r.randint(1, 3)}.{r.randint(1, 20):02}"),
    ("card_color", lambda r: pick(r, "gold", "silver", "basic")),
    ("course", lambda r: f"CS-{r.randint(101, 120)}"),
    ("catalog_no", lambda r: f"{r.randint(100, 130)}.{r.randint(100, 101)}.{r.randint(200, 201)}"),
)


def values(make, seed, pool=120, rows=ROWS):
    """The cells of a column, in which values repeat."""
    random = Random(seed)
    different = [make(random) for _ in range(pool)]
    return [random.choice(different) for _ in range(rows)]
