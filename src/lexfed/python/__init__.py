# SPDX-License-Identifier: Apache-2.0
"""The names of `import lexfed`: the commands as functions, for scripts and notebooks.

    settings    keywords of a call, as the tables of a configuration
    requests    a file, a data frame or one frame per site, ready to be priced
    drafts      `init`: the first configuration of a table
    training    `check`, `plan`, `train`, `predict`, `load`, `demo`
    evidence    `verify`, `write_report`
    policy_evaluation   `evaluate_policy`: attacks and costs on one's own data
    own_models  `check_model`: a factory of one's own, tried before anything is charged

`lexfed.tagging` has `tag`, `lexfed.sklearn` the estimators. Nothing here decides about
budgets: everything is refused where the commands refuse it.
"""
