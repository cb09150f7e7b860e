# SPDX-License-Identifier: Apache-2.0
"""one_hot, mixup and cutmix on the command: labels, groups, layouts, types, and that nothing but the text decides."""
import re

import numpy
import pytest

HEAD = "synth 50 10 12 | shuffle | random_flip_left_right | one_hot label 10"


def arrays(leat, folder, text: str, *words) -> dict:
    leat("run", text, "--sink", f"npy:{folder}", "-q", *words)
    return {field: numpy.concatenate([numpy.load(path) for path in sorted(folder.glob(f"*_{field}.npy"))])
            for field in ("image", "label")}


def digest(leat, text: str, *words, **env) -> str:
    return leat("run", text, "--sink", "digest", "-q", "--epochs", 2, *words, env=env).stdout


@pytest.mark.parametrize("mix", ["mixup 0.4", "cutmix", "mixup p=0.5 | cutmix p=0.5"])
@pytest.mark.parametrize("store", ["cast u8", "cast f32 scale=1/255", "cast f32 layout=nchw", "cast f16", "cast bf16"])
def test_the_same_bytes(leat, tmp_path, mix, store):
    mix = mix.replace(" |", " group=4 |") + " group=4"
    text = f"{HEAD} | {store} | batch 8 | {mix}"
    first = digest(leat, text)
    for words, env in ((("--threads", 1), {}), (("--threads", 5), {"LEAT_STALL": "400"}), (("--synchronous",), {}),
                       ((), {"LEAT_CPU_MASK": "0"}), (("--slots", 2), {})):
        assert digest(leat, text, *words, **env) == first, (words, env)
    assert digest(leat, f"{text} | options fuse=off") == first
    whole = arrays(leat, tmp_path / "8", text)
    for batch in (4, 20, 52):
        other = arrays(leat, tmp_path / str(batch), f"{HEAD} | {store} | batch {batch} | {mix}")
        for field in whole:
            assert (whole[field].view("u1") == other[field].view("u1")).all(), (batch, field)


def test_layouts_agree(leat, tmp_path):
    for mix in ("mixup", "cutmix"):
        last = arrays(leat, tmp_path / f"{mix}1", f"{HEAD} | cast f32 | batch 16 | {mix}")
        first = arrays(leat, tmp_path / f"{mix}2", f"{HEAD} | cast f32 layout=nchw | batch 16 | {mix}")
        assert (last["image"].transpose(0, 3, 1, 2) == first["image"]).all() and (last["label"] == first["label"]).all()


def test_cutmix_takes_a_box(leat, tmp_path):
    plain = arrays(leat, tmp_path / "plain", f"{HEAD} | batch 16")
    text = f"{HEAD} | batch 16 | cutmix"
    mixed = arrays(leat, tmp_path / "mixed", text)
    rows = leat("run", text, "--params", "-q").stdout.splitlines()
    order = [int(re.search(r"sample (\d+)", row)[1]) for row in rows]
    boxes = 0
    for i, row in enumerate(rows):
        want, label = plain["image"][i].copy(), plain["label"][i]
        found = re.search(r"cutmix lambda=(\S+) partner=(\d+) x=(\d+) y=(\d+) width=(\d+) height=(\d+)", row)
        if found:
            share = float(found[1])
            partner, x, y, width, height = map(int, found.groups()[1:])
            k = order.index(partner)
            assert k == min(i // 16 * 16 + 15, 49) + 1 - min(16, 50 - i // 16 * 16) if i in (15, 31, 47, 49) else i + 1
            want[y:y + height, x:x + width] = plain["image"][k][y:y + height, x:x + width]
            assert share == pytest.approx(1 - width * height / 120, abs=1e-8)
            label = label * share + plain["label"][k] * (1 - share)
            boxes += 1
        assert (mixed["image"][i] == want).all()
        assert numpy.abs(mixed["label"][i] - label).max() < 1e-6
    assert boxes > 35


def test_labels_add_up(leat, tmp_path):
    made = arrays(leat, tmp_path / "a", f"{HEAD} smoothing=0.1 | batch 10 | mixup group=10 | cutmix group=10")
    assert numpy.allclose(made["label"].sum(1), 1, atol=1e-6) and (made["label"] >= 0.00999).all()


def test_a_group_of_one_stays(leat, tmp_path):
    """49 samples: the last group of 8 has one member, of 12 too, of 7 none."""
    head = HEAD.replace("50", "49")
    plain = arrays(leat, tmp_path / "plain", f"{head} | batch 8")
    mixed = arrays(leat, tmp_path / "mixed", f"{head} | batch 8 | mixup 1 group=8")
    assert (plain["image"][48] == mixed["image"][48]).all() and (plain["label"][48] == mixed["label"][48]).all()
    assert all((plain["image"][i] != mixed["image"][i]).any() for i in range(48))


def test_one_hot(leat, tmp_path):
    made = arrays(leat, tmp_path / "a", "synth 10 4 4 | one_hot label 12 | batch 10")
    assert made["label"].dtype == "f4" and (made["label"] == numpy.eye(12)[:10]).all()
    made = arrays(leat, tmp_path / "b", "synth 10 4 4 | cast label u8 | one_hot 10 off=-1 on=2 | batch 10")
    assert (made["label"] == numpy.eye(10) * 3 - 1).all()
    made = arrays(leat, tmp_path / "c", "synth 10 4 4 | one_hot 10 smoothing=0.2 | cast label f64 | batch 10")
    assert numpy.allclose(made["label"], numpy.eye(10) * 0.8 + 0.02)


def test_classes_of_a_folder(leat, tmp_path, pictures):
    text = f"folder {pictures} | decode | resize 8 8 | one_hot | batch 23"
    assert arrays(leat, tmp_path / "a", text)["label"].shape == (23, 3)
    error = leat("run", f"folder {pictures} | decode | resize 8 8 | batch 16 | mixup", code=1).stderr
    assert "write one_hot label 3 before batch" in error
    assert "label 2 lies outside of 2 classes" in leat(
        "run", f"folder {pictures} | decode | resize 8 8 | one_hot label 2 | batch 23", code=1).stderr


def test_plan_shows_it(leat):
    plan = leat("plan", f"{HEAD} | batch 32 | mixup | cutmix").stdout
    assert "mixup of neighbours in groups of 16" in plan and "cutmix of neighbours in groups of 16" in plan
    assert "a number for each of 10 classes" in plan


def test_not_past_the_caches(leat):
    big = "synth 64 224 224 | cast f32 | one_hot label 10 | batch 64"
    assert "into the batch" in leat("plan", f"{big} | mixup").stdout
    assert "past the caches" not in leat("plan", f"{big} | mixup").stdout
