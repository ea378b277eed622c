"""The command line: arguments, exit codes, and the one place that catches everything."""

from __future__ import annotations

import errno
import sys
import traceback
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import click

import lastsignal
from lastsignal.errors import LastSignalError

EXIT_FAULT = 4
EXIT_USAGE = 3
EXIT_INTERRUPTED = 130

EPILOG = """\b
Exit codes:
  0    nothing found at or above --fail-on
  1    findings
  2    a rule or its tests are wrong
  3    input, usage or configuration
  4    a fault of Last Signal itself
  130  interrupted
"""


COMMANDS = ("config", "diagnose", "formats", "incidents", "normalize", "notify", "rules", "watch")
"""Each is the function of that name in the module of that name in `lastsignal.commands`."""


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class NobodyReads(Exception):
    """What reads the output has gone (`| head`)."""


class Commands(click.Group):
    """Imports a command when it is asked for: a postmortem need not wait for the HTTP server."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name, None where there is none of it."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"lastsignal.commands.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with.

        Raises:
            click.UsageError: there is none; it says which one may be meant.
        """
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            meant = "".join(get_close_matches(args[0], COMMANDS, 1))
            if not meant and Path(args[0]).exists():
                meant = f"diagnose {args[0]}"
            advice = f" Did you mean `lastsignal {meant}`?" if meant else ""
            ctx.fail(f"There is no command `{args[0]}`.{advice}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command.

        Raises:
            NobodyReads: instead of what click makes an exit with 1 of, which would mean findings.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise NobodyReads from error


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.version_option(lastsignal.__version__, prog_name="lastsignal")
def cli() -> None:
    """Says why an AI agent's run failed.

    Reads the traces that agents already write, from any framework, finds the cause, and shows the
    lines that it rests on. Offline, deterministic, no model is called.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code, whatever happens."""
    try:
        code = cli.main(args=arguments, prog_name="lastsignal", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except LastSignalError as error:
        click.echo(f"lastsignal: {error}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("lastsignal: interrupted", err=True)
        return EXIT_INTERRUPTED
    except (BrokenPipeError, NobodyReads):
        _write_no_more()  # not our failure
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            _write_no_more()
            click.echo(f"lastsignal: cannot write: {error.strerror}; make room", err=True)
            return EXIT_USAGE
        traceback.print_exc()
        click.echo(
            "lastsignal: a fault of Last Signal, not of your input; please report the text above",
            err=True,
        )
        return EXIT_FAULT


def _write_no_more() -> None:
    """Leave what standard output still holds: Python would complain of it at exit."""
    sys.stdout = open("/dev/null", "w")  # noqa: PTH123  # no path of the user
