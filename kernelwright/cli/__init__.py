"""The command line. Each module holds a group of commands and imports what is heavy only when it runs."""

from __future__ import annotations

import errno
import sys

from kernelwright.cli.output import debugging, say
from services.domain.errors import InfrastructureError, KernelwrightError
from services.runtime.garbage import collect_rarely


def main() -> None:
    """Entry point of `kernelwright`."""
    collect_rarely()
    sys.exit(execute())


def execute(arguments: list[str] | None = None) -> int:
    """Run one command; its exit code."""
    from kernelwright.cli.app import command

    try:
        command()(arguments, prog_name="kernelwright")
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 0
    except KeyboardInterrupt:
        return 130
    except KernelwrightError as error:
        say(f"kernelwright: {error}{_hint(error)}")
        return 2
    except BrokenPipeError:
        return 2
    except OSError as error:
        return _os_error(error)
    except Exception as error:  # noqa: BLE001 - the last resort before the user
        return _bug(error)
    return 0


def _hint(error: KernelwrightError) -> str:
    """Where to look when the machine is at fault, unless the error says so itself."""
    if not isinstance(error, InfrastructureError) or error.remedy is not None:
        return ""
    return " (`kernelwright doctor` shows what is missing)"


def _os_error(error: OSError) -> int:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        say(f"kernelwright: the disk is full ({error.filename or 'no space left'}): free some space")
        return 2
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        say(f"kernelwright: {error.filename}: {error.strerror}: set KERNELWRIGHT_HOME to a folder you may write")
        return 2
    return _bug(error)


def _bug(error: Exception) -> int:
    if debugging():
        raise error
    say(f"kernelwright: unexpected {type(error).__name__}: {error} (KERNELWRIGHT_DEBUG=1 shows where)")
    return 2
