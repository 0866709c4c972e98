"""A way to a server that is cut at a given word: before the server hears it, or before its answer is heard."""

import contextlib
import socket
import threading
from typing import Self


class CutLine:
    """Passes bytes on between clients and a server on loopback, until it is told to cut."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._word: bytes | None = None
        self._is_heard = False
        #: lines that were cut
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Wakes the thread that waits for the next client, too.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def cut_at(self, word: bytes, *, is_heard: bool) -> None:
        """Cut the next line on which a client says a word; `is_heard` when the server is to hear and answer it before."""
        self._is_heard = is_heard
        self._word = word

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._server))
            threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()
            threading.Thread(target=_copy, args=(server, client), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self._word is not None and self._word in data:
                    self._word = None
                    self.cuts += 1
                    _end(client)  # no answer comes through from here on
                    if self._is_heard:
                        server.sendall(data)
                        # The server ends the connection after it did what it was told.
                        server.shutdown(socket.SHUT_WR)
                        while server.recv(65536):
                            pass
                    return
                server.sendall(data)
            _end(server)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        _end(target)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
