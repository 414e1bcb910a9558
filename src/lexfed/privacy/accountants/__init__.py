# SPDX-License-Identifier: Apache-2.0
"""Accountants: epsilon and delta of composed Gaussian steps, and the way back.

Start with `composition`, which offers all three by name: `gdp` (exact, without
sampling; also the `Step` that all of them compose), `rdp` (Rényi, closed form) and
`pld` (privacy loss distributions of dp-accounting, imported on first use).
`calibration` finds the noise that a budget asks for.

An accountant may be made faster or tighter as long as it never reports less than the
truth; each names its theorem. There is none by central limit theorem: it under-reports.
"""
