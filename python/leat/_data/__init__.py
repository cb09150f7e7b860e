# SPDX-License-Identifier: Apache-2.0
"""Dataset: the description, the methods that change it, and the iterators that run it."""
