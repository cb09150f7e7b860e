# SPDX-License-Identifier: Apache-2.0
"""What every part of the package uses: exceptions and advice, notices, progress, memory on its way in and out."""
