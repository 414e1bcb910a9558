# SPDX-License-Identifier: Apache-2.0
"""Every setting that FLARE reads in a kit, as values that `kit.toml` determines.

`new_kits` writes them and `startup_check` compares them: a review of this file is a
review of all kits. TLS is on every connection, with certificates at both ends. Nobody
may run shell commands, bring code or shut down a site from elsewhere; the one
administrator may submit and end jobs, and ask for their status. Jobs are signed, and
name one class: no other, not even of `lexfed`, can be made by a job. No log leaves a
machine.
"""

from collections.abc import Mapping
from typing import Any

from lexfed.federation.flare.kit.folder import COORDINATOR, Kit, KitRole

ADMIN = "admin@coordinator.lexfed"
"""The submitter of jobs; FLARE wants the form of an address."""
ORGANISATION = "lexfed"
"""FLARE's owner of a site. Rights do not depend on it."""

WORK_OF: Mapping[KitRole, str] = {
    "coordinator": "lexfed.run.deployed.flare_parts.RunEpoch",
    "site": "lexfed.run.deployed.flare_parts.SiteWork",
}
"""The one class that a job may name, by where it runs."""

HEART_BEAT_TIMEOUT = 60
"""Seconds after which a silent site counts as gone. FLARE's 600 would let a run wait
ten minutes; its sites say that they are alive every 10 s."""

_RIGHTS = (
    *("submit_job", "clone_job", "manage_job", "download_job", "view", "operate"),
    *("shell_commands", "byoc", "server-predeployed-flwr"),
)
_AT_A_SITE = {"submit_job", "manage_job", "view"}
_AT_THE_COORDINATOR = _AT_A_SITE | {"operate"}

SettingsContent = dict[str, Any]


def kit_settings(kit: Kit) -> dict[str, SettingsContent]:
    """Return the content of each settings file, by its path in the kit."""
    local = {
        "flare/local/authorization.json": _authorization(kit),
        "flare/local/comm_config.json": _COMMUNICATION,
        "flare/local/log_config.json": _LOGS,
        "flare/local/resources.json": _resources(kit),
    }
    if kit.role == "site":
        return {"flare/startup/fed_client.json": _client(kit), **local}
    return {
        "flare/startup/fed_server.json": _server(kit),
        **local,
        "admin/startup/fed_admin.json": _admin(kit),
        "admin/local/resources.json": _ADMIN_RESOURCES,
    }


def certificate_owners(kit: Kit) -> dict[str, str]:
    """Return the owner of each TLS key of a kit, by the path of its certificate."""
    if kit.role == "site":
        return {"flare/startup/client.crt": kit.name}
    return {"flare/startup/server.crt": kit.name, "admin/startup/client.crt": ADMIN}


def _client(kit: Kit) -> SettingsContent:
    client = {**_tls("client"), "fqsn": kit.name, "is_leaf": True, **_MUTUAL}
    return {**_servers(kit, {"identity": COORDINATOR}), "client": client}


def _server(kit: Kit) -> SettingsContent:
    address = {"admin_server": kit.host, "admin_port": kit.port}
    return _servers(kit, {**address, **_tls("server"), **_MUTUAL})


def _servers(kit: Kit, more: SettingsContent) -> SettingsContent:
    service = {"target": kit.address, "scheme": "http"}
    return {
        "format_version": 2,
        "require_signed_jobs": True,
        "servers": [{"name": kit.project, "service": service, **more}],
    }


def _tls(end: str) -> SettingsContent:
    return {
        "ssl_private_key": f"{end}.key",
        "ssl_cert": f"{end}.crt",
        "ssl_root_cert": "rootCA.pem",
    }


_MUTUAL = {"connection_security": "mtls"}


def _admin(kit: Kit) -> SettingsContent:
    return {
        "format_version": 1,
        "admin": {
            "project_name": kit.project,
            "username": ADMIN,
            "server_identity": COORDINATOR,
            "scheme": "http",
            "host": kit.host,
            "port": kit.port,
            "connection_security": "mtls",
            "uid_source": "user_input",
            "with_file_transfer": True,
            "upload_dir": "transfer",
            "download_dir": "transfer",
            "client_key": "client.key",
            "client_cert": "client.crt",
            "ca_cert": "rootCA.pem",
        },
    }


