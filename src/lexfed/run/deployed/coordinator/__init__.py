# SPDX-License-Identifier: Apache-2.0
"""The coordinator of a deployment: no data, and the statements sites have signed.

Start with `epoch_driver`, which joins, plans and drives the rounds of one set-up epoch.
`job_submission` submits one FLARE job for every epoch until the run is finished,
`run_place` knows the files of a run in the coordinator's kit.

Every process here may end at any time: started again, it goes on where the run folder
says.
"""
