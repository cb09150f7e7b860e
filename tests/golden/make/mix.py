# SPDX-License-Identifier: Apache-2.0
"""What torchvision's MixUp and CutMix make of small batches, and Keras of smoothed labels, as a C header.

    python tests/golden/make/mix.py        with torch, torchvision, keras and tensorflow

Writes tests/golden/mix_golden.h, which tests/unit/test_mix.c compares with bit for bit: f32 pictures and labels in the
arithmetic of both libraries. Both libraries draw once for a whole batch and take the sample before as the partner; leat
draws for each sample and takes the next one of a group, so what is compared is one pair at a time, with the share and
the middle of the box given.
"""
import os
import pathlib

os.environ["KERAS_BACKEND"] = "tensorflow"  # torch divides a number by a tensor in two steps

import numpy as np
import torch

try:
    from torchvision.transforms import v2
except RuntimeError:  # its compiled part is missing: nothing here needs it, but importing does
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import sys
    for name in [name for name in sys.modules if name.startswith("torchvision")]:
        del sys.modules[name]
    from torchvision.transforms import v2
import keras
import torchvision

OUT = pathlib.Path(__file__).resolve().parent.parent / "mix_golden.h"
LABELS = 5


def numbers(values) -> str:
    return "{" + ", ".join(float(v).hex() for v in np.asarray(values).ravel()) + "}"


def pair(height, width, channels, seed):
    """Two pictures and their labels; after rolling by one, the partner of the second is the first."""
    random = np.random.RandomState(seed)
    pictures = torch.tensor(random.uniform(-2, 2, (2, channels, height, width)).astype(np.float32))
    labels = torch.tensor(random.dirichlet([1] * LABELS, 2).astype(np.float32))
    return pictures, labels


def fixed(transform, share):
    share = float(np.float32(share))
    transform._dist = type("Dist", (), {"sample": lambda self, shape: torch.tensor([share])})()
    return transform, share


def mixup() -> list[str]:
    rows = []
    for i, share in enumerate([0.3, 0.9999, 1e-6, 0.5, 1 / 3]):
        pictures, labels = pair(3, 5, 2, i)
        transform, share = fixed(v2.MixUp(alpha=1.0), share)
        mixed, mixed_labels = transform(pictures, labels)
        rows.append("    {" + ",\n     ".join([share.hex(), *(numbers(x) for x in (
            pictures[1], pictures[0], mixed[1], labels[1], labels[0], mixed_labels[1]))]) + "},")
    return rows


def cutmix() -> list[str]:
    rows = []
    cases = [(0.3, 4, 6, 3, 2), (0.75, 9, 7, 0, 0), (0.0, 5, 5, 4, 4), (0.999, 8, 8, 4, 4), (0.5, 1, 9, 5, 0),
             (0.2, 11, 3, 2, 10)]
    for i, (share, height, width, x, y) in enumerate(cases):
        pictures, labels = pair(height, width, 3, 100 + i)
        transform, share = fixed(v2.CutMix(alpha=1.0), share)
        at = iter([x, y])
        real, torch.randint = torch.randint, lambda high, size: torch.tensor([next(at)])
        try:
            mixed, mixed_labels = transform(pictures, labels)
        finally:
            torch.randint = real
        inside = (mixed[1] == pictures[0]).all(0)
        rows_in, columns_in = np.flatnonzero(inside.any(1)), np.flatnonzero(inside.any(0))
        box = ([columns_in[0], rows_in[0], columns_in[-1] + 1, rows_in[-1] + 1] if len(rows_in) else [0, 0, 0, 0])
        rows.append("    {" + ", ".join([share.hex(), *map(str, (height, width, x, y)),
                                        "{" + ", ".join(map(str, box)) + "}"]) + ",\n     " +
                    ",\n     ".join(numbers(v) for v in (labels[1], labels[0], mixed_labels[1])) + "},")
    return rows


def smoothing() -> list[str]:
    """The labels that Keras gives to its loss: read off by a loss that returns them."""
    rows = []
    seen = {}
    real = keras.ops.categorical_crossentropy

    def spy(y_true, y_pred, **_):
        seen["labels"] = keras.ops.convert_to_numpy(y_true)
        return real(y_true, y_pred)

    keras.src.losses.losses.ops.categorical_crossentropy = spy
    for share, classes in [(0.1, 10), (0.1, 3), (0.2, 1000), (1.0, 7), (0.3, 6)]:
        labels = np.eye(classes, dtype=np.float32)[:1]
        keras.losses.categorical_crossentropy(labels, np.full_like(labels, 1 / classes), label_smoothing=share)
        rows.append(f"    {{{share!r}, {classes}, {float(seen['labels'][0, 0]).hex()}, "
                    f"{float(seen['labels'][0, 1]).hex()}}},")
    return rows


OUT.write_text(f"""/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/golden/make/mix.py with torchvision {torchvision.__version__.split("+")[0]} and Keras {keras.__version__}. */
#ifndef LEAT_TESTS_MIX_GOLDEN_H
#define LEAT_TESTS_MIX_GOLDEN_H

enum {{ GOLDEN_LABELS = {LABELS}, GOLDEN_VALUES = 30 }};

/* clang-format off */
static const struct {{ /* lambda; a picture, its partner, the mixture; the same of labels */
    double lambda;
    float own[GOLDEN_VALUES], other[GOLDEN_VALUES], mixed[GOLDEN_VALUES];
    float own_labels[GOLDEN_LABELS], other_labels[GOLDEN_LABELS], mixed_labels[GOLDEN_LABELS];
}} mixup_golden[] = {{
{chr(10).join(mixup())}
}};

static const struct {{ /* lambda, size of the picture, middle of the box; the box: left, top, right, bottom */
    double lambda;
    int height, width, x, y, box[4];
    float own_labels[GOLDEN_LABELS], other_labels[GOLDEN_LABELS], mixed_labels[GOLDEN_LABELS];
}} cutmix_golden[] = {{
{chr(10).join(cutmix())}
}};

static const struct {{
    double smoothing;
    int classes;
    float on, off;
}} smoothing_golden[] = {{
{chr(10).join(smoothing())}
}};
/* clang-format on */

#endif
""")
print(OUT.name, OUT.stat().st_size)
