"""The command line: arguments, exit codes, and the one place that catches everything."""

from __future__ import annotations

import sys
import traceback

import click

import lastsignal
from lastsignal.commands.config import config
from lastsignal.commands.diagnose import diagnose
from lastsignal.commands.formats import formats
from lastsignal.commands.incidents import incidents
from lastsignal.commands.normalize import normalize
from lastsignal.commands.notify import notify
from lastsignal.commands.rules import rules
from lastsignal.commands.watch import watch
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


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.version_option(lastsignal.__version__, prog_name="lastsignal")
def cli() -> None:
    """Says why an AI agent's run failed.

    Reads the traces that agents already write, from any framework, finds the cause, and shows the
    lines that it rests on. Offline, deterministic, no model is called.
    """


cli.add_command(config)
cli.add_command(diagnose)
cli.add_command(formats)
cli.add_command(incidents)
cli.add_command(normalize)
cli.add_command(notify)
cli.add_command(rules)
cli.add_command(watch)


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
    except BrokenPipeError:
        # the reader has gone (`| head`): not our failure, and stdout must not complain at exit
        sys.stdout = open("/dev/null", "w")  # noqa: PTH123  # no path of the user
        return 0
    except Exception:
        traceback.print_exc()
        click.echo(
            "lastsignal: a fault of Last Signal, not of your input; please report the text above",
            err=True,
        )
        return EXIT_FAULT
