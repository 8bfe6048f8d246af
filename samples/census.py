"""A made-up census table with the ten attributes of the DP-PQD paper's IPUMS-CPS extract.

No row describes anyone: every value is drawn from the weights below, which were chosen by hand.
The attributes hang together (marriage on age, income on education, sex, age and class of worker).
Some rare combinations are made more common than in reality so that each query of the paper
selects a few rows out of 20,000: small multiracial groups, people separated or living apart from
their spouse, professional and doctorate degrees, and armed forces staff with a doctorate.
"""

from collections.abc import Mapping

import numpy as np
from draw import Floats, Ints, Table, pick
from treecopy import Attribute, category, steps, units

INCOME_CAP = 500_000
# Schooling, work and income are asked from 15 on.
ASKED, ADULT, OLD = 15, 18, 65

SEX = ("Male", "Female")
# Weights: under 18, then 18 and over.
RACE = {
    "White": (690.0, 765.0),
    "Black": (140.0, 112.0),
    "American Indian/Aleut/Eskimo": (14.0, 12.0),
    "Asian only": (58.0, 62.0),
    "Hawaiian/Pacific Islander only": (6.0, 5.0),
    "White-Black": (36.0, 15.0),
    "White-American Indian": (16.0, 18.0),
    "White-Asian": (16.0, 5.0),
    "White-Hawaiian/Pacific Islander": (2.0, 1.0),
    "Black-American Indian": (2.0, 1.5),
    "Black-Asian": (1.5, 0.6),
    "Black-Hawaiian/Pacific Islander": (0.4, 0.2),
    "American Indian-Asian": (0.4, 0.3),
    "American Indian-Hawaiian/Pacific Islander": (0.2, 0.1),
    "Asian-Hawaiian/Pacific Islander": (1.5, 0.8),
    "White-Black-American Indian": (2.0, 1.0),
    "White-Black-Asian": (1.0, 0.3),
    "White-Black-Hawaiian/Pacific Islander": (0.3, 0.1),
    "White-American Indian-Asian": (4.0, 5.0),
    "White-American Indian-Hawaiian/Pacific Islander": (0.2, 0.1),
    "White-Asian-Hawaiian/Pacific Islander": (1.2, 0.5),
    "Black-American Indian-Asian": (0.2, 0.1),
    "White-Black-American Indian-Asian": (0.3, 0.1),
    "White-American Indian-Asian-Hawaiian/Pacific Islander": (0.1, 0.1),
    "Two or three races, unspecified": (0.5, 0.3),
    "Four or five races, unspecified": (0.3, 0.1),
}
# Weights: White, Black, Asian only, everyone else.
CITIZEN = {
    "Born in U.S": (870.0, 860.0, 310.0, 840.0),
    "Born in U.S. outlying": (6.0, 8.0, 4.0, 12.0),
    "Born abroad of American parents": (10.0, 8.0, 16.0, 18.0),
    "Naturalized citizen": (50.0, 60.0, 390.0, 110.0),
    "Not a citizen": (64.0, 64.0, 280.0, 50.0),
}
# Weights: 15-17, 18-24, 25-44, 45-64, 65 and over. Under 15 the question is not asked.
EDUC = {
    "NIU or blank": (0.0, 0.0, 0.0, 0.0, 0.0),
    "None or preschool": (0.2, 0.3, 0.4, 0.4, 0.6),
    "Grades 1, 2, 3, or 4": (0.3, 0.3, 0.6, 0.8, 1.3),
    "Grades 5 or 6": (1.5, 0.8, 1.8, 2.0, 2.4),
    "Grades 7 or 8": (22.0, 1.0, 1.3, 1.6, 4.0),
    "Grade 9": (30.0, 2.0, 1.5, 1.4, 2.0),
    "Grade 10": (28.0, 4.0, 1.7, 1.7, 2.8),
    "Grade 11": (14.0, 8.0, 2.0, 1.9, 2.6),
    "12th grade, no diploma": (2.0, 4.0, 1.3, 1.2, 1.2),
    "High school diploma or equivalent": (1.5, 28.0, 26.0, 31.0, 34.0),
    "Some college but no degree": (0.5, 34.0, 17.0, 16.0, 15.5),
    "Associate's degree, occupational/vocational program": (0.0, 3.0, 5.0, 5.5, 4.0),
    "Associate's degree, academic program": (0.0, 4.0, 6.0, 5.5, 4.0),
    "Bachelor's degree": (0.0, 10.0, 23.0, 19.0, 14.5),
    "Master's degree": (0.0, 0.8, 9.5, 8.5, 8.0),
    "Professional school degree": (0.0, 0.1, 2.6, 2.6, 2.6),
    "Doctorate degree": (0.0, 0.1, 2.6, 2.6, 2.6),
}
# Weights: under 15, then from 15, 20, 25, 30, 35, 45, 55, 65 and 75.
MARST_AGES = (15, 20, 25, 30, 35, 45, 55, 65, 75)
MARST = {
    "Married, spouse present": (0.0, 1.0, 11.0, 33.0, 52.0, 62.0, 64.0, 65.0, 64.0, 52.0),
    "Married, spouse absent": (0.0, 0.4, 1.6, 2.8, 3.3, 3.5, 3.3, 3.0, 2.8, 3.0),
    "Separated": (0.0, 0.3, 1.2, 2.6, 3.4, 4.3, 4.4, 3.8, 2.8, 2.0),
    "Divorced": (0.0, 0.1, 0.8, 3.0, 6.0, 11.0, 16.0, 17.0, 14.0, 7.0),
    "Widowed": (0.0, 0.02, 0.1, 0.2, 0.4, 0.9, 2.0, 5.0, 13.0, 33.0),
    "Never married/single": (100.0, 98.0, 86.0, 60.0, 36.0, 20.0, 12.0, 8.0, 5.0, 4.0),
}
# Weights: under 18, unmarried 18-29, unmarried 30 and over, husbands, wives.
RELATE = {
    "Head/householder": (0.2, 27.0, 68.0, 60.0, 40.0),
    "Spouse": (0.0, 0.0, 0.0, 35.0, 55.0),
    "Child": (85.0, 42.0, 9.0, 2.0, 2.0),
    "Stepchild": (4.0, 1.5, 0.2, 0.1, 0.1),
    "Parent": (0.0, 0.1, 4.0, 0.8, 1.0),
    "Sibling": (1.5, 5.0, 3.5, 0.3, 0.3),
    "Grandchild": (5.0, 2.0, 0.3, 0.1, 0.1),
    "Other relatives, n.s.": (2.5, 3.0, 2.5, 1.2, 1.2),
    "Foster children": (0.6, 0.1, 0.0, 0.0, 0.0),
    "Unmarried partner": (0.0, 9.0, 7.0, 0.0, 0.0),
    "Housemate/roommate": (0.1, 8.0, 3.5, 0.2, 0.1),
    "Roomer/boarder/lodger": (0.1, 1.0, 1.0, 0.1, 0.1),
    "Other nonrelatives": (1.0, 3.0, 1.5, 0.2, 0.2),
}
WORKLY = ("NIU", "No", "Yes")
# Chance of having worked last year, by age from 15, 18, 25, 55, 65 and 75.
WORK_AGES = (18, 25, 55, 65, 75)
WORK_CHANCE = np.array([0.25, 0.67, 0.82, 0.68, 0.30, 0.10])
# Each education tier starts at one of these levels; the first tier is everything below.
TIERS = (
    "High school diploma or equivalent",
    "Bachelor's degree",
    "Professional school degree",
    "Doctorate degree",
)
# Weights of the five education tiers among those who worked, then of those who did not.
CLASSWKR = {
    "NIU": (0.0, 0.0, 0.0, 0.0, 0.0, 88.0),
    "Wage/salary, private": (84.0, 77.0, 68.0, 60.0, 52.0, 10.0),
    "Self-employed, not incorporated": (9.0, 6.5, 6.0, 14.0, 6.0, 0.8),
    "Self-employed, incorporated": (2.0, 3.0, 4.5, 9.0, 4.0, 0.2),
    "Federal government employee": (0.8, 2.5, 3.6, 4.0, 6.0, 0.2),
    "Armed forces": (0.1, 0.9, 0.7, 1.5, 6.0, 0.0),
    "State government employee": (1.5, 4.0, 6.2, 6.0, 20.0, 0.3),
    "Local government employee": (2.3, 6.0, 11.0, 5.5, 7.0, 0.4),
    "Unpaid family worker": (0.3, 0.1, 0.1, 0.0, 0.0, 0.1),
}
# Added to the log of income: one step per education level, then per class of worker.
EDUC_PAY = np.array(
    [0, -0.3, -0.2, -0.15, -0.1, -0.1, -0.1, -0.05, 0, 0.25, 0.35, 0.5, 0.5, 0.85, 1.05, 1.4, 1.35]
)
CLASS_PAY = np.array([-0.6, 0.0, -0.2, 0.35, 0.25, 0.15, 0.05, 0.05, -1.0])

