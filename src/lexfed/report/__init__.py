# SPDX-License-Identifier: Apache-2.0
"""What people read: the report, documents for compliance, the evidence bundle."""
