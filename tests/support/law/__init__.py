# SPDX-License-Identifier: Apache-2.0
"""Identity numbers and columns that the tagger is tried on."""
