# SPDX-License-Identifier: Apache-2.0
"""The job store of FLARE's server: inside the kit, wherever the kit is.

FLARE's own default is an absolute path that every user of the machine shares.
"""

from nvflare.app_common.storages.filesystem_storage import FilesystemStorage

from lexfed.federation.flare.kit.folder import Kit


class KitStorage(FilesystemStorage):  # type: ignore[misc]  # FLARE has no types
    """Files below `KIT/flare/storage`."""

    def __init__(self, name: str) -> None:
        """Open the store; FLARE expects a folder of that name in it."""
        folder = Kit.of_process().flare_folder / "storage"
        (folder / name).mkdir(parents=True, exist_ok=True)
        super().__init__(root_dir=str(folder), uri_root="/")
