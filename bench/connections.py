#!/usr/bin/env python3
"""Measures the memory of nearfar's client and server of HTTP with many connections.

Clients of at most 1,000 connections each ask 'nearfar engine web' for pages of 1 KiB, each connection one after the
other. While they do, the resident memory of all processes is read from /proc, and the connections are counted that the
kernel has at the server. Printed are both in MiB and KiB a connection, beside the same with one connection a client.

usage: bench/connections.py NEARFAR [--connections 10000] [--seconds 5]
"""
import argparse
import subprocess
import sys
import time

PORT = 18081
EACH = 1000


def resident(pid):
    """The resident memory of a process in KiB."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def open_connections():
    """How many connections of the server's port are established, counted at the server's end."""
    with open("/proc/net/tcp") as table:
        return sum(1 for line in table if line.split()[1].endswith(f":{PORT:04X}") and line.split()[3] == "01")


def awaited(count, processes):
    for _ in range(600):
        if open_connections() >= count:
            return
        if any(p.poll() is not None for p in processes):
            sys.exit("a process ended before all connections were open: " + "; ".join(
                p.stderr.read() for p in processes if p.poll() is not None))
        time.sleep(0.1)
    sys.exit(f"{open_connections()} of {count} connections are open")


def measured(options, connections):
    """Resident memory of the server, and of all clients together, with so many connections, in KiB."""
    server = subprocess.Popen([options.nearfar, "engine", "web", "--listen", f"127.0.0.1:{PORT}"], text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    clients = []
    try:
        server.stderr.readline()  # where it answers
        for first in range(0, connections, EACH):
            clients.append(subprocess.Popen(
                [options.nearfar, "engine", "http", "--to", f"http://127.0.0.1:{PORT}/", "-f", "json", "--warmup",
                 f"{options.seconds}s", "--duration", f"{options.seconds}s", "--concurrency",
                 str(min(EACH, connections - first))], text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
        awaited(connections, [server, *clients])
        samples = []
        end = time.monotonic() + options.seconds / 2
        while time.monotonic() < end:
            samples.append((resident(server.pid), sum(resident(c.pid) for c in clients)))
            time.sleep(0.1)
        return max(s[0] for s in samples), max(s[1] for s in samples), len(clients)
    finally:
        for p in [*clients, server]:
            p.terminate()
            p.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nearfar")
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    one = measured(options, 1)
    many = measured(options, options.connections)
    print(f"{options.connections} connections of {many[2]} clients")
    for name, at, idle in (("server", 0, one[0]), ("clients", 1, one[1] * many[2])):
        print(f"{name:8} {many[at] / 1024:7.1f} MiB, {(many[at] - idle) / options.connections:5.1f} KiB a connection "
              f"({idle / 1024:.1f} MiB with one connection each)")


if __name__ == "__main__":
    main()
