# SPDX-License-Identifier: Apache-2.0
"""Log folders written, damaged and judged by independent programs."""
