# SPDX-License-Identifier: Apache-2.0
"""What leat has for programs of Ray: leat.ray.pack makes the parts of a pack as tasks of a cluster.

Importing this module does not import Ray.
"""
from .packing import pack

__all__ = ["pack"]
