# SPDX-License-Identifier: Apache-2.0
"""One file from an archive, or an error that says why there is none."""

from email.message import Message
from http.client import HTTPException, IncompleteRead, InvalidURL
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from lexfed.errors import DataError, Problem

_SECONDS = 30
_MOST_BYTES = 200_000_000


def download(address: str, archive: str) -> bytes:
    """Return the content of an address; the `archive` has the file or names it.

    Guarantees:
        Every address on the way to it, redirects included, has `https`, unless the
        archive itself was given with `http`.

    Raises:
        DataError: if it is none or unprotected, cannot be reached, is cut off, or
            sends more than any table has.
    """
    protected = _scheme(archive) == "https"
    _refuse_unprotected(address, protected)
    try:
        opener = build_opener(_Redirects(protected))
        with opener.open(address, timeout=_SECONDS) as answer:
            body = bytes(answer.read(_MOST_BYTES + 1))
            # Not noticed by `read` where the length was announced.
            if len(body) <= _MOST_BYTES and answer.length:
                raise IncompleteRead(body, answer.length)
    # First, as a server that hangs up raises what is this and an HTTPException.
    except OSError as error:
        raise _unreachable(address, error) from error
    except (InvalidURL, ValueError) as error:
        what = f"is no address of the web ({error})"
        raise DataError([Problem(address, what)]) from error
    except HTTPException as error:
        what = f"sends half an answer or none of the web ({error!r})"
        raise DataError([Problem(address, what, "fetch it again")]) from error
    if len(body) > _MOST_BYTES:
        raise DataError([Problem(address, "sends more than any of the tables has")])
    return body


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to addresses that are as protected as the archive's."""

    def __init__(self, protected: bool) -> None:
        self._protected = protected

    def redirect_request(
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> Request | None:
        try:
            _refuse_unprotected(newurl, self._protected)
        except DataError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def _scheme(address: str) -> str:
    try:
        scheme = urlsplit(address).scheme
    except ValueError:
        scheme = ""
    if scheme not in ("https", "http"):
        raise DataError([Problem(address, "is no address of the web")])
    return scheme


def _refuse_unprotected(address: str, protected: bool) -> None:
    if _scheme(address) == "http" and protected:
        what = "is not protected by `https`, though the archive is"
        hint = "nothing was fetched; only `--archive http://...` allows it"
        raise DataError([Problem(address, what, hint)])


def _unreachable(address: str, error: OSError) -> DataError:
    if isinstance(error, HTTPError):
        error.close()
    reason = error.reason if isinstance(error, URLError) else error
    hint = (
        "fetching needs a connection to the internet; on a machine without one set "
        "LEXFED_DATA to a folder that was copied there"
    )
    return DataError([Problem(address, f"cannot be reached ({reason})", hint)])
