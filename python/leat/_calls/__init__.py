# SPDX-License-Identifier: Apache-2.0
"""Functions of the user that the engine calls, in this process or in worker processes."""