TREE: tuple[Attribute, ...] = (
    Attribute("age", (*steps(*range(0, 81, 5)), *units(80, 80), *units(85, 85))),
    category("educ", tuple(EDUC), "age"),
    category("marst", tuple(MARST), "age"),
    category("race", tuple(RACE), "age"),
    category("citizen", tuple(CITIZEN), "race"),
    category("relate", tuple(RELATE), "marst"),
    category("sex", SEX, "relate"),
    category("classwkr", tuple(CLASSWKR), "educ"),
    category("workly", WORKLY, "classwkr"),
    Attribute(
        "inctot",
        (
            (0, 0),
            *steps(1, *range(5000, 60_000, 5000), 60_000, 75_000, 100_000, 125_000),
            *steps(125_000, 150_000, 200_000, 300_000, INCOME_CAP + 1),
        ),
        "classwkr",
    ),
)


def _columns(weights: Mapping[str, tuple[float, ...]]) -> Floats:
    """One row of weights per group, one column per label."""
    return np.array(list(weights.values())).T


def _band(age: Ints, *edges: int) -> Ints:
    return np.searchsorted(np.array(edges), age, side="right").astype(np.int64)


def _codes(labels: tuple[str, ...], *wanted: str) -> list[int]:
    return [labels.index(label) for label in wanted]


