# SPDX-License-Identifier: Apache-2.0
"""Makes the semantic network of the tagger: teacher, student, and their figures."""
