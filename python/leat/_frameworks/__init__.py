# SPDX-License-Identifier: Apache-2.0
"""A dataset in TensorFlow, Keras, PyTorch and JAX."""
