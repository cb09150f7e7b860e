# SPDX-License-Identifier: Apache-2.0
"""The binding of leat_doctor: functions of Python are part of what is examined."""
import time

import numpy
import pytest

import leat


def examine(dataset, step_ms: float = 0.0) -> dict:
    return dataset._plan().pipeline.doctor(0.3, step_ms, 1, None, 0)


def test_a_function_of_python_is_the_cause():
    def slow(x):
        time.sleep(0.004)
        return x + 1

    dataset = leat.from_arrays({"x": numpy.zeros((64, 8), "float32")}).map(slow).batch(4)
    report = examine(dataset)
    assert report["cause"] == "function" and "ms for each sample" in report["sentence"]
    assert "function" in [remedy["name"] for remedy in report["remedies"]]
    assert len(list(dataset)) == 16  # the dataset is as it was


def test_a_consumer_is_served():
    report = examine(leat.from_arrays({"x": numpy.zeros((64, 8), "float32")}).batch(4), 20.0)
    assert report["cause"] == "consumer" and report["input_binds"] is False and report["binding"] == "consumer"
    assert {"samples_per_s", "seconds", "wait", "sentence", "threads", "note", "ceilings", "moments", "latency"} <= set(report)


def test_wrong_arguments():
    pipeline = leat.from_arrays({"x": numpy.zeros((4, 8), "float32")}).batch(4)._plan().pipeline
    with pytest.raises(leat.Error, match="seconds must lie"):
        pipeline.doctor(-1.0, 0.0, 1, None, 0)
    with pytest.raises(TypeError):
        pipeline.doctor()
