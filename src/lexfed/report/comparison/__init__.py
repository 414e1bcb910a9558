# SPDX-License-Identifier: Apache-2.0
"""Several runs side by side: what each guarantees, costs and measured.

page                 the page, and the same as JSON
run_facts            the rows of the table, the whole record's guarantee first
result_groups        results that may be compared, and their chart
together             what the runs cost somebody who is in all of them
setting_differences  the keys in which configurations differ
compared_runs        runs as they were read: verified, or with the reason why not
"""
