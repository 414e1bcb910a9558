# SPDX-License-Identifier: Apache-2.0
"""Where FLARE's server keeps jobs: inside the kit, wherever the kit is.

FLARE's own default is a folder that every user of the machine shares, given as an
absolute path, so that a kit that is moved would write to its old place.
"""

from nvflare.app_common.storages.filesystem_storage import FilesystemStorage

from lexfed.federation.flare.kit.folder import Kit


class KitStorage(FilesystemStorage):  # type: ignore[misc]  # FLARE has no types
    """Files below `KIT/flare/storage`."""

    def __init__(self, name: str) -> None:
        """Open the store.

        Args:
            name: of the folder in it that FLARE expects to be there.
        """
        folder = Kit.of_process().flare_folder / "storage"
        (folder / name).mkdir(parents=True, exist_ok=True)
        super().__init__(root_dir=str(folder), uri_root="/")
