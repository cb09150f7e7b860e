# SPDX-License-Identifier: Apache-2.0
"""tf.data's data sets over leat's engine: what `leat.tf.data` gives. See docs/dropin-data.md."""
