"""`python relay.py PORT`: standard input and output, and a loopback port. QEMU starts it for each connection of a guest."""

import os
import socket
import sys
import threading


def main() -> None:
    """Pass bytes on in both directions until one side ends."""
    peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))

    def outward() -> None:
        while data := os.read(0, 65536):
            peer.sendall(data)
        os._exit(0)

    threading.Thread(target=outward, daemon=True).start()
    while data := peer.recv(65536):
        while data:
            data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
