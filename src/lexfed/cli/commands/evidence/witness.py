# SPDX-License-Identifier: Apache-2.0
"""`lexfed witness`: what another organisation runs to keep logs to one history."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.groups import command_group
from lexfed.counted_words import counted
from lexfed.errors import AuditError, RunFolderError

witness = command_group("Run a witness, which cosigns the logs of others.")

WitnessArgument = Annotated[
    Path, Argument(help="Folder of the witness.", readable=False)
]


@witness.command("init")
def witness_init(
    folder: WitnessArgument,
    name: Annotated[str, Option(help="Its name, such as witness.example.org/1.")],
) -> None:
    """Make a witness: its key, and an empty list of logs."""
    from lexfed.audit.witness.cosigner import Witness

    with closing(Witness.create(folder, name)) as made:
        print(made.key.vkey)
    talk.say(
        f"made a witness in {folder}; give its key (above) to those who trust it\n"
        f"next: `lexfed witness add {folder} VKEY` for every log, then "
        f"`lexfed witness serve {folder}`"
    )


@witness.command("add")
def witness_add(
    folder: WitnessArgument,
    vkey: Annotated[str, Argument(help="Public key of the log, as a vkey.")],
) -> None:
    """Add a log to those that are witnessed."""
    from lexfed.audit.witness.cosigner import parse_logs
    from lexfed.durable import write_atomically
    from lexfed.signing.keys import load_public
    from lexfed.signing.notes import VerifierKey

    _require(folder)
    path = folder / "logs"
    try:
        key = VerifierKey.parse(vkey.removeprefix("log "))
        before = path.read_text(encoding="utf-8")
    except AuditError as error:
        raise AuditError(
            error.message, error.hint or "paste what `lexfed log key RUN` prints"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise RunFolderError(f"`{path}` cannot be read") from error
    if before and not before.endswith("\n"):  # edited by hand
        before += "\n"
    after = f"{before}log {key.vkey}\n"
    parse_logs(after, str(path))  # a list that is not sound would stop the witness
    if key.public == load_public(folder / "witness.pub.pem"):
        raise AuditError("a witness cannot witness a log with its own key")
    write_atomically(path, after.encode())
    talk.say(f"`{key.name}` is witnessed from the next start, or SIGHUP, on")


@witness.command("serve")
def witness_serve(
    folder: WitnessArgument,
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="0: a free one.")] = 8420,
    certificate: Annotated[
        Path | None, Option(help="Certificate chain in PEM, for TLS.")
    ] = None,
    certificate_key: Annotated[
        Path | None, Option(help="Private key of the certificate.")
    ] = None,
) -> None:
    """Answer logs until stopped; SIGHUP reads the list of logs again."""
    from lexfed.audit.witness.server import TlsCertificate, WitnessServer
    from lexfed.audit.witness.server import serve as serve_witness

    _require(folder)
    if (certificate is None) != (certificate_key is None):
        raise RunFolderError(
            "TLS needs both a certificate and its key",
            "give `--certificate` and `--certificate-key`",
        )
    tls = None
    if certificate is not None and certificate_key is not None:
        tls = TlsCertificate(certificate, certificate_key)

    def started(server: WitnessServer) -> None:
        count = len(server.witness.origins)
        logs = counted(count, "log")
        talk.say(f"witness of {logs} at {server.url}; stop with Ctrl-C")

    serve_witness(folder, host, port, certificate=tls, started=started)


def _require(folder: Path) -> None:
    if not (folder / "vkey").is_file():
        raise RunFolderError(
            f"`{folder}` is not the folder of a witness",
            f"make one with `lexfed witness init {folder} --name NAME`",
        )
