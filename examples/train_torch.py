#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional network with PyTorch.

    python examples/train_torch.py

The engine reads, shuffles, augments and normalizes; batches come as torch models take them. With a GPU they are written
into pinned memory and copied to it one batch ahead. The pictures are made up, landscapes with one of ten figures in
them: for your own, put leat.from_directory("photos/train") in place of leat.synthetic(...). docs/python.md shows how to
leave the augmentation to the device.
"""
import copy
import sys

import leat
import torch
from torch import nn

CLASSES, SIDE, EPOCHS, PATIENCE, WANTED, ENOUGH = 10, 32, 10, 4, 0.95, 0.97


def datasets() -> tuple[leat.Dataset, leat.Dataset]:
    """What is learned from, drawn anew in every epoch, and what is tested with."""
    train = (leat.synthetic(4800, SIDE + 4, SIDE + 4, classes=CLASSES, seed=1).shuffle(seed=7).random_crop(SIDE)
             .random_flip_left_right().color_jitter(0.1, 0.1).random_rotation(0.02)
             .normalize("imagenet").batch(64, drop_remainder=True))
    test = (leat.synthetic(500, SIDE + 4, SIDE + 4, classes=CLASSES, seed=2).center_crop(SIDE)
            .normalize("imagenet").batch(100))
    return train, test


def network() -> nn.Module:
    """Three blocks of convolution, batch normalization and pooling, then dropout and the classes."""
    layers: list[nn.Module] = []
    for before, after in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
                   nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.3), nn.Linear(16 * 64, CLASSES))


def main() -> int:
    torch.manual_seed(0)
    gpu = torch.cuda.is_available()
    train, test = datasets()
    model = network().to("cuda" if gpu else "cpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)  # decay is L2's part
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, epochs=EPOCHS, steps_per_epoch=len(train))
    learned, tested = (ds.to_torch(device="cuda" if gpu else None, pin_memory=gpu) for ds in (train, test))

    def accuracy() -> float:
        model.eval()
        with torch.no_grad():
            return sum(int((model(images).argmax(1) == labels).sum()) for images, labels in tested) / 500

    best, best_model, waited = 0.0, model.state_dict(), 0
    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for images, labels in learned:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        reached = accuracy()
        print(f"epoch {epoch + 1:2}: loss {total / len(train):.3f}, accuracy {reached:.1%}", flush=True)
        waited = 0 if reached > best else waited + 1
        if reached > best:
            best, best_model = reached, copy.deepcopy(model.state_dict())
        if waited == PATIENCE or best >= ENOUGH:  # early stopping
            break
    model.load_state_dict(best_model)
    best = accuracy()
    print(f"accuracy {best:.1%}")
    return 0 if best >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
