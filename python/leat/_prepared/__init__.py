# SPDX-License-Identifier: Apache-2.0
"""Standard data sets on disk, for leat.datasets.load: what TFDS has prepared, Keras's cache, raw files."""
