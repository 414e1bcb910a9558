# SPDX-License-Identifier: Apache-2.0
"""Accountants: epsilon and delta of composed Gaussian steps, and the way back.

Start with `composition`, which offers all three by name: `gdp` (exact, without
sampling), `rdp` (Rényi, closed form) and `pld` (privacy loss distributions of
dp-accounting, imported on first use). `steps` is the common vocabulary,
`calibration` finds the noise that a budget asks for, `noise_levels` merges many
levels into few.

An accountant may be made faster or tighter as long as it never reports less
than the truth; each names its theorem. The names `gdp`, `rdp` and `pld` are
values of configurations, claims and logs. There is no accountant by central
limit theorem, since it under-reports.
"""
