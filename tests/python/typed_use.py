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
    epoch: int = batch.epoch
    names: list[str] = batch.keys()
    batch.shape  # wrong
for images, labels in ds:  # of any form: Any
    images.mean()
pairs: leat.Dataset[tuple[object, object]] = leat.synthetic().as_tuple("image", "label")
for left, right in ds.as_tuple("image", "label").shuffle().batch(4):
    left.mean(), right.mean()
for left, right in ds.as_tuple("image"):  # wrong
    pass
for fields in ds.as_dict():
    fields["image"].mean(), fields.keys()
    fields.image  # wrong
weights: dict[int, float] = ds.class_weights()
leat.from_tfrecord(["a", "b"], {"image": "bytes"}).decode().resize(8, 8, method="area").padded_batch(4)
ds.resize((224, 224)).resize(size=224).resize(height=[8, 9]).batch(batch_size=4).batch(4, True)
ds.shuffle(buffer_size=1000).shuffle(1000, 7, reshuffle_each_iteration=False).decode("mask").boxes("box")
ds.cast("pixels", "f32").cast("f32").cast(dtype="f32", field="x").one_hot("label", 10).one_hot(num_classes=10)
ds.padded_batch(4, max={"boxes": (10, 4)}).image_data_generator(rotation_range=20, zoom_range=(0.8, 1.2))
ds.configure(threads=2, cache_dir="x", trust_cache=True).batch(2)
ds.configure(thread=2)  # wrong
ds.rezise(8)  # wrong
ds.horizontal_flip()  # wrong
ds.rebatch()  # wrong
both: leat.Dataset = leat.zip(image=ds, mask=ds).concatenate(leat.zip(ds, ds, stop="shortest"))
leat.sample_from_datasets([ds, both], weights=[0.5, 0.5], seed=1).batch(2)
leat.choose_from_datasets([ds, both], pattern=[0, 0, 1])
leat.sample_from_datasets([ds, 3])  # wrong
ds.resize("8")  # wrong
ds.resize(8, method="aera")  # wrong
ds.resize(8, hieght=3)  # wrong
leat.from_directory(3)  # wrong
train, val = ds.split(0.8, stratify=True)
part: leat.Dataset = ds.split("train", fractions=(0.8, 0.2))
for one, other in ds.kfold(5):
    one.random_apply(0.5, lambda d: d.gaussian_blur(3)).random_choice(["invert", lambda d: d.posterize(3)], weights=(2, 1))
ds.random_apply(0.5, 3)  # wrong