_ADMIN_RESOURCES: SettingsContent = {
    "format_version": 1,
    "admin": {
        "idle_timeout": 900.0,
        "login_timeout": 10.0,
        "with_debug": False,
        "authenticate_msg_timeout": 2.0,
        "prompt": "> ",
    },
}


def _authorization(kit: Kit) -> SettingsContent:
    allowed = _AT_A_SITE if kit.role == "site" else _AT_THE_COORDINATOR
    rights = {right: "any" if right in allowed else "none" for right in _RIGHTS}
    none = dict.fromkeys(_RIGHTS, "none")
    others = dict.fromkeys(("org_admin", "lead", "member"), none)
    return {"format_version": "1.0", "permissions": {"project_admin": rights, **others}}


# Processes of jobs speak to their parent through a file in the kit (`inner_socket`).
_COMMUNICATION: SettingsContent = {
    "allow_adhoc_conns": False,
    "backbone_conn_gen": 2,
    "internal": {"scheme": "unix", "resources": {"connection_security": "clear"}},
}


def _file(name: str, level: str) -> SettingsContent:
    return {
        "class": "logging.handlers.RotatingFileHandler",
        "level": level,
        "formatter": "plain",
        "filename": name,
        "mode": "a",
        "maxBytes": 20_971_520,
        "backupCount": 10,
    }


_LOGS: SettingsContent = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "nvflare.fuel.utils.log_utils.BaseFormatter",
            "fmt": "%(asctime)s - %(name)s - %(levelname)s - %(fl_ctx)s - %(message)s",
        }
    },
    "handlers": {
        "log": _file("log.txt", "INFO"),
        "errors": _file("error_log.txt", "ERROR"),
        "terminal": {"class": "lexfed.federation.flare.notices.Notices"},
        "connections": {"class": "lexfed.federation.flare.connections.Connections"},
    },
    "loggers": {
        "root": {
            "level": "INFO",
            "handlers": ["log", "errors", "terminal", "connections"],
        }
    },
}


def _resources(kit: Kit) -> SettingsContent:
    common: SettingsContent = {
        "format_version": 2,
        "class_list_enforcement_mode": "enforce",
        "class_allow_list": [WORK_OF[kit.role]],
        "allow_log_streaming": False,
    }
    if kit.role == "site":
        return {
            **common,
            "client": {"retry_timeout": 30, "compression": "Gzip"},
            "components": _SITE_COMPONENTS,
        }
    return {
        **common,
        "servers": [
            {
                "admin_storage": "transfer",
                "max_num_clients": len(kit.sites),
                "heart_beat_timeout": HEART_BEAT_TIMEOUT,
                "download_job_url": "",
                "admin_timeout": 10.0,
            }
        ],
        "snapshot_persistor": {
            "path": "nvflare.app_common.state_persistors.storage_state_persistor."
            "StorageStatePersistor",
            "args": {
                "uri_root": "snapshots",
                "storage": {
                    "path": "lexfed.federation.flare.storage.KitStorage",
                    "args": {"name": "snapshots"},
                },
            },
        },
        "components": _COORDINATOR_COMPONENTS,
    }


def _part(part: str, path: str, /, **arguments: Any) -> SettingsContent:
    return {"id": part, "path": path, "args": arguments}


_SITE_COMPONENTS = [
    _part(
        "resource_manager",
        "nvflare.app_common.resource_managers.gpu_resource_manager.GPUResourceManager",
        num_of_gpus=0,
        mem_per_gpu_in_GiB=0,
        expiration_period=300,
    ),
    _part(
        "resource_consumer",
        "nvflare.app_common.resource_consumers.gpu_resource_consumer."
        "GPUResourceConsumer",
    ),
    _part("process_launcher", "lexfed.federation.flare.launcher.TolerantLauncher"),
]
_COORDINATOR_COMPONENTS = [
    _part(
        "job_scheduler",
        "nvflare.app_common.job_schedulers.job_scheduler.DefaultJobScheduler",
        max_jobs=1,
    ),
    _part(
        "job_manager",
        "nvflare.apis.impl.job_def_manager.SimpleJobDefManager",
        uri_root="jobs",
        job_store_id="job_store",
    ),
    _part("job_store", "lexfed.federation.flare.storage.KitStorage", name="jobs"),
    _part(
        "process_launcher",
        "lexfed.federation.flare.coordinator_launcher.CoordinatorLauncher",
    ),
]
