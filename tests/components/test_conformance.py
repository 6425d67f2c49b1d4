"""The standard components do what every component should."""

from __future__ import annotations

from tests.components.conformance_cases import ABOUT

from catenary.testing.conformance import conformance_of

test_standard_components_conform = conformance_of("catenary_components", ABOUT)
