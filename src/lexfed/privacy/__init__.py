# SPDX-License-Identifier: Apache-2.0
"""What a release costs: events, accountants, filters, ledgers, noise and claims."""
