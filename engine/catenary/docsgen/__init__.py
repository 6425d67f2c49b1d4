"""The reference in `docs/`, made from the code: what is written by hand in two places is wrong in one of them."""

from __future__ import annotations

from catenary.docsgen.site import Change, compare, pages, write

__all__ = ["Change", "compare", "pages", "write"]
