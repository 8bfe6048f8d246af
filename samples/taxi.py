"""A made-up taxi table with the ten attributes of the DP-PQD paper's NYC Yellow Taxi extract.

No row is a trip anyone took: every value is drawn from the weights below, chosen by hand, and
rounded to integers inside the paper's domains. The fare follows the distance; the total is the
fare, the tip and the surcharges. Some rare combinations are made more common than in reality so
that each query of the paper selects a few rows out of 20,000: negotiated and Newark rates, large
parties on them, short trips at the flat airport fare, and generous tips on short trips.
"""

import numpy as np
from draw import Floats, Ints, Table, pick, whole
from treecopy import Attribute, category, steps, units

FLAGS = ("N", "Y")
STANDARD, JFK, NEWARK, NASSAU, NEGOTIATED, GROUP = range(1, 7)
CREDIT, CASH = 1, 2
RATE_WEIGHTS = np.array([[89.4, 4.5, 2.2, 0.8, 3.0, 0.1]])
# Passengers 1 to 6: the standard and airport rates, then the others.
PARTY_WEIGHTS = np.array(
    [[74.0, 14.0, 4.5, 2.0, 3.0, 2.5], [55.0, 20.0, 9.0, 6.0, 6.0, 4.0]],
)
# Credit card, cash, no charge, dispute: the same two rows.
PAYMENT_WEIGHTS = np.array([[77.0, 21.5, 0.8, 0.7], [64.0, 33.0, 1.6, 1.4]])
# No surcharge, 2, 3: up to 6 miles, beyond, JFK, the other rates.
SURCHARGE_WEIGHTS = np.array(
    [[8.0, 91.6, 0.4], [52.0, 47.4, 0.6], [18.0, 81.0, 1.0], [70.0, 29.6, 0.4]],
)
EXTRAS = np.array([0.0, 0.5, 1.0, 2.5])
EXTRA_WEIGHTS = np.array([[35.0, 25.0, 15.0, 25.0]])

TREE: tuple[Attribute, ...] = (
    Attribute("trip_distance", (*units(1, 14), *steps(15, 17, 18, 20, 25, 40, 101))),
    Attribute(
        "fare_amount",
        (*units(4, 25), *steps(26, 28, 31, 34, 38, 42, 47, 52, 53, 60, 75, 100, 251)),
        "trip_distance",
    ),
    Attribute(
        "total_amount",
        (*units(8, 30), *steps(31, 33, 36, 40, 45, 50, 55, 60, 65, 70, 80, 100, 150, 378)),
        "fare_amount",
    ),
    Attribute("tip_amount", (*units(0, 10), *steps(11, 13, 16, 21, 31, 126)), "total_amount"),
    Attribute("payment_type", units(1, 4), "tip_amount"),
    Attribute("congestion_surcharge", ((0, 0), (2, 2), (3, 3)), "trip_distance"),
    Attribute("rateCodeID", units(1, 6), "trip_distance"),
    Attribute("passenger_count", units(1, 6), "rateCodeID"),
    Attribute("vendorID", units(1, 2), "passenger_count"),
    category("store_and_fwd_flag", FLAGS, "vendorID"),
)


def _miles(rng: np.random.Generator, rate: Ints) -> Floats:
    """Short city rides, a cluster of rides to the near airport, and the long special rates."""
    rows = len(rate)
    noise = rng.standard_normal(rows)
    city = np.exp(np.log(1.9) + 0.8 * noise)
    city = np.where(rng.random(rows) < 0.10, 11.5 + 2.3 * noise, city)
    airport, newark, nassau = 17.5 + 2.0 * noise, 17.0 + 2.5 * noise, 20.0 + 6.0 * noise
    special = np.choose(rate - 1, [city, airport, newark, nassau, 2.5 * city, city])
    # Some riders leave a flat-fare trip early.
    early = (rate == JFK) & (rng.random(rows) < 0.12)
    return np.clip(np.where(early, 1.0 + rng.random(rows), special), 0.5, 100.0)


def _fares(rng: np.random.Generator, rate: Ints, miles: Floats) -> Floats:
    """Meter fares by distance and time in traffic, the flat airport fare, agreed prices."""
    rows = len(rate)
    minutes = (2.0 + 2.6 * np.power(miles, 0.85)) * np.exp(0.4 * rng.standard_normal(rows))
    meter = 2.5 + 2.1 * miles + 0.6 * minutes
    agreed = 10.0 * np.rint(np.exp(1.6 + 0.6 * rng.standard_normal(rows))) + miles
    return np.choose(
        rate - 1, [meter, np.full(rows, 52.0), meter + 19.0, meter * 1.3, agreed, meter]
    )


def _tips(rng: np.random.Generator, payment: Ints, fare: Floats) -> Floats:
    """Card riders tip about a fifth, some in round fives, a few lavishly; no other tip is seen."""
    rows = len(fare)
    share = np.clip(0.22 + 0.05 * rng.standard_normal(rows), 0.0, 0.5)
    tip = share * (fare + 3.5)
    tip = np.where(rng.random(rows) < 0.15, 5.0 * np.ceil(tip / 5.0), tip)
    tip = np.where(rng.random(rows) < 0.05, tip + 3.0 + 9.0 * rng.random(rows), tip)
    silent = (payment != CREDIT) | (rng.random(rows) < 0.06)
    return np.where(silent, 0.0, tip)


def _surcharge(rng: np.random.Generator, rate: Ints, miles: Floats) -> Ints:
    place = np.where(rate == JFK, 2, np.where(rate > JFK, 3, (miles > 6.0).astype(np.int64)))
    return np.array([0, 2, 3], dtype=np.int64)[pick(rng, SURCHARGE_WEIGHTS, place)]


def private_table(rows: int, rng: np.random.Generator) -> Table:
    """Draw the taxi table; the flag column is a code into the labels of `TREE`."""
    one = np.zeros(rows, dtype=np.int64)
    rate = 1 + pick(rng, RATE_WEIGHTS, one)
    special = (rate > JFK).astype(np.int64)
    vendor = np.where(rng.random(rows) < 0.3, 1, 2).astype(np.int64)
    stored = rng.random(rows) < np.where(vendor == 1, 0.055, 0.001)
    payment = 1 + pick(rng, PAYMENT_WEIGHTS, special)
    party = 1 + pick(rng, PARTY_WEIGHTS, special)
    miles = _miles(rng, rate)
    fare = whole(_fares(rng, rate, miles), 4, 250)
    tip = whole(_tips(rng, payment, fare.astype(np.float64)), 0, 125)
    congestion = _surcharge(rng, rate, miles)
    toll = np.where((miles > 8.0) & (rng.random(rows) < 0.45), 6.55, 0.0)
    extras = 0.8 + EXTRAS[pick(rng, EXTRA_WEIGHTS, one)] + toll
    return {
        "vendorID": vendor,
        "passenger_count": party,
        "trip_distance": whole(miles, 1, 100),
        "rateCodeID": rate,
        "store_and_fwd_flag": stored.astype(np.int64),
        "payment_type": payment,
        "fare_amount": fare,
        "tip_amount": tip,
        "total_amount": whole(fare + tip + congestion + extras, 8, 377),
        "congestion_surcharge": congestion,
    }
