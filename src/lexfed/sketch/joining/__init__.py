# SPDX-License-Identifier: Apache-2.0
"""How many people two organisations share, before they agree to join.

keys      keys of people, written alike on both sides
noise     Laplace or Gaussian noise on one table and one count, and its price
terms     what both agree on in public: how many people, which seed, how much noise
offered   one organisation's noised sketch, and the file it leaves in
compared  two sketches: intersection, union, Jaccard, shares, with intervals
messages  files of the exact way: a question, an answer, a told number
exact     private set intersection, only its size, with noise that the answering
side adds before anybody sees the number
"""
