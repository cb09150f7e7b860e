# SPDX-License-Identifier: Apache-2.0
"""ds.trace(path): what every thread of an iteration did."""
import json

import leat
import pytest


def test_a_trace_of_the_last_iteration(tmp_path):
    ds = leat.synthetic(40, 8, 8).batch(4).configure(trace=True, threads=2)
    batches = sum(1 for _ in ds)
    ds.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    made = [e["args"]["sample"] for e in events if e["name"] == "sample" and e["args"]["epoch"] == 0]
    assert sorted(made) == list(range(40))  # those of later epochs are made ahead
    assert sum(e["name"] == "wait for a batch" for e in events) == batches == 10
    ds.close()


def test_a_trace_that_was_not_kept(tmp_path):
    ds = leat.synthetic(4, 8, 8).batch(2)
    with pytest.raises(leat.ArgumentError, match=r"configure\(trace=True\) before the loop"):
        ds.trace(tmp_path / "trace.json")
    with pytest.raises(TypeError, match="trace"):
        ds.configure(trace="trace.json")
    with pytest.raises(FileNotFoundError, match="none/.*trace.json"):
        ds.configure(trace=True).trace(str(tmp_path / "none/trace.json"))
    assert not (tmp_path / "trace.json").exists()
