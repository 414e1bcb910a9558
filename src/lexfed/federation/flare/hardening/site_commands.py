# SPDX-License-Identifier: Apache-2.0
"""Commands that a site's FLARE takes from the coordinator: start, stop, watch jobs.

FLARE's client lets the server say whether a command needs the site's permission, so
`authorization.json` binds honest servers only. A coordinator that lies could have files
of the site shown to it, or a logging configuration loaded that names any function. The
commands that would do so are therefore taken out of the site's processes, and so is
everything else that jobs do not need.
"""

from lexfed.errors import ConfigError, Problem

PARENT = frozenset(
    {
        "AbortAppProcessor",
        "CancelResourceProcessor",
        "CheckResourceProcessor",
        "ClientStatusProcessor",
        "DeployProcessor",
        "NotifyJobStatusProcessor",
        "StartJobProcessor",
    }
)
"""Commands of the server to the process that lives between jobs."""

WORKER = frozenset({"AbortCommand", "AbortTaskCommand", "ByeCommand"})
"""Commands of the server to the process of a job, beside those to `executor`."""


def limit_commands() -> None:
    """Take out of this process every command that jobs do not need.

    Guarantees:
        No command is left that reads a file, runs a program, or changes a setting.

    Raises:
        ConfigError: if FLARE does not have the commands that were reviewed.
    """
    from nvflare.private.fed.client.admin_commands import AdminCommands
    from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors

    _keep(ClientRequestProcessors.request_processors, PARENT)
    _keep(AdminCommands.commands, WORKER)


def _keep(commands: list[object], names: frozenset[str]) -> None:
    kept = [command for command in commands if type(command).__name__ in names]
    if len(kept) != len(names):
        raise ConfigError(
            [
                Problem(
                    "nvflare",
                    "does not have the commands that lexfed knows",
                    "install the version that lexfed was made for: "
                    "`pip install 'lexfed[flare]'`",
                )
            ]
        )
    commands[:] = kept
