import gc
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _leftovers_end_here() -> Iterator[None]:
    """The framework leaves connections and loops to the garbage collector; they are not to warn in other modules' tests."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
