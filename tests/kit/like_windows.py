"""Runs a module or a program as `python` does, in a process that has little of Unix: what Windows lacks is taken away.

`python -m tests.kit.like_windows -m amqp_sansio_cli broker`, or a path in place of `-m` and a module. Paths, files and
signals that are sent to it stay those of Unix.
"""

from __future__ import annotations

import asyncio
import os
import runpy
import select
import selectors
import signal
import socket
import sys
from typing import Any, Final

_MODULES: Final = ("fcntl", "grp", "pwd", "resource", "termios", "tty")
_GONE: Final[dict[Any, tuple[str, ...]]] = {
    os: (
        *("fork", "forkpty", "geteuid", "getuid", "getegid", "getgid", "getpgid", "getsid", "killpg", "mkfifo"),
        *("setsid", "seteuid", "setuid", "chown", "wait3", "wait4", "posix_spawn", "sysconf", "uname", "getloadavg"),
        *("openpty", "pread", "pwrite"),
    ),
    select: ("epoll", "poll"),
    selectors: ("EpollSelector", "PollSelector"),
    signal: (
        *("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2"),
        *("alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt", "sigwait"),
    ),
    socket: ("AF_UNIX", "SO_REUSEPORT", "recv_fds", "send_fds"),
}
_METHODS: Final = (
    *("add_signal_handler", "remove_signal_handler", "create_unix_connection", "create_unix_server"),
    # A proactor has no readers and writers; the loop here removes its own ones by their names.
    *("add_reader", "add_writer", "connect_read_pipe", "connect_write_pipe"),
)


def pair(*_: object, **__: object) -> tuple[socket.socket, socket.socket]:
    """Two connected sockets, by TCP: Windows has no other."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        first = socket.create_connection(listening.getsockname())
        second, _address = listening.accept()
    return first, second


def take_away() -> None:
    """Remove what Windows hasn't, for the rest of this process."""
    for module, names in _GONE.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in _MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    selectors.DefaultSelector = selectors.SelectSelector  # type: ignore[misc, assignment]
    socket.socketpair = pair

    def lacks(*_: object, **__: object) -> None:
        raise NotImplementedError

    for name in _METHODS:
        setattr(asyncio.SelectorEventLoop, name, lacks)


def main(words: list[str]) -> None:
    """Run the program; the modules that it imports find nothing of Unix."""
    take_away()
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
