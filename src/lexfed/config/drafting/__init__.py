# SPDX-License-Identifier: Apache-2.0
"""First drafts of a configuration: proposals for columns, and the text of the file."""
