# SPDX-License-Identifier: Apache-2.0
"""The drop-in modules: leat.tf, leat.keras, leat.datasets, and leat.auto, which gives them to a script."""
