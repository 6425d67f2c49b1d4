"""Tests that every component should pass, also those of other packages.

```python
from catenary.testing.conformance import conformance

from my_package import DoorState

test_conforms = conformance(DoorState)
```

That is a test function with one test for each check. What a component needs to reach all that it declares is given as
cases: `conformance(DoorState, cases=[Case("a door that is stuck", config={...}, leaves_by=["Failure"])])`. Outside of
pytest, `check(DoorState)` gives the problems that were found; `conformance_of("my_package")` tests all components of a
package.
"""

from __future__ import annotations

from catenary.testing.conformance.case import Case, Subject
from catenary.testing.conformance.suite import CHECKS, About, Problem, check, conformance, conformance_of

__all__ = ["CHECKS", "About", "Case", "Problem", "Subject", "check", "conformance", "conformance_of"]
