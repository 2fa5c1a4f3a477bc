"""Rows are scaled to unit length however large or small they come."""

import numpy as np
import pytest

from retrieval.embedding import EmbedderError
from retrieval.embedding.vectors import unit_rows, well_formed


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_direction_survives_any_size(size: float) -> None:
    assert np.allclose(unit_rows([[3 * size, -4 * size]]), [[0.6, -0.8]])


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_row_without_direction_is_refused(bad: list[float]) -> None:
    with pytest.raises(EmbedderError, match="zero or not finite"):
        unit_rows([[1.0, 0.0], bad])


def test_lone_surrogates_are_replaced_and_pairs_kept() -> None:
    assert well_formed(["a\ud800b", "🙂", ""]) == ["a?b", "🙂", ""]
