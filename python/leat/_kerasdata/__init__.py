# SPDX-License-Identifier: Apache-2.0
"""Data sets of Keras: folders of pictures, and layers that move from a model into the pipeline."""
