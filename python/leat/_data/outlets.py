# SPDX-License-Identifier: Apache-2.0
"""Methods of a dataset that hand it to a framework, or look at what it gives. Each imports what it needs when it is
called."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .dataset import Dataset
    from .packing import Packed
    from .records import Saved


class Outlets:
    """A part of Dataset."""

    @property
    def _whole(self) -> Dataset:
        return cast("Dataset", self)

    @property
    def _here(self) -> Dataset:
        """For what looks at the data itself: without processes elsewhere that make batches."""
        return self._whole

    def to_keras(self) -> Any:
        """For Keras 3, on any backend: what `model.fit(ds)` makes of the dataset by itself, made explicitly.

            model.fit(ds.to_keras(), epochs=10, validation_data=other.to_keras())
        """
        from .._frameworks.keras import Adapter  # imports Keras

        return Adapter(self._whole)

    def to_tf(self) -> Any:
        """A tf.data.Dataset of whole batches: each iteration over it is the next epoch. Nothing is copied on the CPU.

            model.fit(ds.to_tf().prefetch(2), epochs=10)
            for images, labels in strategy.experimental_distribute_dataset(ds.to_tf()): ...
        """
        from .._frameworks.tf import to_tf

        return to_tf(self._whole)

    def to_torch(self, distributed: bool = True, *, layout: str = "nchw", dtype: Any = None, loader: bool = False,
                 device: Any = None, pin_memory: bool = False) -> Any:
        """A torch IterableDataset of whole batches: each iteration over it is the next epoch. Nothing is copied.

            for images, labels in ds.to_torch(): ...           # images: f32 (batch, channels, height, width)
            loader = ds.to_torch(loader=True)                  # a DataLoader; loader.dataset has state_dict()
            ds.to_torch(device="cuda", pin_memory=True)        # batches on the device, copied one batch ahead

        The engine stores pictures with channels first; layout="nhwc" leaves channels last. Pictures that the operations
        leave as u8 come as f32 from 0 to 1, as torchvision's ToTensor gives them; dtype is "f16" or "bf16" for these, or
        "u8" for pictures as they are. Masks and labels keep their type. If torch.distributed is initialised, each rank
        has its part of every batch; distributed=False reads everything.
        """
        from .._frameworks.torch import Form, TorchDataset, data

        made = TorchDataset(self._whole, distributed, Form.of(layout, dtype), device, pin_memory)
        return data.DataLoader(made, batch_size=None, num_workers=0) if loader else made

    def to_jax(self, device: Any = None) -> Any:
        """An iterable of batches of jax.Arrays: each iteration is the next epoch. Nothing is copied on the CPU.

            for images, labels in ds.to_jax(): ...
            for images, labels in ds.to_jax(NamedSharding(mesh, PartitionSpec("data"))): ...

        device is a jax.Device or a jax.sharding.Sharding; by default it is where JAX computes. With several processes
        each reads its part of every batch, and a sharding over all of them gives the whole batch as one array.
        """
        from .._frameworks.jax import JaxDataset

        return JaxDataset(self._whole, device)

    def save_tfrecord(self, path: str | os.PathLike[str], *, shards: int = 1, compression: str | None = None,
                      epochs: int = 1) -> Saved:
        """Writes what the dataset gives to TFRecord files, an Example for each sample: TensorFlow and leat read them.

            ds = leat.from_directory("photos").resize(256, 256)
            saved = ds.save_tfrecord("photos.tfrecord", shards=8)
            again = leat.from_text(saved.text).shuffle().batch(64)

        path: of the file; with several shards, photos.tfrecord is photos-00000-of-00008.tfrecord and so on.
        shards: samples go in turn to so many files.
        compression: None, "GZIP" or "ZLIB".
        epochs: passes over the data; several store several augmented versions of each sample.

        A field is a feature of its name. Pictures of u8 are stored as raw bytes, floats as float, integers as int64,
        strings as bytes. from_directory(path, decode=False) stores the files as they are.
        """
        from .records import save

        return save(self._here, path, shards, compression, epochs)

    def pack(self, out: str | os.PathLike[str], **options: Any) -> Packed:
        """Packs what the dataset gives into sharded TFRecords, with a manifest; can be interrupted and run again.

            leat.from_directory("photos").pack("packed", size=256, shuffle=True)

        out: the folder
        options: those of leat.pack
        """
        from .packing import pack

        return pack(self._here, out, **options)

    def statistics(self, field: str = "image", max_samples: int | None = None) -> Any:
        """Mean and standard deviation of each channel, number of samples of each class, sizes: one pass over the data.

            found = ds.statistics()
            found.mean, found.std, found.class_counts, found.height, found.width

        field: the field whose values count
        max_samples: look at so many only, of a dataset without end
        """
        from .statistics import measure

        return measure(self._here, field, max_samples)

    def class_weights(self, field: str = "label") -> dict[int, float]:
        """A weight for each class, so that all weigh the same: n / (classes * count). Only labels are read.

            model.fit(ds, class_weight=ds.class_weights())

        field: the field of the labels
        """
        from .statistics import class_weights

        return class_weights(self._here, field)

    def doctor(self, step_ms: float = 0.0, seconds: float = 3.0) -> Any:
        """Why this pipeline is slow and what to do, as `leat doctor` tells: its rate, what binds, remedies that were tried.

            print(ds.doctor(step_ms=35))

        step_ms: how long a training step works on a batch; 0: the data alone
        seconds: how long the pipeline runs before remedies are tried
        """
        from .._doctor.engine import examine_dataset

        return examine_dataset(self._here, step_ms, seconds)

    def show(self, n: int = 6, versions: int = 5, size: int = 160) -> Any:
        """A contact sheet: n samples as they are, and beside each what the pipeline makes of it in several epochs.

            ds.show(4)                       # in a notebook
            ds.show(4).save("sheet.png")

        Labels stand below with the names of their classes. A mask (`mask("mask")`) tints its picture, boxes
        (`boxes("box", labels="class")`) are frames with the names of their classes.

        n: how many samples, spread over the epoch
        versions: how many epochs
        size: of the longer side of a picture, in pixels
        """
        from .show import sheet

        return sheet(self._here, n, versions, size)
