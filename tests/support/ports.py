"""Ports for roles that tests in Python start."""
import random
import socket

holds = []  # keep ports until this process ends


def free_port():
    """A port for a role that is started later: held by a name, as src/trial/relay.c does it, and below those the system gives out."""
    while True:
        port = random.randrange(10000, 20000)
        hold = socket.socket(socket.AF_UNIX)
        try:
            hold.bind("\0faro-trial-port-%d" % port)
            with socket.socket() as s:
                s.bind(("127.0.0.1", port))
        except OSError:
            hold.close()
            continue
        holds.append(hold)
        return port
