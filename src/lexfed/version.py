# SPDX-License-Identifier: Apache-2.0
"""The version of this package, which logs and statements of sites carry.

It stands apart from `lexfed/__init__.py` so that modules below `run` can name it
without importing the public interface.
"""

__version__ = "0.1.0"
