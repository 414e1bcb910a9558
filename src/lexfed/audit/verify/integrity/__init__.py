# SPDX-License-Identifier: Apache-2.0
"""Is the log genuine, complete and in order, and are its files the logged ones?

`bindings` checks signatures, keys and the chain of entries; `round_sequence`
that every round is there once; `files` the blobs and files of the run folder;
`outside_evidence` the reader's trust file, witnesses, pin and clocks;
`certificates` evaluates the rules again.

The module for time stamps is imported only where it is needed, since it can
also use a network. A file of the run folder may be missing, because evidence
bundles leave some out; a file that is there must be the logged one.
"""
