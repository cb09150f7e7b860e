# SPDX-License-Identifier: Apache-2.0
"""What a type checker must accept, and, where marked, refuse. It is not run."""
import leat

ds: leat.Dataset = (
    leat.from_directory("photos").shuffle(seed=7).random_resized_crop(224, scale=(0.1, 1)).random_flip_left_right()
    .normalize("imagenet").batch(64)
)
n: int = len(ds)
length: int | None = ds.length
state: str = ds.state(1, 2)
ds.restore(state)
for batch in ds.batches():
    batch.structure()
weights: dict[int, float] = ds.class_weights()
leat.from_tfrecord(["a", "b"], {"image": "bytes"}).decode().resize(8, 8, method="area").padded_batch(4)
ds.resize("8")  # wrong
ds.resize(8, method="aera")  # wrong
ds.resize(8, hieght=3)  # wrong
leat.from_directory(3)  # wrong
