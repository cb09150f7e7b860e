#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with PyTorch on pictures that Albumentations augments, in two worker processes.

    python examples/augment_albumentations.py

leat reads, shuffles, normalizes and batches; map() hands the fields of each sample to Albumentations by their names. Every
sample has fresh draws in every epoch, and the same ones with any number of workers and after a restart. The pictures are
made up: for your own, put leat.from_directory("photos/train") in place of leat.synthetic(...).
"""
import sys

import albumentations as A
import leat
import torch
from torch import nn

CLASSES, SIDE, EPOCHS, WANTED = 10, 32, 6, 0.8

augment = A.Compose([
    A.RandomResizedCrop((SIDE, SIDE), scale=(0.8, 1.0)),
    A.HorizontalFlip(p=0.5),
    A.RandomBrightnessContrast(0.1, 0.1, p=0.5),
    A.CoarseDropout(num_holes_range=(1, 2), hole_height_range=(2, 4), hole_width_range=(2, 4), p=0.3),
])


def main() -> int:
    torch.manual_seed(0)
    train = (leat.synthetic(2400, SIDE + 4, SIDE + 4, classes=CLASSES, seed=1).shuffle(seed=7)
             .map(augment, workers=2)
             .normalize("imagenet", layout="nchw").batch(64, drop_remainder=True))
    test = (leat.synthetic(500, SIDE + 4, SIDE + 4, classes=CLASSES, seed=2).center_crop(SIDE)
            .normalize("imagenet", layout="nchw").batch(100))
    layers: list[nn.Module] = []
    for before, after in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(16 * 64, CLASSES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    learned, tested = train.to_torch(), test.to_torch()
    reached = 0.0
    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for images, labels in learned:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            reached = sum(int((model(images).argmax(1) == labels).sum()) for images, labels in tested) / 500
        print(f"epoch {epoch + 1}: loss {total / len(train):.3f}, accuracy {reached:.1%}", flush=True)
        if reached >= WANTED + 0.1:
            break
    print(f"accuracy {reached:.1%}")
    return 0 if reached >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
