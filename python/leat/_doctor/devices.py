# SPDX-License-Identifier: Apache-2.0
"""Devices of this machine, and whether the framework uses them: the first thing to look at."""
from __future__ import annotations

import os
import sys
from typing import Any

from .findings import Diagnosis, Finding, Remedy

VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD"}
INSTALL = {
    "tensorflow": 'pip install "tensorflow[and-cuda]"',
    "torch": "pip install torch --index-url https://download.pytorch.org/whl/cu126",
    "jax": 'pip install "jax[cuda12]"',
}
SMI = ("nvidia-smi proves little here. Its utilisation is the part of the time in which any kernel ran, even one that used one "
       "of a hundred cores of the device; its memory is what the framework has reserved (TensorFlow and JAX reserve most of it at "
       "the start), not what the model needs. Neither says that the device is fed, or that it is busy.")


def on_machine(root: str = "/") -> list[str]:
    """Devices for computing that the system has, also if no framework sees them: "NVIDIA", "AMD"."""
    found = []
    folder = os.path.join(root, "sys/bus/pci/devices")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        words = []
        for part in ("class", "vendor"):
            try:
                with open(os.path.join(folder, name, part), encoding="ascii") as file:
                    words.append(file.read().strip())
            except OSError:
                words.append("")
        display = words[0].startswith(("0x0300", "0x0302", "0x0380", "0x1200"))
        if display and words[1] in VENDORS:
            found.append(VENDORS[words[1]])
    if not found and os.path.exists(os.path.join(root, "proc/driver/nvidia/version")):
        found.append("NVIDIA")
    if not found and os.path.exists(os.path.join(root, "dev/dxg")):  # Windows Subsystem for Linux
        found.append("GPU of the Windows host")
    return found


def seen_by(framework: str) -> list[str]:
    """Names of the devices besides the processor that a framework sees."""
    module: Any = sys.modules.get(framework)
    if module is None:
        return []
    if framework == "tensorflow":
        return [device.name for device in module.config.list_physical_devices() if device.device_type != "CPU"]
    if framework == "torch":
        if module.cuda.is_available():
            return [module.cuda.get_device_name(i) for i in range(module.cuda.device_count())]
        return ["mps"] if getattr(module.backends, "mps", None) is not None and module.backends.mps.is_available() else []
    return [str(device) for device in module.devices() if device.platform != "cpu"]


def check(found: Diagnosis, framework: str, used: str, root: str = "/") -> list[str]:
    """Adds what is to be said about devices; gives the names of those that the framework sees.

    used: where the model's variables are, such as "cpu"; "" if it is not known
    """
    machine, seen = on_machine(root), seen_by(framework)
    if machine and not seen:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        if hidden is not None and hidden.strip() in ("", "-1"):
            why, change = f"CUDA_VISIBLE_DEVICES={hidden!r} hides it", "unset CUDA_VISIBLE_DEVICES"
        else:
            why = f"this build of {framework} has no support for it, or its driver is not loaded"
            change = INSTALL[framework] if machine[0] != "AMD" else f"# a build of {framework} for ROCm"
        found.add(Finding("device", f"A device is present and not used: this machine has a GPU ({machine[0]}), and {framework} "
                          "computes on the processor.", 0.0, f"{framework} lists no device besides the processor: {why}", True))
        found.offer(Remedy(f"let {framework} use the GPU", 0.0, "an installation", change))
    elif seen and used.lower().startswith("cpu"):
        found.add(Finding("device", f"A device is present and not used: {framework} sees {seen[0]}, and the model is on the "
                          "processor.", 0.0, "asked for the device of the model's variables", True))
        found.offer(Remedy("the model on the device", 0.0, "", {
            "torch": 'model.to("cuda")  # and the batches: images = images.to("cuda", non_blocking=True)',
            "tensorflow": '# remove tf.device("/CPU:0") around the model, and tf.config.set_visible_devices([], "GPU")',
            "jax": "# remove jax.default_device(...), JAX_PLATFORMS=cpu"}[framework]))
    if machine or seen:
        found.notes.append(SMI)
    return seen
