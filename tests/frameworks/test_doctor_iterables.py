# SPDX-License-Identifier: Apache-2.0
"""leat.doctor on the data sets of TensorFlow, Keras and torch, and leat.torch.Doctor on loops of torch: injected times are
found, the cause is named, and training is not changed."""
import time

import keras
import leat
import numpy
import pytest
import tensorflow as tf
import torch

torch.set_num_threads(1)  # threads of torch wait for each other on a busy machine
PICTURES = numpy.zeros((64, 8, 8, 3), "u1")
LABELS = numpy.arange(64)
WAIT, WORK = 0.06, 0.02


def work(batch: object) -> None:
    time.sleep(WORK)


def late(image, label):
    time.sleep(WAIT / 8)
    return image, label


class Slow(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, i: int):
        time.sleep(WAIT / 8)
        return torch.zeros(3, 8, 8), i % 4


class SlowSequence(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int):
        time.sleep(WAIT)
        return PICTURES[:8], LABELS[:8]


def tf_data() -> tf.data.Dataset:
    def make():
        for image, label in zip(PICTURES, LABELS):
            yield late(image, label)

    spec = tf.TensorSpec((8, 8, 3), tf.uint8), tf.TensorSpec((), tf.int64)
    return tf.data.Dataset.from_generator(make, output_signature=spec).batch(8)


@pytest.mark.parametrize("make, line", (
    (tf_data, "import leat.auto"),
    (lambda: torch.utils.data.DataLoader(Slow(), batch_size=8), "DataLoader(dataset, batch_size=8, num_workers="),
    (SlowSequence, "SlowSequence(..., workers="),
), ids=("tf.data", "DataLoader", "PyDataset"))
def test_waiting_for_data_sets_of_frameworks(make, line):
    found = leat.doctor(make(), step=work, steps=14)
    waiting = found.find("input")  # not always the first: a busy machine may begin an epoch late
    assert waiting is not None and found.batch == 8, str(found)
    assert found.wait_s >= WAIT * 0.5 and found.compute_s >= WORK  # TensorFlow may work ahead during a step
    assert waiting.share == pytest.approx(0.75, abs=0.2), str(found)
    assert any(remedy.change.startswith(line) and remedy.gain > 1.5 for remedy in found.remedies), str(found)


def train(doctor, slow: float = 0.0) -> tuple[list[torch.Tensor], object]:
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Dropout(0.3), torch.nn.Linear(144, 2000),
                                torch.nn.ReLU(), torch.nn.Linear(2000, 4))
    data = torch.utils.data.TensorDataset(torch.randn(64, 3, 8, 8), torch.arange(64) % 4)
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    watched = doctor(model)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        for images, labels in watched(loader) if watched else loader:
            time.sleep(slow)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()], watched


def test_a_torch_loop_is_not_changed_and_its_layers_are_told(capsys):
    plain, _ = train(lambda model: None)
    watched, doctor = train(lambda model: leat.torch.Doctor(model, steps=12), slow=0.01)
    assert all(torch.equal(a, b) for a, b in zip(plain, watched))
    found = doctor.diagnosis()
    assert found.find("compute").share > 0.7 and found.find("input") is None, str(found)
    assert "leat doctor: " in capsys.readouterr().err
    head, *rows = found.tables[0].head, *found.tables[0].rows
    assert rows[0][:2] == ("3", "Linear") and rows[0][3] == "290.0 k", rows  # 144 x 2000 and 2000
    assert rows[0][4] == "576.0 k"  # operations: 2 x 144 x 2000
    assert ("0", "Conv2d") in [row[:2] for row in rows] and [row[4] for row in rows if row[0] == "0"] == ["7.8 k"]


def test_a_torch_loop_that_waits():
    doctor = leat.torch.Doctor(steps=0)
    watched = doctor(torch.utils.data.DataLoader(Slow(), batch_size=8))
    assert len(watched) == 8 and watched.batch_size == 8
    for _ in range(2):
        for batch in watched:
            work(batch)
    found = doctor.diagnosis()
    assert found.findings[0].cause == "input" and found.findings[0].share == pytest.approx(0.75, abs=0.12), str(found)
    assert "num_workers=" in str(found) and "leat.from_python(" in str(found)


def test_a_torch_loop_without_steps():
    assert "no step has ended" in str(leat.torch.Doctor().diagnosis())
