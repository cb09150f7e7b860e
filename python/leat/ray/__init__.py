# SPDX-License-Identifier: Apache-2.0
"""leat on a Ray cluster: feed has batches made by actors, pack makes the parts of a pack as tasks. See docs/scaling.md and docs/pack.md.

Importing this module does not import Ray.
"""
from .feed import feed
from .packing import pack

__all__ = ["feed", "pack"]
