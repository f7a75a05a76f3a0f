"""The coordinate search finds the top of two measured landscapes."""

import numpy as np
import pytest

from tagmix.evaluation.search import coordinate_search

# Cross-validated top-5 accuracy in 1/10,000 on 2,000 pictures of Corel5k: one row per κ of SIFT words,
# ascending, one column per κ of colour words. From κ = .1 for both, one pass along the axes ends in the
# last row of EMM.
LANDSCAPES = {
    "EMM": [
        [2014, 2117, 2320, 2168, 1752, 1332, 1147],
        [2024, 2129, 2347, 2216, 1759, 1329, 1153],
        [2072, 2191, 2401, 2275, 1809, 1331, 1161],
        [2233, 2315, 2533, 2443, 1886, 1389, 1185],
        [2367, 2423, 2628, 2614, 2115, 1510, 1220],
        [2189, 2258, 2382, 2591, 2404, 1783, 1356],
        [1892, 1922, 2024, 2265, 2417, 2221, 1658],
    ],
    "DBA": [
        [1548, 1654, 1997, 2249, 2178, 1892, 1618],
        [1853, 1620, 1996, 2237, 2179, 1900, 1618],
        [1957, 1856, 2058, 2258, 2209, 1914, 1619],
        [2037, 2043, 2176, 2314, 2269, 1946, 1628],
        [2177, 2196, 2306, 2417, 2357, 2049, 1679],
        [2222, 2263, 2329, 2446, 2483, 2174, 1731],
        [2062, 2083, 2162, 2302, 2479, 2392, 1947],
    ],
}


VALUES = tuple(range(7))


@pytest.mark.parametrize("method", LANDSCAPES)
def test_the_top_of_a_measured_landscape_is_found(method):
    heights, axes = np.array(LANDSCAPES[method]), {"sift": VALUES, "colour": VALUES}
    found = coordinate_search(
        axes, {"sift": 4, "colour": 4}, lambda at: heights[at["sift"], at["colour"]], together=list(axes)
    )
    assert found.value == heights.max()
    assert len(found.tried) <= 12
