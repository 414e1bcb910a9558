# SPDX-License-Identifier: Apache-2.0
"""Settings of all tests: examples are the same in every run, however slow the machine.

`pytest --hypothesis-profile=deep` draws fresh and many more examples.
"""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("deep", deadline=None, max_examples=2000)
settings.load_profile("steady")
