"""How many cases the property tests generate."""

from __future__ import annotations

import os

FACTORS = {"usual": 1, "bounded": 3, "long": 100}
"""By how much the number of cases of each property test is multiplied, by the value of `HYPOTHESIS_PROFILE`."""

FACTOR = FACTORS[os.environ.get("HYPOTHESIS_PROFILE", "usual")]


def times(examples: int) -> int:
    """Give the number of cases for a test that usually generates this many."""
    return examples * FACTOR
