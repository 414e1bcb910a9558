# SPDX-License-Identifier: Apache-2.0
"""What people read: a report, the documents compliance asks for, the evidence bundle."""