def _ages(rng: np.random.Generator, rows: int) -> Ints:
    """Ages 0 to 79, then 80 for 80-84 and 85 for 85 and over."""
    weights = np.interp(np.arange(82), [0, 20, 55, 79], [1.0, 1.02, 1.0, 0.35])
    weights[80:] = 1.3, 1.4
    age = pick(rng, weights[None, :], np.zeros(rows, dtype=np.int64))
    return np.where(age == weights.size - 1, 85, age)


def _citizens(rng: np.random.Generator, age: Ints, race: Ints) -> Ints:
    by_race = np.full(len(RACE), 3)
    by_race[_codes(tuple(RACE), "White", "Black", "Asian only")] = 0, 1, 2
    adults = _columns(CITIZEN)
    children = adults * np.array([1.0, 1.0, 1.0, 0.4, 0.5])
    return pick(rng, np.vstack([children, adults]), by_race[race] + 4 * _band(age, ADULT))


def _education(rng: np.random.Generator, age: Ints, race: Ints, citizen: Ints) -> Ints:
    plain = _columns(EDUC)
    foreign = plain * np.repeat([4.0, 1.0, 0.8], [5, 8, 4])
    asian = plain * np.repeat([1.0, 1.8], [13, 4])
    is_asian = race == tuple(RACE).index("Asian only")
    is_foreign = citizen == tuple(CITIZEN).index("Not a citizen")
    table = np.where(is_asian, 2, np.where(is_foreign, 1, 0))
    level = pick(rng, np.vstack([plain, foreign, asian]), _band(age, 18, 25, 45, 65) + 5 * table)
    return np.where(age < ASKED, 0, level)


