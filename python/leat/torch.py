# SPDX-License-Identifier: Apache-2.0
"""What leat has for loops of PyTorch, besides Dataset.to_torch(): leat.torch.Doctor tells why such a loop is slow.

Importing this module does not import torch.
"""
from ._doctor.torch_doctor import Doctor

__all__ = ["Doctor"]
