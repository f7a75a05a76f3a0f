"""Whatever a stranger puts into a file, reading it ends in its contents or in one line."""

import copy
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagmix.errors import ModelFileError
from tagmix.storage import read
from tagmix.storage.container import FORMAT, HEADER, MAGIC
from tagmix.storage.manifest import aligned


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.binary(max_size=300), st.booleans())
def test_random_bytes_are_refused(tmp_path_factory, data, ours):
    path = tmp_path_factory.getbasetemp() / "random"
    path.write_bytes(MAGIC + bytes([FORMAT]) + data if ours else data)
    with pytest.raises(ModelFileError) as caught:
        read(path)
    assert "\n" not in str(caught.value)


BASE: dict[str, Any] = {
    "format": FORMAT,
    "kind": "demo",
    "written_by": "tagmix",
    "fields": {},
    "arrays": [{"name": "a", "dtype": "<i4", "shape": [2], "offset": 0, "nbytes": 8}],
    "sha256": hashlib.sha256(bytes(8)).hexdigest(),
}
odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["<f8", "|b1", "a", ""])
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*BASE, "name"]), inner),
    max_leaves=5,
)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.sampled_from([*BASE, *BASE["arrays"][0]]), odd_values)
def test_a_manifest_with_any_value_replaced_is_refused_or_true(tmp_path_factory, key, value):
    content = copy.deepcopy(BASE)
    place = content if key in content else content["arrays"][0]
    place[key] = value
    path = tmp_path_factory.getbasetemp() / "mutated"
    raw = json.dumps(content).encode()
    raw = raw.ljust(aligned(HEADER.size + len(raw)) - HEADER.size)
    header = HEADER.pack(MAGIC, FORMAT, len(raw), hashlib.sha256(raw).digest())
    path.write_bytes(header + raw + bytes(8))
    try:
        contents = read(path)
    except ModelFileError as error:
        assert "\n" not in str(error)  # noqa: PT017 (reading it is the other right answer)
        return
    # Read as it is written there: the value has passed every check, and the bytes are all used.
    assert (contents.kind, contents.fields) == (content["kind"], content["fields"])
    assert [list(array.shape) for array in contents.arrays.values()] == [
        a["shape"] for a in content["arrays"]
    ]
    assert sum(array.nbytes for array in contents.arrays.values()) == 8
