# SPDX-License-Identifier: Apache-2.0
"""Where datasets come from: folders, records, arrays, tables, archives, datasets of other libraries."""