def _marriage(rng: np.random.Generator, age: Ints, sex: Ints, citizen: Ints, educ: Ints) -> Ints:
    plain = _columns(MARST)
    by_sex = np.stack([plain * [1, 1, 0.9, 0.9, 0.45, 1], plain * [1, 1, 1.1, 1.1, 1.8, 1]])
    # Non-citizens live apart from a spouse more often; so do the two top degrees (see above).
    tilts = np.array([[1, 1, 1, 1, 1, 1], [1, 3, 1, 1, 1, 1], [1, 2, 2, 1, 1, 1]])
    weights = (by_sex[None] * tilts[:, None, None, :]).reshape(-1, len(MARST))
    is_foreign = citizen == tuple(CITIZEN).index("Not a citizen")
    kind = np.where(educ >= tuple(EDUC).index("Professional school degree"), 2, is_foreign)
    return pick(rng, weights, (kind * 2 + sex) * plain.shape[0] + _band(age, *MARST_AGES))


def _work(rng: np.random.Generator, age: Ints, sex: Ints, educ: Ints) -> tuple[Ints, Ints]:
    """Whether each person worked last year, and for whom."""
    tier = _band(educ, *_codes(tuple(EDUC), *TIERS))
    chance = WORK_CHANCE[_band(age, *WORK_AGES)] + np.where(sex == 0, 0.05, -0.05)
    chance += np.array([-0.12, 0.0, 0.07, 0.10, 0.10])[tier]
    worked = (rng.random(len(age)) < np.clip(chance, 0.02, 0.97)) & (age >= ASKED)
    employer = pick(rng, _columns(CLASSWKR), np.where(worked, tier, 5))
    child = age < ASKED
    return np.where(child, 0, 1 + worked), np.where(child, 0, employer)


def _income(rng: np.random.Generator, person: Table) -> Ints:
    """Log-normal pay with a Pareto tail; pensions and small sums for those who did not work."""
    age, educ, rows = person["age"], person["educ"], len(person["age"])
    worked = person["workly"] == WORKLY.index("Yes")
    old, teen = age >= OLD, age < ADULT
    pay = np.log(27_000) + EDUC_PAY[educ] + CLASS_PAY[person["classwkr"]]
    pay += np.where(person["sex"] == 0, 0.3, 0.0) - 0.55 * np.square((age - 50) / 25)
    pay -= np.where(teen, 0.7, 0.0)
    idle = np.where(old, np.log(17_500) + 0.6 * EDUC_PAY[educ], np.where(teen, 7.6, 9.1))
    spread = np.where(worked, 0.65, np.where(old, 0.6, 0.9))
    income = np.exp(np.where(worked, pay, idle) + spread * rng.standard_normal(rows))
    lucky = rng.random(rows) < np.where(worked, 0.02, 0.004)
    income *= np.where(lucky, 1.5 + rng.pareto(1.6, rows), 1.0)
    # People report round thousands.
    heaped = (rng.random(rows) < 0.4) & (income > 5000)
    income = np.where(heaped, np.rint(income / 1000) * 1000, income)
    nothing = rng.random(rows) < np.where(worked, 0.004, np.where(old, 0.04, 0.45))
    nothing |= teen & ~worked & (rng.random(rows) < 0.7)
    capped = np.minimum(np.floor(income), INCOME_CAP).astype(np.int64)
    return np.where(nothing | (age < ASKED), 0, capped)


def private_table(rows: int, rng: np.random.Generator) -> Table:
    """Draw the census table; text columns are codes into the labels of `TREE`."""
    age = _ages(rng, rows)
    female = np.interp(age, [0, 50, 70, 85], [0.49, 0.51, 0.53, 0.62])
    sex = (rng.random(rows) < female).astype(np.int64)
    race = pick(rng, _columns(RACE), _band(age, ADULT))
    citizen = _citizens(rng, age, race)
    educ = _education(rng, age, race, citizen)
    marst = _marriage(rng, age, sex, citizen, educ)
    home = np.where(marst == 0, 3 + sex, _band(age, 18, 30))
    relate = pick(rng, _columns(RELATE), home)
    workly, classwkr = _work(rng, age, sex, educ)
    person = {"relate": relate, "age": age, "sex": sex, "race": race, "marst": marst}
    person |= {"citizen": citizen, "workly": workly, "classwkr": classwkr, "educ": educ}
    return person | {"inctot": _income(rng, person)}
