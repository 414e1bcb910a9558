# SPDX-License-Identifier: Apache-2.0
"""The number of people two organisations share: each pays before it answers.

Start with `payment`, which reads the people of a file, charges the lasting
ledger and makes a noised sketch. `exact_count` is the way by private set
intersection, with a question, an answer that is paid for and a noised count;
`set_intersection` wraps the optional library `openmined-psi`.

Nothing is drawn before it is paid, and nothing is paid for a question that is
not as agreed. Messages and noise themselves are in `lexfed.sketch.joining`.
"""
